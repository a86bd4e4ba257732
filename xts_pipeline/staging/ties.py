"""Two states of one key at one applied timestamp in one batch: the tie-break decides, else they contradict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xts_pipeline.errors import ContradictionError
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.warehouse import Transaction, Warehouse

SHOWN = 10  # rows an error shows


@dataclass(frozen=True)
class RejectedRow:
    """A row kept out of the vault: its place in the delivery, why, and what it held."""

    row_number: int
    reason: str
    row_json: str


def break_ties(transaction: Transaction, warehouse: Warehouse, source: SourceModel, batch_id: str) -> None:
    """Let the row with the greatest value of `tie_break` speak for each satellite; losers never reach the XTS."""
    if tie_break := source.declaration.tie_break:
        for satellite in source.satellites:
            statement = warehouse.renderer.render(
                "staged/overrule", source=source, satellite=satellite, tie_break=tie_break
            )
            transaction.run(statement, {"batch_id": batch_id})


def restore_ties(transaction: Transaction, warehouse: Warehouse, source: SourceModel, batch_id: str) -> None:
    """Take back what `break_ties` decided."""
    for satellite in source.satellites:
        statement = warehouse.renderer.render("staged/restore_ties", source=source, satellite=satellite)
        transaction.run(statement, {"batch_id": batch_id, "record_target": satellite.record_target})


def refuse_contradictions(transaction: Transaction, warehouse: Warehouse, source: SourceModel, batch: str) -> None:
    """ContradictionError naming satellite, keys and rows, if two rows of a batch contradict each other."""
    for satellite in source.satellites:
        statement = warehouse.renderer.render(
            "staged/contradictions", source=source, satellite=satellite, columns=source.staged_columns, limit=SHOWN
        )
        if rows := transaction.rows(statement, {"batch_id": batch}):
            raise ContradictionError(_message(source, satellite, rows))


def contradicting_rows(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, batch_id: str
) -> Iterator[RejectedRow]:
    """Every row of a batch that contradicts another, once."""
    seen: set[int] = set()
    for satellite in source.satellites:
        statement = warehouse.renderer.render(
            "staged/contradictions", source=source, satellite=satellite, columns=source.staged_columns, limit=None
        )
        for row in transaction.rows(statement, {"batch_id": batch_id}):
            number = int(row["dv_row_number"])
            if number not in seen:
                seen.add(number)
                reason = f"contradicts another row: {_about(source, satellite, row)}"
                held = {column: row[column] for column in source.staged_columns}
                yield RejectedRow(number, reason, as_json(held))


def as_json(row: dict[str, Any]) -> str:
    """A row as JSON; values JSON has no type for are written as text."""
    return json.dumps(row, default=lambda value: value.hex() if isinstance(value, bytes) else str(value))


def _about(source: SourceModel, satellite: Satellite, row: dict[str, Any]) -> str:
    hubs = [hub for hub in source.hubs if hub.staged_hash_key == satellite.staged_hash_key] or list(source.hubs)
    key = ", ".join(f"{column}={row[column]!r}" for hub in hubs for column in hub.source_columns)
    return f"{satellite.name} has two states of {key} at {row['dv_applied_timestamp']} UTC"


def _message(source: SourceModel, satellite: Satellite, rows: list[dict[str, Any]]) -> str:
    total = rows[0]["dv_contradicting_rows"]
    lines = [
        f"source {source.name}, satellite {satellite.name}: {total} rows contradict each other, two states of one key "
        "at one applied timestamp. The batch was stopped and nothing was written."
    ]
    for row in rows:
        held = ", ".join(f"{column}={row[column]!r}" for column in satellite.columns)
        lines.append(f"  row {row['dv_row_number']}: {_about(source, satellite, row)}: {held}")
    if total > len(rows):
        lines.append(f"  ... and {total - len(rows)} more")
    if source.declaration.tie_break:
        lines.append(f"tie_break: {source.declaration.tie_break} is equal or NULL in these rows and cannot choose.")
    else:
        lines.append("Declare tie_break: <column> (its greatest value wins), or on_error: quarantine.")
    return "\n".join(lines)
