"""Every statement that a source's cycle and checks run, with what each is rendered with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xts_pipeline.checks import ROWS_SHOWN, checks_of
from xts_pipeline.locks import locks_of
from xts_pipeline.metadata import ColumnType, Hub, Link, Parent, Satellite, SourceModel
from xts_pipeline.metadata.types import TEXT
from xts_pipeline.staging.readers import TableDelivery
from xts_pipeline.staging.table_source import SAMPLED, TIMESTAMP, faults_of, hashes_of, table_context
from xts_pipeline.staging.tables import CONTROL_TABLES, CONTROL_TABLES_APART, CONTROL_TABLES_OF_ROWS
from xts_pipeline.templates import Renderer, Statement, template_names
from xts_pipeline.views import as_of_context, business_keys_of, corrected_context
from xts_pipeline.warehouse.snowflake_files import FileColumn
from xts_pipeline.warehouse.snowflake_roles import Roles, planned_grants

TIES_SHOWN = 10
IN_GENERAL = {"one_row_a_key": False, "recent_facts": False, "nothing_later": False}  # what holds for any batch
EXAMPLE_ROLES = Roles("data_vault", ("loading",))
CONTROL_APART = (
    "control/insert_pending_statement",
    "control/pending_statements",
    "control/drop_pending_statements",
    "control/insert_step_query",
    "control/step_queries_between",
)
CONTROL_CONTEXT: dict[str, dict[str, Any]] = {
    "control/insert_steps": {"steps": 2},
    "control/newest_deliveries": {"of_partition": False},
}
CONTROL_OF_ROWS = ("control/mark_step", "control/mark_steps", "control/mark_target", "control/insert_target")
CONTROL_OF_LOCKS = ("control/begin_lock", "control/take_lock")  # where a lock is a table
CONTROL_NOT_OF = {"duckdb": (*CONTROL_APART, *CONTROL_OF_LOCKS), "snowflake": (*CONTROL_OF_ROWS, *CONTROL_OF_LOCKS)}
SILENT_BATCHES = 3  # as a source's freshness has it when it declares nothing else


@dataclass(frozen=True)
class Entry:
    """One statement: its template, and the table or source it is about."""

    name: str
    subject: str
    context: Mapping[str, Any]

    def statement(self, renderer: Renderer) -> Statement:
        """The statement in a renderer's dialect."""
        return renderer.render(self.name, **self.context)


def statements_of(
    source: SourceModel, types: Mapping[str, ColumnType], dialect: str, satellite: str | None = None
) -> list[Entry]:
    """The statements of a source, or those that load and read one of its satellites, in the order they are run.

    `types` are those of the source's columns; a column that is not among them is text.
    """
    chosen = [of for of in source.satellites if satellite in {None, of.name}]
    keyed = _keyed(source, chosen if satellite else None)
    entries = [*_ddl(source, types, dialect, keyed, chosen)]
    if dialect == "snowflake":
        entries += [*_locks(source, keyed, chosen), *_transfer(source, types), *_by_hand(keyed)]
        entries += [Entry(name, of.get("role", of.get("schema", "")), of) for name, of in planned_grants(EXAMPLE_ROLES)]
    entries += [*_staged(source, chosen), *_from_table(source, types)]
    entries += [*_load(source, keyed, chosen), *_reads(source, keyed, chosen)]
    entries += [
        Entry(name, "control", CONTROL_CONTEXT.get(name, {}))
        for name in template_names()
        if name.startswith("control/") and name not in CONTROL_NOT_OF[dialect]
    ]
    return entries


def _locks(source: SourceModel, keyed: list[Hub | Link], satellites: list[Satellite]) -> Iterator[Entry]:
    """The locks that the steps of a source take, where a lock is a table."""
    tables = [on.table for on in keyed] + [of.parent.xts_table for of in satellites] + [of.table for of in satellites]
    for lock in locks_of(source.name, tables):
        for name in ("ddl/control_lock", *CONTROL_OF_LOCKS):
            yield Entry(name, lock, {"lock": lock})


def _keyed(source: SourceModel, satellites: list[Satellite] | None) -> list[Hub | Link]:
    """The hubs and links of a source, or those that some satellites hang on and their keys come from."""
    if satellites is None:
        return [*source.hubs, *source.links]
    keys = {of.staged_hash_key for of in satellites}
    links = [link for link in source.links if link.staged_hash_key in keys]
    hubs = [hub for hub in source.hubs if hub.staged_hash_key in keys or any(hub in link.hubs for link in links)]
    return [*hubs, *links]


def _parents(keyed: list[Hub | Link]) -> list[Parent]:
    return list(dict.fromkeys(on.parent for on in keyed))


