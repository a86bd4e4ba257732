"""Making tables, whether or not the engine can roll DDL back.

Where DDL is part of a transaction, it is run in the staging's own. Where it commits, what is remembered of the tables
and the statements still to be run are written in one transaction first; then they are run, each safe to be run again,
and dropped. Whoever comes after a crash runs what is left: memory and tables cannot drift apart.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from xts_pipeline.locks import DELIVERIES, table_lock
from xts_pipeline.metadata import ColumnType, SourceModel
from xts_pipeline.staging.tables import (
    CONTROL_TABLES,
    CONTROL_TABLES_APART,
    TableBuilder,
    check_algorithm,
    known_columns,
    prepare_control,
)
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse import QueryRun, Row, Transaction, Warehouse, in_transaction

AFTER_TABLES = {"control/assist_satellite", "control/begin_lock"}  # what of the control schema needs tables made first


def open_control(warehouse: Warehouse, algorithm: str) -> None:
    """Make the three schemas and the control tables where they are not there yet.

    Where DDL commits, it is run only when these tables were never made: a loader may have no right to it.
    DeclarationError when the vault was made with other hashes.
    """
    if warehouse.rolls_back_ddl:
        in_transaction(warehouse, lambda transaction: prepare_control(transaction, warehouse, algorithm))
        return
    render = warehouse.renderer.render
    schemas = [render("ddl/schema", schema=schema) for schema in ("vault", "staged", "control")]
    tables = [render(f"ddl/control_{table}") for table in (*CONTROL_TABLES, *CONTROL_TABLES_APART)]
    tables.append(render("ddl/control_lock", lock=table_lock(DELIVERIES)))
    statements = [*schemas, *tables, render("transfer/stage")]
    digest = sha256("\0".join(statement.sql for statement in statements).encode()).hexdigest()
    made = {"name": f"control tables {digest[:16]}", "value": "made"}
    if _has_setting(warehouse, made["name"]):
        with warehouse.transaction() as transaction:
            check_algorithm(transaction, warehouse, algorithm)
        return
    warehouse.define(statements)

    def begin(transaction: Transaction) -> None:
        prepare_control(transaction, warehouse, algorithm, tables_too=False)
        transaction.run(render("control/insert_setting"), made)

    in_transaction(warehouse, begin)


def _has_setting(warehouse: Warehouse, name: str) -> bool:
    try:
        with warehouse.transaction() as transaction:
            return bool(transaction.rows(warehouse.renderer.render("control/setting"), {"name": name}))
    except Exception as error:
        if not warehouse.is_missing(error):
            raise
        return False


@dataclass
class _Planned:
    """Stands in for a transaction: answers what is asked of it, and keeps what would be run."""

    transaction: Transaction
    statements: list[tuple[Statement, Mapping[str, object]]] = field(default_factory=list)

    @property
    def rows_scanned(self) -> None:
        return None

    @property
    def queries(self) -> list[QueryRun]:
        return []

    def run(self, statement: Statement, values: Mapping[str, object]) -> int:
        self.statements.append((statement, values))
        return 0

    def rows(self, statement: Statement, values: Mapping[str, object]) -> list[Row]:
        return self.transaction.rows(statement, values)

    def append(self, schema: str, table: str, rows: object) -> None:
        raise NotImplementedError("tables are made without rows")


def build_tables(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, types: Mapping[str, ColumnType]
) -> None:
    """Make and grow the tables of a source; inside `transaction` where the engine can roll DDL back, else apart."""
    if not warehouse.rolls_back_ddl:
        return make_apart(warehouse, source, types)
    builder = TableBuilder(transaction, warehouse, source, types, known_columns(transaction, warehouse))
    builder.define()
    builder.fill()
    return None


def make_apart(warehouse: Warehouse, source: SourceModel, types: Mapping[str, ColumnType]) -> None:
    """Make and grow the tables of a source where DDL commits; what a crash left is finished first."""
    finish_pending(warehouse)
    with warehouse.transaction() as transaction:
        planned = _plan(transaction, warehouse, source, types)
    if not planned:
        return

    def remember(transaction: Transaction) -> None:
        """One at a time: two sources may want the same hub."""
        transaction.run(warehouse.renderer.render("control/take_clock"), {})
        making = secrets.token_hex(8)
        for order, (statement, values) in enumerate(_plan(transaction, warehouse, source, types)):
            if statement.name.startswith("control/") and statement.name not in AFTER_TABLES:
                transaction.run(statement, values)
                continue
            pending = {
                "making_id": making,
                "statement_order": order,
                "statement_name": statement.name,
                "statement": statement.sql,
                "bound_values": json.dumps({name: values[name] for name in sorted(statement.binds)}),
            }
            transaction.run(warehouse.renderer.render("control/insert_pending_statement"), pending)

    in_transaction(warehouse, remember)
    finish_pending(warehouse)


def _plan(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, types: Mapping[str, ColumnType]
) -> list[tuple[Statement, Mapping[str, object]]]:
    """What making the tables would run. Reads only."""
    planned = _Planned(transaction)
    builder = TableBuilder(planned, warehouse, source, types, known_columns(transaction, warehouse))
    builder.define()
    builder.fill()
    return planned.statements


def finish_pending(warehouse: Warehouse) -> None:
    """Run the statements that tables still wait for. Safe to be run by two at once, and again after a crash."""
    if warehouse.rolls_back_ddl:
        return
    with warehouse.transaction() as transaction:
        waiting = _pending(transaction, warehouse)
    if not waiting:
        return
    warehouse.define([statement for _, statement, _ in waiting if statement.name.startswith("ddl/")])
    makings = {making for making, _, _ in waiting}

    def fill(transaction: Transaction) -> None:
        """Ghosts and seeds, once: whoever comes second finds them dropped."""
        transaction.run(warehouse.renderer.render("control/take_clock"), {})
        for making, statement, values in _pending(transaction, warehouse):
            if making in makings and not statement.name.startswith("ddl/"):
                transaction.run(statement, values)
        for making in sorted(makings):
            transaction.run(warehouse.renderer.render("control/drop_pending_statements"), {"making_id": making})

    in_transaction(warehouse, fill)


def _pending(transaction: Transaction, warehouse: Warehouse) -> list[tuple[str, Statement, dict[str, object]]]:
    found = []
    for row in transaction.rows(warehouse.renderer.render("control/pending_statements"), {}):
        values: dict[str, object] = json.loads(row["bound_values"])
        statement = Statement(row["statement_name"], row["statement"], frozenset(values))
        found.append((row["making_id"], statement, values))
    return found
