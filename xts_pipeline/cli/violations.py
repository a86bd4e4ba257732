"""`xts violations`: what came late, how late, and what the satellite did about it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from xts_pipeline.checks import spoken
from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say, short_hash
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.views import business_keys_of
from xts_pipeline.warehouse import Row, Transaction, Warehouse

ROWS_SHOWN = 20


@click.command(short_help="List the rows that came late.")
@click.option("--satellite", metavar="S", help="Only this satellite.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=ROWS_SHOWN,
    show_default=True,
    help="Rows a satellite, the newest load first; 0 for all.",
)
@vault_options
def violations(settings: Settings, satellite: str | None, limit: int) -> None:
    """List the sequence violations: rows that came after a newer one of their key.

    They are no fault of the vault, and the timeline is right: `event` says what the satellite wrote for the row (none:
    it changed nothing), `restored` how many later states of the key that load put back as copies.
    """
    if satellite:
        chosen = [settings.satellite(satellite)]
    else:
        chosen = [(model, sat) for model in settings.catalog.sources.values() for sat in model.satellites]
    with settings.standing_vault() as vault, vault.warehouse.transaction() as transaction:
        known = known_columns(transaction, vault.warehouse)
        assisted = [(model, sat) for model, sat in chosen if sat.xts_assisted and sat.table in known]
        targets = _record_targets(transaction, vault.warehouse, [sat for _, sat in assisted])
        found = {
            sat.name: _rows(transaction, vault.warehouse, model, sat, limit)
            for model, sat in assisted
            if targets.get(sat.name, {}).get("violations")
        }
    if settings.as_json:
        rows = [{"satellite": name, **row} for name, of in found.items() for row in of]
        print_json({"record_targets": list(targets.values()), "violations": rows})
        return
    _print(targets, found, [sat.name for _, sat in chosen if not sat.xts_assisted])


def _record_targets(transaction: Transaction, warehouse: Warehouse, satellites: list[Satellite]) -> dict[str, Row]:
    """The figures of each satellite's facts, by its name; zero where it has none yet."""
    found: dict[str, Row] = {}
    for parent in dict.fromkeys(satellite.parent for satellite in satellites):
        statement = warehouse.renderer.render("monitor/violations", parent=parent)
        found |= {row["record_target"]: row for row in transaction.rows(statement, {})}
    nothing = {"facts": 0, "newest_heartbeat": None, "violations": 0, "violated_keys": 0, "newest_violation": None}
    targets = {}
    for satellite in satellites:
        row = found.get(satellite.record_target, {"record_target": satellite.record_target, **nothing})
        targets[satellite.name] = row | {name: int(row[name]) for name in ("facts", "violations", "violated_keys")}
    return targets


def _rows(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, satellite: Satellite, limit: int
) -> list[dict[str, Any]]:
    keys = business_keys_of(source, satellite.parent)
    statement = warehouse.renderer.render(
        "monitor/violation_rows", satellite=satellite, keys=keys, of_batch=False, limit=limit
    )
    return [
        {
            "business_key": {name: row[name] for _, name, _ in keys.columns},
            "applied_timestamp": row["dv_applied_timestamp"],
            "load_timestamp": row["dv_load_timestamp"],
            "newest_applied_before": row["dv_newest_before"],
            "late_seconds": None if row["dv_late_by"] is None else int(row["dv_late_by"]) / 1_000_000,
            "event": row["dv_event"],
            "restored": int(row["dv_copies"]),
            "hash_key": bytes(row["dv_hashkey"]).hex(),
        }
        for row in transaction.rows(statement, {"record_target": satellite.record_target})
    ]


def _print(targets: dict[str, Row], found: dict[str, list[dict[str, Any]]], unassisted: list[str]) -> None:
    if targets:
        print_table(
            ["satellite", "facts", "violations", "keys", "newest violation", "newest heartbeat"],
            [
                (
                    name,
                    of["facts"],
                    of["violations"],
                    of["violated_keys"],
                    of["newest_violation"],
                    of["newest_heartbeat"],
                )
                for name, of in targets.items()
            ],
        )
    for name in unassisted:
        say(f"{name} keeps no XTS: `xts check --satellite {name}` counts the late rows it met")
    for name, rows in found.items():
        total = targets[name]["violations"]
        title = f"{name}: {len(rows):,} of {total:,}; --limit 0 shows all" if len(rows) < total else name
        names = list(rows[0]["business_key"])
        missing = [] if all(row["business_key"][of] is not None for row in rows for of in names) else ["hash key"]
        print_table(
            [*names, *missing, "applied", "known before", "late by", "loaded at", "event", "restored"],
            [_line(row, bool(missing)) for row in rows],
            title=title,
        )
    if not found:
        say("nothing came late")


def _line(row: dict[str, Any], with_hash: bool) -> list[object]:
    late = row["late_seconds"]
    return [
        *row["business_key"].values(),
        *([short_hash(row["hash_key"])] if with_hash else []),
        row["applied_timestamp"],
        row["newest_applied_before"],
        None if late is None else spoken(timedelta(seconds=late)),
        row["load_timestamp"],
        row["event"],
        row["restored"],
    ]