def _ddl(
    source: SourceModel,
    types: Mapping[str, ColumnType],
    dialect: str,
    keyed: list[Hub | Link],
    satellites: list[Satellite],
) -> Iterator[Entry]:
    algorithm = source.declaration.hash_algorithm
    for schema in ("vault", "staged", "control"):
        yield Entry("ddl/schema", schema, {"schema": schema})
    for table in (*CONTROL_TABLES, *(CONTROL_TABLES_APART if dialect == "snowflake" else CONTROL_TABLES_OF_ROWS)):
        yield Entry(f"ddl/control_{table}", table, {})
    yield Entry("ddl/staged_rows", source.rows_table, {"source": source})
    for column in source.staged_columns:
        context = {"source": source, "column": column, "type": types.get(column, TEXT)}
        yield Entry("ddl/staged_column", f"{source.rows_table}.{column}", context)
    for column in (*(on.staged_hash_key for on in keyed), *(of.hashdiff for of in satellites)):
        context = {"source": source, "column": column, "algorithm": algorithm}
        yield Entry("ddl/staged_hash", f"{source.rows_table}.{column}", context)
    for of in satellites:
        context = {"source": source, "column": of.rectarget, "type": TEXT}
        yield Entry("ddl/staged_column", f"{source.rows_table}.{of.rectarget}", context)
    yield Entry("ddl/staged_view", source.name, {"source": source})
    for on in keyed:
        if isinstance(on, Hub):
            typed = tuple((column, types.get(delivered, TEXT)) for column, delivered in on.business_key)
            yield Entry("ddl/hub", on.table, {"hub": on, "columns": typed, "algorithm": algorithm})
        else:
            yield Entry("ddl/link", on.table, {"link": on, "algorithm": algorithm})
    for parent in _parents(keyed):
        yield Entry("ddl/xts", parent.xts_table, {"parent": parent, "algorithm": algorithm})
    for of in satellites:
        typed = tuple((column, types.get(column, TEXT)) for column in of.columns)
        yield Entry("ddl/satellite", of.table, {"satellite": of, "columns": typed, "algorithm": algorithm})
        for column, type_ in typed:
            context = {"satellite": of, "column": column, "type": type_}
            yield Entry("ddl/satellite_column", f"{of.table}.{column}", context)
        yield Entry("load/ghost", of.table, {"satellite": of, "algorithm": algorithm})


def _staged(source: SourceModel, satellites: list[Satellite]) -> Iterator[Entry]:
    for of in satellites:
        context: dict[str, Any] = {"source": source, "satellite": of}
        if tie_break := source.declaration.tie_break:
            yield Entry("staged/overrule", of.table, {**context, "tie_break": tie_break})
            yield Entry("staged/restore_ties", of.table, context)
        yield Entry(
            "staged/contradictions", of.table, {**context, "columns": source.staged_columns, "limit": TIES_SHOWN}
        )
    for name in ("staged/reject", "staged/bounds", "staged/discard", "staged/purge"):
        yield Entry(name, source.rows_table, {"source": source})
    yield Entry("staged/discard_rejected", "rejected_row", {})
    yield Entry("staged/purge_rejected", "rejected_row", {})


def _transfer(source: SourceModel, types: Mapping[str, ColumnType]) -> Iterator[Entry]:
    """The stage, and how staged rows travel through it."""
    yield Entry("transfer/stage", "xts_files", {})
    folder = f"{source.rows_table}/batch"
    yield Entry("transfer/put", source.rows_table, {"file": "/folder/rows.parquet", "folder": folder, "threads": 8})
    hashes = [*source.staged_hash_keys, *(of.hashdiff for of in source.satellites)]
    plain = {
        "dv_batch_id": TEXT,
        "dv_row_number": ColumnType("integer"),
        "dv_tenant_id": TEXT,
        "dv_recordsource": TEXT,
        "dv_applied_timestamp": TIMESTAMP,
        **{column: types.get(column, TEXT) for column in source.staged_columns},
        **dict.fromkeys(hashes, ColumnType("binary")),
        **{of.rectarget: TEXT for of in source.satellites},
    }
    columns = tuple(FileColumn(name, of.kind, of.precision, of.scale) for name, of in plain.items())
    context = {"schema": "staged", "table": source.rows_table, "columns": columns, "folder": folder}
    yield Entry("transfer/copy", source.rows_table, context)


def _by_hand(keyed: list[Hub | Link]) -> Iterator[Entry]:
    """What no load runs: the batch of a worksheet, and what the doctor asks."""
    for parent in _parents(keyed):
        yield Entry("script/batch", parent.xts_table, {"parent": parent})
    yield Entry("doctor/session", "session", {})
    yield Entry("doctor/parameters", "session", {})
    yield Entry("doctor/privileges", EXAMPLE_ROLES.loader, {"role": EXAMPLE_ROLES.loader})


