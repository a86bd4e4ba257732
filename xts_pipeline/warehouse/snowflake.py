"""Snowflake, the warehouse where one machine is no longer enough.

READ COMMITTED is all that is assumed: a transaction begins with its first write, which takes the turn of its writers,
and reads after that what was committed by whoever came before. DDL would commit it, and is never run in it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pandas as pd
import pyarrow as pa
import snowflake.connector
from snowflake.connector.constants import FIELD_ID_TO_NAME

from xts_pipeline.errors import IntegrityError, WarehouseBusyError, WarehouseError
from xts_pipeline.templates import Renderer, Statement, renderer
from xts_pipeline.warehouse.base import Row
from xts_pipeline.warehouse.frames import table_of, to_frame
from xts_pipeline.warehouse.snowflake_files import MEGABYTE, Shipment
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings
from xts_pipeline.warehouse.work import QueryRun, Work, current_work

Connect = Callable[[], Any]  # gives an open connection of the connector

TOO_MANY_WAITERS = 625  # Snowflake lets about twenty statements wait for one lock
CANCELLED = "57014"  # the SQL state of a statement that was given up: by a lock, a deadlock, a time-out or a user
MISSING = {2003, 2043}  # a table or schema that is not there, or that the role may not see
_ABOUT_LOCKS = re.compile(r"\block|deadlock", re.IGNORECASE)
_QUERY = re.compile(r"\s*\(*\s*(select|with|explain|show|describe|desc)\b", re.IGNORECASE)
_COMMENT_OR_TEXT = re.compile(
    r"--[^\n]*|//[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"]|\"\")*\"|\$\$.*?\$\$", re.DOTALL
)


class SnowflakeSession:
    """One connection, the warehouse it uses now, and the tag of what it runs."""

    def __init__(self, connection: Any, settings: SnowflakeSettings) -> None:
        self.connection = connection
        self._settings = settings
        self._warehouse = settings.warehouse

    def execute(self, sql: str, values: Mapping[str, object] | None = None) -> Any:
        """Run one statement, tagged with the work at hand; gives the cursor."""
        cursor = self.connection.cursor()
        cursor.execute(sql, values or None, _statement_params={"QUERY_TAG": current_work().tag})
        return cursor

    def use_warehouse_for(self, work: Work) -> None:
        """Change to the warehouse that is named for such work; outside of a transaction, which USE might commit."""
        wanted = self._settings.warehouse_for(assisted=work.assisted, backfill=work.backfill)
        if wanted is not None and wanted != self._warehouse:
            self.execute(f'use warehouse "{wanted}"')
            self._warehouse = wanted

    def close(self) -> None:
        """Roll back what is open, and close; neither may hide the fault that led here."""
        with suppress(snowflake.connector.Error):
            self.connection.rollback()
        with suppress(snowflake.connector.Error):
            self.connection.close()


class SnowflakeTransaction:
    """One transaction on one session; it begins with the first statement that writes."""

    rows_scanned: int | None = None  # a query's id leads to its profile, which says more

    def __init__(self, session: SnowflakeSession, settings: SnowflakeSettings, rendering: Renderer) -> None:
        self._session = session
        self._settings = settings
        self._renderer = rendering
        self._begun = False
        self._shipments: dict[tuple[str, str], Shipment] = {}
        self.queries: list[QueryRun] = []

    def run(self, statement: Statement, values: Mapping[str, object]) -> int:
        """Run a statement for its effect; the number of rows it wrote.

        DDL is refused: it would commit what was written so far.
        """
        if statement.name.startswith("ddl/"):
            raise IntegrityError(f"{statement.name} is DDL, which commits on Snowflake: it is run apart, by `define`")
        self._arrive()
        self._begin()
        return int(self._execute(statement, values).rowcount or 0)

    def rows(self, statement: Statement, values: Mapping[str, object]) -> list[Row]:
        """Run a query; a dict a row, columns as they were spelled in the statement, timestamps without zone."""
        self._arrive()
        cursor = self._execute(statement, values)
        names = spelled([column[0] for column in cursor.description], statement)
        return [dict(zip(names, _plain(row), strict=True)) for row in cursor.fetchall()]

    def append(self, schema: str, table: str, rows: pa.Table) -> None:
        """Append rows to a table by column name. They travel in files, and arrive before the next statement."""
        if (schema, table) not in self._shipments:
            self._shipments[schema, table] = Shipment(
                self._renderer,
                schema,
                table,
                self._put,
                file_bytes=self._settings.file_megabytes * MEGABYTE,
                threads=self._settings.upload_threads,
            )
        self._shipments[schema, table].append(rows)

    def commit(self) -> None:
        """End the transaction."""
        self._arrive()
        if self._begun:
            self._session.execute("commit")
            self._begun = False

    def forget(self) -> None:
        """Drop what has not been sent."""
        for shipment in self._shipments.values():
            shipment.close()
        self._shipments.clear()

    def _begin(self) -> None:
        if not self._begun:
            self._session.use_warehouse_for(current_work())
            self._session.execute("begin transaction")
            self._begun = True

    def _arrive(self) -> None:
        """Copy the rows in that travel; IntegrityError when fewer arrive than were sent."""
        for place in list(self._shipments):
            shipment = self._shipments.pop(place)
            try:
                statement = shipment.statement()
                self._begin()
                cursor = self._execute(statement, {})
                names = [column[0].lower() for column in cursor.description]
                loaded = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
                arrived = sum(int(file.get("rows_loaded") or 0) for file in loaded)
                if arrived != shipment.rows:
                    raise IntegrityError(f"{place[1]}: {shipment.rows} rows were sent and {arrived} arrived: {loaded}")
            finally:
                shipment.close()

    def _put(self, statement: Statement) -> None:
        self._execute(statement, {})

    def _execute(self, statement: Statement, values: Mapping[str, object]) -> Any:
        cursor = self._session.execute(statement.sql, {name: values[name] for name in statement.binds})
        self.queries.append(QueryRun(statement.name, cursor.sfqid or "", int(cursor.rowcount or 0)))
        return cursor


class SnowflakeWarehouse:
    """A Snowflake database. Connections are opened as they are needed and used by one transaction at a time."""

    rolls_back_ddl = False

    def __init__(self, settings: SnowflakeSettings, connect: Connect | None = None) -> None:
        self.settings = settings
        self._connect = connect or (lambda: snowflake.connector.connect(**settings.connection_arguments()))
        self._renderer = renderer("snowflake", settings.places, settings.tables)
        self._idle: list[SnowflakeSession] = []
        self._lock = threading.Lock()

    @property
    def renderer(self) -> Renderer:
        """Renders statements for this database."""
        return self._renderer

    @contextmanager
    def session(self) -> Iterator[SnowflakeSession]:
        """A connection of one's own for the block; rolled back and closed on any exception."""
        session = self._take()
        try:
            yield session
        except BaseException:
            session.close()
            raise
        with self._lock:
            self._idle.append(session)

    @contextmanager
    def transaction(self) -> Iterator[SnowflakeTransaction]:
        """A transaction; commit at the end of the block, roll back on any exception."""
        with self.session() as session:
            transaction = SnowflakeTransaction(session, self.settings, self._renderer)
            try:
                yield transaction
                transaction.commit()
            finally:
                transaction.forget()

    def define(self, statements: Sequence[Statement]) -> None:
        """Run DDL, each statement committed at once. WarehouseError when the role may not."""
        with self.session() as session:
            for statement in statements:
                try:
                    session.execute(statement.sql)
                except snowflake.connector.errors.ProgrammingError as error:
                    raise WarehouseError(
                        f"{statement.name} could not be run as role {self.settings.role or '(default)'}: {error}. "
                        "Where the loader may not make tables, let the owner role run `xts init` first"
                    ) from error

    def query(self, sql: str) -> pd.DataFrame:
        """Run one SELECT; WarehouseError for anything else. Columns come in lower case, with types as DuckDB's.

        Snowflake has no read-only transaction: a function with an effect of its own is not kept from having it, the
        reader role is.
        """
        _refuse_writing(sql)
        with self.session() as session:
            if session.connection.schema != self.settings.vault_schema.upper():
                session.execute(f'use schema "{self.settings.vault_schema.upper()}"')
            cursor = session.execute(sql)
            names = [column[0].lower() for column in cursor.description]
            return _frame(cursor, names)

    def frame(self, statement: Statement, values: Mapping[str, object]) -> pd.DataFrame:
        """Run a rendered query; types as for `query`, columns as they were spelled in the statement."""
        with self.session() as session:
            cursor = session.execute(statement.sql, {name: values[name] for name in statement.binds})
            return _frame(cursor, spelled([column[0] for column in cursor.description], statement))

    def is_conflict(self, error: BaseException) -> bool:
        """Whether a statement was given up because of another's lock: too many waiters, a lock time-out, a deadlock.

        A statement that merely took too long is none: it would take as long again.
        """
        if not isinstance(error, snowflake.connector.errors.Error):
            return False
        if error.errno == TOO_MANY_WAITERS:
            return True
        return error.sqlstate == CANCELLED and bool(_ABOUT_LOCKS.search(str(error.msg)))

    def is_missing(self, error: BaseException) -> bool:
        """Whether an error says that a table or schema is not there (or that the role may not see it)."""
        return isinstance(error, snowflake.connector.errors.ProgrammingError) and error.errno in MISSING

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _take(self) -> SnowflakeSession:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            return SnowflakeSession(self._connect(), self.settings)
        except snowflake.connector.errors.OperationalError as error:
            raise WarehouseBusyError(f"Snowflake cannot be reached now, and nothing was written: {error}") from error
        except snowflake.connector.errors.DatabaseError as error:
            raise WarehouseError(f"Snowflake refused the connection of {self.settings.told}: {error}") from error


