"""`xts load`: one delivery into the vault, and what became of it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click

from xts_pipeline.checks.check import count
from xts_pipeline.cli.explain import costs, print_costs
from xts_pipeline.cli.options import Settings, timestamp, vault_options
from xts_pipeline.cli.output import console, print_json, print_table, say, shown
from xts_pipeline.vault import LoadResult, Vault
from xts_pipeline.warehouse import Row

REASONS_SHOWN = 10


@click.command(short_help="Load one delivery of a source.")
@click.argument("source")
@click.argument("path", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--partition", metavar="KEY", help="The partition this delivery is; left out, it is its own.")
@click.option(
    "--load-timestamp",
    callback=timestamp,
    metavar="TS",
    help="For migration: the stamp to give, later than every one before (UTC).",
)
@click.option("--explain", is_flag=True, help="Show what each step cost: time, rows scanned, rows written.")
@vault_options
def load(
    settings: Settings,
    source: str,
    path: Path | None,
    partition: str | None,
    load_timestamp: datetime | None,
    explain: bool,
) -> None:
    """Load one delivery of SOURCE: the file PATH, or what the source declares as its delivery.

    Older open batches of the source are finished first. A delivery that was loaded already is replayed: nothing is
    written. A faulty one is refused and nothing is written, unless the source declares on_error: quarantine.
    """
    settings.source(source)
    with settings.vault() as vault, _progress(source) as progress:
        began = time.perf_counter()
        result = vault.load(source, path, partition, load_timestamp, progress=progress)
        took = time.perf_counter() - began
        steps = costs(vault, result, took) if explain else []
        reasons = _reasons(vault, result) if result.rows_rejected else []
    if settings.as_json:
        print_json(
            {
                **dataclasses.asdict(result),
                **({"steps": steps} if explain else {}),
                **({"rejected": reasons} if reasons else {}),
            }
        )
        return
    _print(result, reasons)
    if explain:
        print_costs(steps, replayed=result.replayed)


@contextmanager
def _progress(source: str) -> Iterator[Callable[[int], None] | None]:
    """Show how many rows were read while a load runs, on a terminal."""
    errors = console(stderr=True)
    if not errors.is_terminal:
        yield None
        return
    with errors.status(f"staging {source} …") as status:
        yield lambda rows: status.update(f"staging {source}: {rows:,} rows read, loading when all are there …")


def _reasons(vault: Vault, result: LoadResult) -> list[Row]:
    """Why rows of the batch were rejected: the row count and the first row's number of each reason."""
    statement = vault.warehouse.renderer.render("monitor/rejected_rows", of_batch=True, limit=REASONS_SHOWN)
    with vault.warehouse.transaction() as transaction:
        rows = transaction.rows(statement, {"batch_id": result.batch_id})
    return [{name: row[name] for name in ("reason", "row_count", "first_row_number")} for row in rows]


def _print(result: LoadResult, reasons: list[Row]) -> None:
    say(f"{result.source}, partition {result.partition}", style="bold")
    say(f"  batch {result.batch_id}, load timestamp {shown(result.load_timestamp)} UTC")
    say(f"  {count(result.rows_staged, 'row')} staged, {result.rows_rejected:,} rejected")
    if result.rows_rejected:
        for of in reasons:
            in_all = f"{count(of['row_count'], 'row')} in all"
            say(f"    row {of['first_row_number']:,}: {of['reason']} ({in_all})", style="yellow")
        say("  the rejected rows are in control.rejected_row", style="yellow")
    if result.undeclared_columns:
        say(f"  kept out, since not declared: {', '.join(result.undeclared_columns)}", style="yellow")
    if result.finished:
        say(f"  finished first, since still open: partition {', '.join(result.finished)}", style="yellow")
    if result.replayed:
        say("  replayed: the partition's newest batch held these rows already; nothing was written", style="yellow")
        return
    say()
    if result.satellites:
        print_table(
            ["satellite", "branch", "states read", "inserted", "copied", "violations", "late keys"],
            [
                (name, of.branch, of.rows_read, of.inserted, of.copied, of.violations, of.late_keys)
                for name, of in result.satellites.items()
            ],
        )
    merged = {**result.hubs, **result.links}
    say(f"new keys: {', '.join(f'{table} {number:,}' for table, number in merged.items())}")
