"""What an asset's materialization says of a batch: figures from the ledger, row counts and column schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import dagster as dg

from xts_pipeline.cycle import ASSISTED, NORMAL, loading_statement
from xts_pipeline.ledger import Batch, Step
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.orchestration.correction import corrected_timeline
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.query_evidence import of_queries
from xts_pipeline.orchestration.records import Records
from xts_pipeline.staging.tables import HASH
from xts_pipeline.vault import Vault

Metadata = dict[str, Any]
STATEMENT_SHOWN = 20_000  # characters of SQL


def of_batch(batch: Batch) -> Metadata:
    """What every asset of a batch says: which batch, and since when the vault knows it (UTC)."""
    return {
        "xts/batch": batch.batch_id,
        "xts/load_timestamp": batch.load_timestamp.isoformat(sep=" ", timespec="microseconds"),
        "xts/rows_staged": batch.rows_staged,
    }


def of_switch(records: Records, batch: Batch) -> Metadata:
    """The SWITCH's verdict on a batch, with its figures for each satellite."""
    steps = _steps(records, batch, "switch")
    verdict = ASSISTED if any(step.figures.verdict == ASSISTED for step in steps) else NORMAL
    columns = ("keys_read", "rows_read", "late_keys", "late_rows", "corrected_rows")
    rows = [
        dg.TableRecord(
            {
                "satellite": step.subject,
                "verdict": step.figures.verdict or NORMAL,
                **{column: int(getattr(step.figures, column)) for column in columns},
            }
        )
        for step in steps
    ]
    figures = {"xts/figures": dg.MetadataValue.table(rows, schema=_schema_of(columns))} if rows else {}
    return {
        **of_batch(batch),
        "xts/verdict": verdict,
        "xts/late_rows": sum(step.figures.late_rows for step in steps),
        **_cost(steps),
        "xts/corrected_rows": sum(step.figures.corrected_rows for step in steps),
        **figures,
        **_done_before(steps, records.run),
        **of_queries(records, batch, [step.step for step in steps]),
    }


def of_xts(records: Records, batch: Batch, table: str) -> Metadata:
    """What a batch logged in an XTS."""
    steps = [step for step in _steps(records, batch, "xts") if step.target_table == table]
    return {
        **of_batch(batch),
        "xts/inserted": sum(step.figures.rows_inserted for step in steps),
        "xts/violations": sum(step.figures.late_rows for step in steps),
        **_cost(steps),
        **_done_before(steps, records.run),
        **of_queries(records, batch, [step.step for step in steps]),
        **row_count(records, batch, table),
    }


def of_satellite(records: Records, batch: Batch, satellite: Satellite) -> Metadata:
    """What a batch did to a satellite, and by which branch.

    A load that found its batch out of sequence after the SWITCH had said normal says so.
    """
    steps = {step.kind: step for step in _steps(records, batch) if step.subject == satellite.name}
    loaded = steps["satellite"].figures
    logged = steps["xts"].figures if "xts" in steps else loaded
    asked = steps["switch"].figures.verdict
    overruled = {"xts/overruled": f"the SWITCH had said {asked}"} if asked != loaded.verdict else {}
    return {
        **of_batch(batch),
        "xts/branch": loaded.verdict or NORMAL,
        "xts/rows_read": loaded.rows_read,
        "xts/inserted": loaded.rows_inserted,
        "xts/copied": loaded.rows_copied,
        "xts/violations": logged.late_rows,
        "xts/late_keys": logged.late_keys,
        **_cost([steps["satellite"]]),
        **overruled,
        **_done_before([steps["satellite"]], records.run),
        **of_queries(records, batch, [steps["satellite"].step]),
        **row_count(records, batch, satellite.table),
        **_statement(records, batch, satellite, steps["satellite"]),
        **_timeline(records.vault, batch, satellite, loaded.verdict),
    }


def _cost(steps: Iterable[Step]) -> Metadata:
    """What steps cost: milliseconds, rows scanned (where the engine says) and rows written."""
    figures = [step.figures for step in steps]
    scanned = [of.rows_scanned for of in figures if of.rows_scanned is not None]
    return {
        "xts/milliseconds": sum(of.milliseconds for of in figures),
        **({"xts/rows_scanned": sum(scanned)} if scanned else {}),
        "xts/rows_written": sum(of.rows_written for of in figures),
    }