def spelled(columns: Sequence[str], statement: Statement) -> list[str]:
    """Column names of a result as the statement's template spelled them; the rest in lower case."""
    names = {name.upper(): name for name in statement.names}
    return [names.get(column.upper(), column.lower()) for column in columns]


def _refuse_writing(sql: str) -> None:
    """The connector runs one statement at a time: what it begins with says what it is, unless a flow (->>) follows."""
    code = _COMMENT_OR_TEXT.sub(lambda found: " " if found[0][0] in "-/" else " '' ", sql).strip().rstrip(";")
    if not _QUERY.match(code) or "->>" in code or ";" in code:
        raise WarehouseError("query takes one SELECT statement, and no other: the vault is written by loads alone")


def _plain(row: Sequence[object]) -> list[object]:
    return [bytes(value) if isinstance(value, bytearray) else value for value in row]


def _frame(cursor: Any, names: Sequence[str]) -> pd.DataFrame:
    fields = [pa.field(name, _arrow_type(column)) for name, column in zip(names, cursor.description, strict=True)]
    return to_frame(table_of(fields, [_plain(row) for row in cursor.fetchall()]))


def _arrow_type(column: Any) -> pa.DataType:
    """The Arrow type of a result's column, as DuckDB's results have it."""
    kind = FIELD_ID_TO_NAME[column[1]]
    if kind == "FIXED":
        return pa.int64() if not column[5] else pa.decimal128(column[4] or 38, column[5])
    known: dict[str, pa.DataType] = {
        "REAL": pa.float64(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
        "TIMESTAMP_NTZ": pa.timestamp("us"),
        "TIMESTAMP_LTZ": pa.timestamp("us", "UTC"),
        "TIMESTAMP_TZ": pa.timestamp("us", "UTC"),
        "TIME": pa.time64("us"),
        "BOOLEAN": pa.bool_(),
        "BINARY": pa.binary(),
    }
    return known.get(kind, pa.string())
