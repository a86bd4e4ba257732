"""`xts status`: what the vault holds, how far each source is, and what is still to do."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from xts_pipeline import ledger
from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say, shown, shown_partition
from xts_pipeline.metadata import Catalog, Hub, Link
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse import Row, Transaction, Warehouse

REASONS_SHOWN = 20


@click.command(short_help="Show how far each source is, and what the vault holds.")
@vault_options
def status(settings: Settings) -> None:
    """Show the sources with their newest batches, the open batches, the tables, and the rejected rows."""
    with settings.looked_at() as vault:
        document = _status(vault, settings.url)
    if settings.as_json:
        print_json(document)
        return
    _print(document)


def _status(vault: Vault, url: str) -> dict[str, Any]:
    warehouse = vault.warehouse
    with warehouse.transaction() as transaction:
        render = warehouse.renderer.render
        batches = {row["source"]: row for row in transaction.rows(render("monitor/status"), {})}
        rejected = transaction.rows(render("monitor/rejected_rows", of_batch=False, limit=REASONS_SHOWN), {})
        tables = list(_tables(transaction, warehouse, vault.catalog))
    names = sorted({*vault.catalog.sources, *batches})
    return {
        "warehouse": url,
        "closed_until": vault.closed_until,
        "sources": [_source(name, batches.get(name), name in vault.catalog.sources) for name in names],
        "open_batches": [_open_batch(warehouse, batch) for batch in ledger.open_batches(warehouse)],
        "tables": tables,
        "rejected": {
            "rows": int(rejected[0].pop("all_rows")) if rejected else 0,
            "reasons": [{name: of for name, of in row.items() if name != "all_rows"} for row in rejected],
        },
    }


def _source(name: str, row: Row | None, declared: bool) -> dict[str, Any]:
    row = row or {}
    newest = None
    if row.get("batch_id"):
        newest = {
            field: row[field]
            for field in (
                "batch_id",
                "partition_key",
                "load_timestamp",
                "status",
                "rows_staged",
                "rows_rejected",
                "newest_applied_timestamp",
            )
        }
    return {
        "source": name,
        "declared": declared,
        "batches": int(row.get("batches", 0)),
        "open_batches": int(row.get("open_batches", 0)),
        "abandoned_batches": int(row.get("abandoned_batches", 0)),
        "rows_staged": int(row.get("rows_of_all", 0)),
        "rows_rejected": int(row.get("rejected_of_all", 0)),
        "newest_applied_timestamp": row.get("newest_of_all"),
        "newest_batch": newest,
    }


def _open_batch(warehouse: Warehouse, batch: ledger.Batch) -> dict[str, Any]:
    steps = ledger.read_steps(warehouse, batch)
    return {
        "batch_id": batch.batch_id,
        "source": batch.source,
        "partition_key": batch.partition_key,
        "load_timestamp": batch.load_timestamp,
        "rows_staged": batch.rows_staged,
        "steps_done": [step.step for step in steps if step.is_done],
        "steps_missing": [step.step for step in steps if not step.is_done],
    }


def _tables(transaction: Transaction, warehouse: Warehouse, catalog: Catalog) -> list[dict[str, Any]]:
    """Every table of the declared sources that was made, hubs first."""
    known = known_columns(transaction, warehouse)
    models = catalog.sources.values()
    keyed: list[Hub | Link] = []
    for model in models:
        keyed += [*model.hubs, *model.links]
    parents = {on.table: on.parent for on in keyed}
    made = {table: parent for table, parent in parents.items() if table in known}
    satellites = [sat.table for model in models for sat in model.satellites if sat.table in known]
    kinds = [(table, "hub" if parent.kind == "hub" else "link") for table, parent in sorted(made.items())]
    kinds += [(parent.xts_table, "XTS") for _, parent in sorted(made.items())]
    kinds += [(table, "satellite") for table in sorted(satellites)]
    counted = []
    for table, kind in kinds:
        statement = warehouse.renderer.render("monitor/table_rows", table=table, has_ghost=kind == "satellite")
        (row,) = transaction.rows(statement, {})
        newest = row["newest_load_timestamp"]
        counted.append({"table": table, "kind": kind, "rows": row["row_count"], "newest_load_timestamp": newest})
    return counted


def _print(document: dict[str, Any]) -> None:
    closed = shown(document["closed_until"])
    say(f"{document['warehouse']}", style="bold")
    if closed:
        say(f"closed until {closed} UTC: answers known at or before never change")
    else:
        say("nothing has been loaded yet")
    say()
    _print_sources(document["sources"])
    for batch in document["open_batches"]:
        done, missing = len(batch["steps_done"]), batch["steps_missing"]
        say(
            f"open: batch {batch['batch_id']} of {batch['source']}, partition {batch['partition_key']}: "
            f"{done} of {done + len(missing)} steps done, to do: {', '.join(missing) or 'nothing but closing it'}",
            style="yellow",
        )
    if document["open_batches"]:
        say("  the next load of the source finishes it; `xts abandon` gives it up if only staged rows were written")
    if document["tables"]:
        print_table(
            ["table", "kind", "rows", "newest load"],
            [(of["table"], of["kind"], of["rows"], of["newest_load_timestamp"]) for of in document["tables"]],
        )
    rejected = document["rejected"]
    if rejected["rows"]:
        print_table(
            ["source", "partition", "rows", "first row", "reason"],
            [
                (of["source"], of["partition_key"], of["row_count"], of["first_row_number"], of["reason"])
                for of in rejected["reasons"]
            ],
            title=f"{rejected['rows']:,} rejected rows, in control.rejected_row",
        )


def _print_sources(sources: list[dict[str, Any]]) -> None:
    rows = []
    for of in sources:
        newest = of["newest_batch"] or {}
        rows.append(
            (
                of["source"] if of["declared"] else f"{of['source']} (not declared)",
                of["batches"],
                of["open_batches"],
                shown_partition(newest) if newest else "none",
                _to_seconds(newest.get("load_timestamp")),
                of["newest_applied_timestamp"],
                of["rows_staged"],
                of["rows_rejected"],
            )
        )
    print_table(
        [
            "source",
            "batches",
            "open",
            "loaded last",
            "at",
            "up to",
            "rows",
            "rejected",
        ],
        rows,
    )


def _to_seconds(stamp: datetime | None) -> datetime | None:
    return None if stamp is None else stamp.replace(microsecond=0)