def _statement(records: Records, batch: Batch, satellite: Satellite, loaded: Step) -> Metadata:
    """The SQL that loaded the satellite; values are bound, so that it holds none."""
    warehouse, source = records.vault.warehouse, records.vault.catalog.source(satellite.source)
    found = replace(loaded.figures, verdict=loaded.figures.verdict or NORMAL)
    recent = loaded.xts_assisted and found.verdict == NORMAL and batch.batch_id in records.after_recent
    statement = loading_statement(warehouse, source, satellite, batch, found, recent)
    sql = statement.sql
    shown = sql if len(sql) <= STATEMENT_SHOWN else f"{sql[:STATEMENT_SHOWN]}\n-- and {len(sql) - STATEMENT_SHOWN} more"
    return {"xts/statement": dg.MetadataValue.md(f"`sql/{statement.name}.sql.j2`\n\n```sql\n{shown.strip()}\n```")}


def _timeline(vault: Vault, batch: Batch, satellite: Satellite, branch: str | None) -> Metadata:
    """What an assisted load put right, for a few keys."""
    if branch != ASSISTED or batch.is_empty:
        return {}
    told = corrected_timeline(vault, vault.catalog.source(satellite.source), satellite, batch)
    return {"xts/timeline": dg.MetadataValue.md(told)} if told else {}


def of_merge(records: Records, batch: Batch, kind: str, table: str) -> Metadata:
    """What a batch brought to a hub or a link that was not there before."""
    steps = [step for step in _steps(records, batch, kind) if step.target_table == table]
    return {
        **of_batch(batch),
        "xts/inserted": sum(step.figures.rows_inserted for step in steps),
        **_cost(steps),
        **_done_before(steps, records.run),
        **of_queries(records, batch, [step.step for step in steps]),
        **row_count(records, batch, table),
    }


def of_table(records: Records, source: SourceModel, table: str) -> Metadata:
    """What the table's own node says when a run of a source is done with it."""
    newest = records.batches[-1]
    return {
        "xts/source": source.name,
        "xts/load_timestamp": of_batch(newest)["xts/load_timestamp"],
        **row_count(records, newest, table),
        **column_schema(records, table),
    }


def row_count(records: Records, batch: Batch, table: str) -> Metadata:
    """How many rows the table held when the batch was in it; nothing while the table is not made."""
    rows = records.row_count(batch, table)
    return {} if rows is None else {"dagster/row_count": rows}


def column_schema(records: Records, table: str) -> Metadata:
    """The business columns of a table, or the hash keys of a link, with the types of the source's declaration."""
    columns = records.known_columns.get(table, {})
    if not columns:
        return {}
    described = [
        dg.TableColumn(name, "hash key" if type_ == HASH else type_, constraints=_constraints(table))
        for name, type_ in columns.items()
    ]
    return {"dagster/column_schema": dg.TableSchema(columns=described)}


def column_lineage(nodes: SourceNodes, table: str) -> Metadata:
    """From which staged columns each column of a satellite, a hub or a link is made."""
    source = nodes.source
    made_from: dict[str, set[str]] = {}
    for satellite in source.satellites:
        if satellite.table == table:
            made_from |= {column: {column} for column in satellite.columns}
    for hub in nodes.hubs.get(table, ()):
        for column, delivered in hub.business_key:
            made_from.setdefault(column, set()).add(delivered)
    for link in source.links:
        if link.table == table:
            made_from |= {hub.staged_hash_key: set(hub.source_columns) for hub in link.hubs}
    lineage = dg.TableColumnLineage(
        {
            column: [dg.TableColumnDep(nodes.staged, delivered) for delivered in sorted(columns)]
            for column, columns in made_from.items()
        }
    )
    return {"dagster/column_lineage": lineage} if made_from else {}


def _constraints(table: str) -> dg.TableColumnConstraints:
    return dg.TableColumnConstraints(nullable=table.startswith("sat_"))


def _done_before(steps: Iterable[Step], run: str) -> Metadata:
    """Whether the figures are those of an earlier load: of a replay, a retry, or a batch that another run finished."""
    others = dict.fromkeys(step.recorded_by or "a load outside of Dagster" for step in steps if step.recorded_by != run)
    return {"xts/done_before_by": ", ".join(others)} if others else {}


def _steps(records: Records, batch: Batch, kind: str | None = None) -> list[Step]:
    return [step for step in records.steps[batch.batch_id] if kind in {None, step.kind}]


def _schema_of(figures: Iterable[str]) -> dg.TableSchema:
    types: Mapping[str, str] = {"satellite": "string", "verdict": "string", **dict.fromkeys(figures, "int")}
    return dg.TableSchema([dg.TableColumn(name, type_) for name, type_ in types.items()])