def table_of(source: SourceModel) -> TableDelivery:
    """The table a source is delivered by; for one that is not, a name to be replaced."""
    declared = source.declaration.delivery
    if declared is not None and declared.table is not None:
        return TableDelivery(declared.table, declared.partition_column)
    return TableDelivery(f"raw.{source.name}")


def _from_table(source: SourceModel, types: Mapping[str, ColumnType]) -> Iterator[Entry]:
    """How a source is staged from a table of the warehouse, by SQL alone; all columns typed."""
    typed = {column: types.get(column, TEXT) for column in source.staged_columns}
    delivery, hashes = table_of(source), hashes_of(source, typed)
    about = {"table": delivery.table, "partition_column": delivery.partition_column}
    yield Entry("staged/table_faults", source.rows_table, {**about, "faults": faults_of(source, typed)})
    yield Entry("staged/from_table", source.rows_table, table_context(source, delivery, typed))
    columns = tuple(typed.items())
    sample = {"source": source, "columns": columns, "hashes": hashes, "limit": SAMPLED}
    yield Entry("staged/table_sample", source.rows_table, sample)
    tie_break = source.declaration.tie_break
    tie_breaks = ((tie_break, typed[tie_break]),) if tie_break else ()
    context = {"source": source, "hashes": hashes, "applied_type": TIMESTAMP, "tie_breaks": tie_breaks}
    yield Entry("staged/table_fingerprint", source.rows_table, context)


def _load(source: SourceModel, keyed: list[Hub | Link], satellites: list[Satellite]) -> Iterator[Entry]:
    """The steps of a cycle in their order, a satellite's after its XTS insert."""
    for of in satellites:
        if of.xts_assisted:
            yield Entry("load/keys_read", of.table, _of(source, of))
            yield Entry("load/states_read", of.table, _of(source, of))
            yield Entry("load/later_facts", of.table, _of(source, of))
            yield Entry("load/switch", of.table, _of(source, of) | IN_GENERAL)
        else:
            yield Entry("load/switch_standard", of.table, _of(source, of))
    for of in satellites:
        if of.xts_assisted:
            yield Entry("load/xts_seed", of.table, _of(source, of))
            yield Entry("load/xts", of.table, _of(source, of) | IN_GENERAL)
            yield Entry("load/xts_counts", of.table, _of(source, of) | IN_GENERAL)
    for of in satellites:
        for branch in ("normal", "assisted") if of.xts_assisted else ("normal",):
            yield Entry(f"load/satellite_{branch}", of.table, _of(source, of) | IN_GENERAL)
        yield Entry("load/satellite_counts", of.table, _of(source, of))
    for on in keyed:
        if isinstance(on, Hub):
            yield Entry("load/hub", on.table, {"source": source, "hub": on})
        else:
            yield Entry("load/link", on.table, {"source": source, "link": on})


def _of(source: SourceModel, satellite: Satellite) -> dict[str, Any]:
    return {"source": source, "satellite": satellite}


def _reads(source: SourceModel, keyed: list[Hub | Link], satellites: list[Satellite]) -> Iterator[Entry]:
    for of in satellites:
        yield Entry("view/as_of", of.table, as_of_context(source, of))
    tables = {on.table for on in keyed} | {on.parent.xts_table for on in keyed} | {of.table for of in satellites}
    for check in checks_of(source):
        if check.table in {*tables, source.rows_table}:
            for question in check.questions:
                context = {**question.context, "of_batch": False, "limit": ROWS_SHOWN}
                yield Entry(question.template, check.table, context)
    for parent in _parents(keyed):
        yield Entry("monitor/violations", parent.xts_table, {"parent": parent})
    for of in satellites:
        keys = business_keys_of(source, of.parent)
        if of.xts_assisted:
            context = {"satellite": of, "keys": keys, "of_batch": False, "limit": ROWS_SHOWN}
            yield Entry("monitor/violation_rows", of.table, context)
            yield Entry("monitor/corrected_states", of.table, corrected_context(source, of))
            yield Entry("monitor/front_batches", of.table, {"satellite": of, "batches": 1})
            yield Entry("monitor/heartbeat", of.table, {"satellite": of})
            yield Entry("monitor/silent_keys", of.table, {"satellite": of, "batches": SILENT_BATCHES})
        yield Entry("monitor/table_rows", of.table, {"table": of.table, "has_ghost": True})
    for table in sorted(tables):
        yield Entry("monitor/row_count", table, {"table": table})
        yield Entry("monitor/row_counts", table, {"table": table})
    yield Entry("monitor/status", "load_batch", {})
    yield Entry("monitor/batches", "load_batch", {"of_source": True, "limit": ROWS_SHOWN})
    yield Entry("monitor/rejected_rows", "rejected_row", {"of_batch": False, "limit": ROWS_SHOWN})
