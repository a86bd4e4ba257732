"""`xts as-of`: what was true at one time, as it was known at another."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click
import duckdb
import pandas as pd

from xts_pipeline.cli.options import Settings, timestamp, vault_options
from xts_pipeline.cli.output import frame_rows, print_json, print_table, say, short_hash, shown
from xts_pipeline.views import business_keys_of

KEYS_SHOWN = 50


@click.command("as-of", short_help="Print what was true at one time, as known at another.")
@click.argument("satellite")
@click.option(
    "--valid-at", callback=timestamp, metavar="TS", help="When it was true (UTC when it has no zone); left out: now."
)
@click.option(
    "--known-at",
    callback=timestamp,
    metavar="TS",
    help="As the vault knew it then (UTC when it has no zone); left out: now.",
)
@click.option("--where", metavar="SQL", help="A condition on the answer's columns: \"city = 'Basel'\".")
@click.option(
    "--limit", type=click.IntRange(min=0), help=f"Keys shown; 0 for all. [default: {KEYS_SHOWN}, all with --json]"
)
@vault_options
def as_of(
    settings: Settings,
    satellite: str,
    valid_at: datetime | None,
    known_at: datetime | None,
    where: str | None,
    limit: int | None,
) -> None:
    """Print the state of each key of SATELLITE at one valid time, as the vault knew it at one load timestamp.

    An answer known at or before `closed_until` never changes: ask at such a time for one that somebody publishes.
    """
    model, declared = settings.satellite(satellite)
    with settings.standing_vault() as vault:
        closed = vault.closed_until
        answer = vault.as_of(satellite, valid_at, known_at)
    if where:
        answer = _filtered(answer, where)
    kept = answer if not limit and (limit == 0 or settings.as_json) else answer.head(limit or KEYS_SHOWN)
    rows = frame_rows(kept, hashes=[declared.parent.hash_key])
    final = known_at is not None and closed is not None and known_at <= closed
    if settings.as_json:
        print_json(
            {
                "satellite": satellite,
                "valid_at": valid_at,
                "known_at": known_at,
                "closed_until": closed,
                "final": final,
                "keys": len(answer),
                "rows": rows,
            }
        )
        return
    names = [shown_name for _, shown_name, _ in business_keys_of(model, declared.parent).columns]
    _print(rows, list(answer.columns), names, declared.parent.hash_key)
    _print_ending(satellite, valid_at, known_at, closed, final, len(answer), len(rows))


def _filtered(answer: pd.DataFrame, where: str) -> pd.DataFrame:
    """The rows for which a condition holds, decided in a database of its own that reaches nothing else."""
    with duckdb.connect(":memory:", config={"enable_external_access": "false"}) as connection:
        connection.register("answer", answer.assign(dv_position=range(len(answer))))
        try:
            found = connection.execute(f"select dv_position from answer where ({where}) order by 1").fetchall()
        except duckdb.Error as error:
            raise click.BadParameter(f"--where {where!r}: {str(error).splitlines()[0]}") from error
    return answer.iloc[[position for (position,) in found]]


def _print(rows: list[dict[str, Any]], columns: list[str], business_key: list[str], hash_key: str) -> None:
    if not rows:
        return
    headings = {
        "dv_applied_timestamp": "true since",
        "dv_load_timestamp": "known since",
        "dv_xts_event": "event",
        hash_key: "hash key",
    }
    unnamed = any(row[name] is None for row in rows for name in business_key)
    left_out = {"dv_recordsource"} | (set() if unnamed else {hash_key})
    names = [name for name in columns if name not in left_out]
    print_table(
        [headings.get(name, name) for name in names],
        [[short_hash(row[name]) if name == hash_key else row[name] for name in names] for row in rows],
    )


def _print_ending(
    satellite: str,
    valid: datetime | None,
    known: datetime | None,
    closed: datetime | None,
    final: bool,
    keys: int,
    rows: int,
) -> None:
    asked = f"valid at {shown(valid) or 'now'}, known at {shown(known) or 'now'} (UTC)"
    say(f"{satellite}: {keys:,} key{'' if keys == 1 else 's'} found, {asked}", style="bold")
    if rows < keys:
        say(f"  the first {rows:,} are shown; --limit 0 shows all")
    if closed is None:
        say("  nothing has been loaded yet")
    elif final:
        say(f"  final: the vault is closed until {shown(closed)}")
    else:
        say(f'  closed until {shown(closed)}: ask with --known-at "{shown(closed)}" for an answer that never changes')
