"""The tables a source needs, made when they are not there yet, and grown when its declaration grew.

What each table was made with is remembered in control.table_column, so that a column keeps its type and no engine's own
catalog has to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xts_pipeline.errors import BatchStateError, DeclarationError
from xts_pipeline.ledger import steps_of_source
from xts_pipeline.locks import DELIVERIES, LOCK_COLUMN, locks_are_tables, locks_of, table_lock
from xts_pipeline.metadata import ColumnType, Hub, Link, Parent, Satellite, SourceModel
from xts_pipeline.metadata.types import TEXT
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse import Transaction, Warehouse

HASH = "hash"
CONTROL_TABLES = (
    "clock",
    "load_batch",
    "load_step",
    "satellite",
    "table_column",
    "setting",
    "rejected_row",
    "delivery",
)
CONTROL_TABLES_OF_ROWS = ("target_table",)  # where a lock is a row
CONTROL_TABLES_APART = ("pending_statement", "step_query")  # where DDL commits, and queries have an id
Known = dict[str, dict[str, str]]


def prepare_control(transaction: Transaction, warehouse: Warehouse, algorithm: str, *, tables_too: bool = True) -> None:
    """Make the three schemas and the control tables, and fill them with what a new vault begins with.

    `tables_too`: left out where DDL is no part of a transaction. DeclarationError when the vault was made with other
    hashes.
    """
    render = warehouse.renderer.render
    if tables_too:
        for schema in ("vault", "staged", "control"):
            transaction.run(render("ddl/schema", schema=schema), {})
        for table in (*CONTROL_TABLES, *CONTROL_TABLES_OF_ROWS):
            transaction.run(render(f"ddl/control_{table}"), {})
    transaction.run(render("control/begin_clock"), {})
    if locks_are_tables(warehouse):
        transaction.run(render("control/begin_lock", lock=table_lock(DELIVERIES)), {})
    else:
        transaction.run(render("control/insert_target"), {"target_table": DELIVERIES})
    if not check_algorithm(transaction, warehouse, algorithm):
        transaction.run(render("control/insert_setting"), {"name": "hash_algorithm", "value": algorithm})


def check_algorithm(transaction: Transaction, warehouse: Warehouse, algorithm: str) -> bool:
    """Whether the vault has an algorithm yet; DeclarationError when it was made with another."""
    found = transaction.rows(warehouse.renderer.render("control/setting"), {"name": "hash_algorithm"})
    if found and found[0]["value"] != algorithm:
        raise DeclarationError(
            f"hash_algorithm: this vault was made with {found[0]['value']}, the sources declare {algorithm}: "
            f"declare {found[0]['value']}, or load into a new vault"
        )
    return bool(found)


def known_columns(transaction: Transaction, warehouse: Warehouse) -> Known:
    """Table: column: type, of every table made so far; columns in the order they came."""
    known: Known = {}
    for row in transaction.rows(warehouse.renderer.render("control/table_columns"), {}):
        known.setdefault(row["table_name"], {})[row["column_name"]] = row["column_type"]
    return known


def remembered_types(transaction: Transaction, warehouse: Warehouse, source: SourceModel) -> dict[str, ColumnType]:
    """The types the columns of a source have had since their first batch."""
    columns = known_columns(transaction, warehouse).get(source.rows_table, {})
    return {name: ColumnType.parse(type_) for name, type_ in columns.items() if type_ != HASH}


def to_be_seeded(transaction: Transaction, warehouse: Warehouse, source: SourceModel) -> list[Satellite]:
    """The satellites that were loaded without XTS so far and are declared with one now.

    DeclarationError for the other direction: rows that came late meanwhile could not be put in their place afterwards.
    """
    rows = transaction.rows(warehouse.renderer.render("control/satellites"), {"source": source.name})
    known = {row["satellite"]: bool(row["xts_assisted"]) for row in rows}
    for satellite in source.satellites:
        if known.get(satellite.name) and not satellite.xts_assisted:
            raise DeclarationError(
                f"satellite {satellite.name}: its timeline is kept by the XTS; xts_assisted cannot be turned off, "
                "since late rows loaded meanwhile could not be put in their place afterwards"
            )
    return [sat for sat in source.satellites if sat.xts_assisted and known.get(sat.name) is False]


@dataclass(frozen=True)
class TableBuilder:
    """Makes and grows the tables of one source inside one transaction: `define` first, then `fill`."""

    transaction: Transaction
    warehouse: Warehouse
    source: SourceModel
    types: Mapping[str, ColumnType]
    known: Known
    made: list[Satellite] = field(default_factory=list)  # by `define`

    def define(self) -> None:
        """Make every table of the source that is not there, and add the columns that are new."""
        self._refuse_other_case()
        self._refuse_other_prefix()
        self._staged()
        for hub in self.source.hubs:
            self._hub(hub)
        for link in self.source.links:
            self._link(link)
        for satellite in self.source.satellites:
            self._satellite(satellite)
        if locks_are_tables(self.warehouse):
            self._locks()

    def fill(self) -> None:
        """Give the satellites just made their ghost record, and seed the XTS that are due."""
        for satellite in self.made:
            self._run("load/ghost", satellite=satellite, algorithm=self.algorithm)
        for satellite in to_be_seeded(self.transaction, self.warehouse, self.source):
            self._run("load/xts_seed", {"record_target": satellite.record_target}, satellite=satellite)
            self._run("control/assist_satellite", {"satellite": satellite.name})

    @property
    def algorithm(self) -> str:
        """The hash algorithm of the source."""
        return self.source.declaration.hash_algorithm

    def _staged(self) -> None:
        source = self.source
        hashes = [*source.staged_hash_keys, *(satellite.hashdiff for satellite in source.satellites)]
        wanted = {name: str(type_) for name, type_ in self.types.items()}
        wanted |= dict.fromkeys(hashes, HASH)
        wanted |= {satellite.rectarget: str(TEXT) for satellite in source.satellites}
        if source.rows_table not in self.known:
            self._run("ddl/staged_rows", source=source)

        def add(column: str, type_: str) -> Statement:
            if type_ == HASH:
                return self._render("ddl/staged_hash", source=source, column=column, algorithm=self.algorithm)
            return self._render("ddl/staged_column", source=source, column=column, type=ColumnType.parse(type_))

        if self._grow(source.rows_table, wanted, add):
            self._run("ddl/staged_view", source=source)

    def _hub(self, hub: Hub) -> None:
        columns = tuple((column, self.types[delivered]) for column, delivered in hub.business_key)
        wanted = {column: str(type_) for column, type_ in columns}
        known = self.known.get(hub.table)
        if known is None:
            self._run("ddl/hub", hub=hub, columns=columns, algorithm=self.algorithm)
            self._remember(hub.table, wanted)
            self._target(hub.table)
            self._xts(hub.parent)
        elif known != wanted:
            raise DeclarationError(
                f"{hub.table} was made with the business key {_spelled(known)}, source {self.source.name} brings "
                f"{_spelled(wanted)}: a hub's key never changes; declare the types of these columns as the hub has them"
            )

    def _link(self, link: Link) -> None:
        wanted = {hub.staged_hash_key: f"{HASH} {side}" for side, hub in enumerate(link.hubs, start=1)}
        known = self.known.get(link.table)
        if known is None:
            self._run("ddl/link", link=link, algorithm=self.algorithm)
            self._remember(link.table, wanted)
            self._target(link.table)
            self._xts(link.parent)
        elif known != wanted:
            raise DeclarationError(
                f"{link.table} was made with {_spelled(known)}, source {self.source.name} brings {_spelled(wanted)}: "
                "the hubs of a link and their order never change; give the new combination a link of its own"
            )

    def _xts(self, parent: Parent) -> None:
        self._run("ddl/xts", parent=parent, algorithm=self.algorithm)
        self._target(parent.xts_table)

    def _satellite(self, satellite: Satellite) -> None:
        wanted = {column: str(self.types[column]) for column in satellite.columns}
        if satellite.table not in self.known:
            columns = tuple((column, self.types[column]) for column in satellite.columns)
            self._run("ddl/satellite", satellite=satellite, columns=columns, algorithm=self.algorithm)
            self._remember(satellite.table, wanted)
            self._target(satellite.table)
            state = {"source": satellite.source, "satellite": satellite.name, "hangs_on": satellite.key}
            self._run("control/insert_satellite", {**state, "xts_assisted": satellite.xts_assisted})
            self.made.append(satellite)
            return
        self._refuse_other_owner(satellite)
        if gone := sorted(self.known[satellite.table].keys() - wanted.keys()):
            raise DeclarationError(
                f"satellite {satellite.name}: column {', '.join(gone)} was taken out of the declaration, and rows "
                "restored later would lose it: keep the column, or declare a new satellite"
            )

        def add(column: str, type_: str) -> Statement:
            return self._render(
                "ddl/satellite_column", satellite=satellite, column=column, type=ColumnType.parse(type_)
            )

        self._grow(satellite.table, wanted, add)

    def _refuse_other_owner(self, satellite: Satellite) -> None:
        statement = self._render("control/owner_of_satellite")
        for row in self.transaction.rows(statement, {"satellite": satellite.name}):
            if row["source"] != self.source.name:
                raise DeclarationError(
                    f"satellite {satellite.name} was loaded by source {row['source']} so far and is declared by "
                    f"{self.source.name} now: a satellite has one source"
                )
            if row["hangs_on"] != satellite.key:
                raise DeclarationError(
                    f"satellite {satellite.name} hangs on {row['hangs_on']} since its first batch, declared now is "
                    f"{satellite.key}: a parent never changes; declare a new satellite"
                )

    def _refuse_other_prefix(self) -> None:
        """Tenant and collision code are part of every hash key: changed, each key would be there twice."""
        declaration = self.source.declaration
        setting = {
            "name": f"hash key prefix of {self.source.name}",
            "value": f"tenant_id {declaration.tenant_id!r}, collision_code {declaration.collision_code!r}",
        }
        found = self.transaction.rows(self._render("control/setting"), setting)
        if not found:
            self._run("control/insert_setting", setting)
        elif found[0]["value"] != setting["value"]:
            raise DeclarationError(
                f"source {self.source.name} was loaded with {found[0]['value']} so far, declared now is "
                f"{setting['value']}: they are part of every hash key and never change; load into a new vault"
            )

    def _refuse_other_case(self) -> None:
        """SQL takes names that differ in case alone for one; what is there keeps its spelling."""
        source = self.source
        wanted = [source.rows_table, *(hub.table for hub in source.hubs), *(link.table for link in source.links)]
        wanted += [satellite.table for satellite in source.satellites]
        known = {table.lower(): table for table in self.known}
        for table in wanted:
            if (there := known.get(table.lower(), table)) != table:
                raise DeclarationError(f"{table} is spelled {there} since its first batch: keep that spelling")

    def _grow(self, table: str, wanted: Mapping[str, str], add: Callable[[str, str], Statement]) -> bool:
        """Add the columns a table lacks; DeclarationError when one is there with another type."""
        known = self.known.get(table, {})
        for column, type_ in wanted.items():
            spelled = next((name for name in known if name.lower() == column.lower()), column)
            if spelled != column:
                raise DeclarationError(
                    f"column {column} of {table.removesuffix('__rows')} is spelled {spelled} since its first batch: "
                    "keep that spelling"
                )
            if column in known and known[column] != type_:
                raise DeclarationError(
                    f"column {column} of {table.removesuffix('__rows')} is {known[column]} since its first batch and "
                    f"would be {type_} now: declare {known[column]}, or take a new column name"
                )
        missing = {column: type_ for column, type_ in wanted.items() if column not in known}
        for column, type_ in missing.items():
            self.transaction.run(add(column, type_), {})
        self._remember(table, missing)
        return bool(missing)

    def _remember(self, table: str, columns: Mapping[str, str]) -> None:
        for column, type_ in columns.items():
            number = len(self.known.get(table, {}))
            values = {"table_name": table, "column_name": column, "column_type": type_, "column_number": number}
            self._run("control/insert_table_column", values)
            self.known.setdefault(table, {})[column] = type_

    def _target(self, table: str) -> None:
        """Make a table known to its writers, where a lock is a row."""
        if not locks_are_tables(self.warehouse):
            self._run("control/insert_target", {"target_table": table})

    def _locks(self) -> None:
        """Make the locks that the source's steps take and that are not there: nobody before it may have needed them."""
        tables = [step.target_table for step in steps_of_source(self.source)]
        for lock in locks_of(self.source.name, tables):
            if lock not in self.known:
                self._run("ddl/control_lock", lock=lock)
                self._run("control/begin_lock", lock=lock)
                self._remember(lock, {LOCK_COLUMN: "timestamp"})

    def _render(self, template: str, **context: object) -> Statement:
        return self.warehouse.renderer.render(template, **context)

    def _run(self, template: str, values: Mapping[str, object] | None = None, **context: object) -> None:
        self.transaction.run(self._render(template, **context), values or {})


def _spelled(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{column} {type_}" for column, type_ in columns.items())


def refuse_orphans(declared: Mapping[str, SourceModel], open_sources: Mapping[str, list[str]]) -> None:
    """BatchStateError when a source with an open batch is no longer declared."""
    for source, batches in open_sources.items():
        if source not in declared:
            raise BatchStateError(
                f"source {source} is not declared, but its batch {', '.join(batches)} is open and answers are not "
                f"final until it is finished: declare the source again and load once, which finishes it, or give "
                f"it up with `xts abandon {batches[0]}` if nothing of it was written"
            )
