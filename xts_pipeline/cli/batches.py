"""`xts batches`: what was loaded when, with the load timestamps that `xts as-of --known-at` takes."""

from __future__ import annotations

import click

from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say, shown_partition
from xts_pipeline.warehouse import Row

BATCHES_SHOWN = 20
COLUMNS = [
    *("source", "partition", "load timestamp", "status", "from", "to"),
    *("rows", "rejected", "late", "inserted", "copied", "batch"),
]
COUNTS = ("rows_staged", "rows_rejected", "violations", "rows_inserted", "rows_copied")


@click.command(short_help="List the batches, with their load timestamps.")
@click.argument("source", required=False)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=BATCHES_SHOWN,
    show_default=True,
    help="Batches shown, the newest first; 0 for all.",
)
@vault_options
def batches(settings: Settings, source: str | None, limit: int) -> None:
    """List the batches of SOURCE, or of all sources, the newest first.

    A batch is known from its load timestamp on: `xts as-of --known-at` takes it, or that of the batch before.
    """
    with settings.standing_vault() as vault, vault.warehouse.transaction() as transaction:
        statement = vault.warehouse.renderer.render("monitor/batches", of_source=source is not None, limit=limit)
        rows = transaction.rows(statement, {"source": source})
    if source and not rows:
        settings.source(source)  # which says so when it is not even declared
    count = int(rows[0]["all_batches"]) if rows else 0
    found = [_counted(row) for row in rows]
    if settings.as_json:
        print_json({"all_batches": count, "batches": found})
        return
    _print(found)
    left_out = f", the newest {limit:,} shown" if len(found) < count else ""
    say(f"{count:,} batch{'' if count == 1 else 'es'}{left_out}")


def _counted(row: Row) -> Row:
    kept = {name: value for name, value in row.items() if name != "all_batches"}
    return kept | {name: int(row[name]) for name in COUNTS}


def _print(found: list[Row]) -> None:
    if not found:
        return
    print_table(
        COLUMNS,
        [
            (
                row["source"],
                shown_partition(row),
                row["load_timestamp"],
                row["status"],
                row["earliest_applied_timestamp"],
                row["newest_applied_timestamp"],
                row["rows_staged"],
                row["rows_rejected"],
                row["violations"],
                row["rows_inserted"],
                row["rows_copied"],
                row["batch_id"],
            )
            for row in found
        ],
    )
