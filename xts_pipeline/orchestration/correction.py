"""What a batch corrected, as a table to be read by people: each state of a few keys, before the batch and after it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from xts_pipeline.ledger import Batch
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.vault import Vault
from xts_pipeline.views import corrected_context
from xts_pipeline.warehouse import Row

POINTS_SHOWN = 10  # of a key
VALUE_SHOWN = 40  # characters
NOTHING = "–"


def corrected_timeline(vault: Vault, source: SourceModel, satellite: Satellite, batch: Batch) -> str | None:
    """Markdown of the first corrected keys of a batch; None when it corrected none."""
    context = corrected_context(source, satellite)
    statement = vault.warehouse.renderer.render("monitor/corrected_states", **context)
    with vault.warehouse.transaction() as transaction:
        rows = transaction.rows(statement, batch.values())
    keys = [shown for _, shown, _ in context["keys"].columns]
    columns = [shown for _, shown in context["columns"]]
    tables = [
        table_of_key(list(states), keys, columns, batch.load_timestamp)
        for _, states in groupby(rows, key=lambda row: bytes(row["dv_hashkey"]))
    ]
    return "\n\n".join(tables) or None


def table_of_key(rows: Sequence[Row], keys: Sequence[str], columns: Sequence[str], stamp: datetime) -> str:
    """The states of one key: at every point, which was known before the load of `stamp`, and which is known after."""
    named = ", ".join(f"{name} {_shown(rows[0][name])}" for name in keys if rows[0][name] is not None)
    lines = [
        f"**{named or bytes(rows[0]['dv_hashkey']).hex()}**",
        "",
        "| valid from | known before | known after | written |",
        "| --- | --- | --- | --- |",
    ]
    known_before = [row for row in rows if row["dv_load_timestamp"] < stamp]
    points = sorted({row["dv_applied_timestamp"] for row in rows})
    for point in points[:POINTS_SHOWN]:
        before, after = _state(known_before, point), _state(rows, point)
        is_new = after is not None and (after["dv_applied_timestamp"], after["dv_load_timestamp"]) == (point, stamp)
        event = after["dv_xts_event"] if after is not None and is_new else ""
        lines.append(f"| {_moment(point)} | {_told(before, columns)} | {_told(after, columns)} | {event} |")
    if len(points) > POINTS_SHOWN:
        lines.append(f"| and {len(points) - POINTS_SHOWN} more | | | |")
    return "\n".join(lines)


def _state(rows: Sequence[Row], point: datetime) -> Row | None:
    """The row that answers at a point: the one with the greatest applied, then load timestamp at or before it."""
    older = [row for row in rows if row["dv_applied_timestamp"] <= point]
    return max(older, key=lambda row: (row["dv_applied_timestamp"], row["dv_load_timestamp"]), default=None)


def _told(row: Row | None, columns: Sequence[str]) -> str:
    return NOTHING if row is None else ", ".join(_shown(row[name]) for name in columns)


def _moment(point: datetime) -> str:
    return (
        f"{point:%Y-%m-%d}" if (point.hour, point.minute, point.second) == (0, 0, 0) else f"{point:%Y-%m-%d %H:%M:%S}"
    )


def _shown(value: object) -> str:
    """A value that breaks no table."""
    if value is None:
        return NOTHING
    text = bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else str(value)
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}…"
