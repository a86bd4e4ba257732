"""DuckDB, the embedded warehouse: one file, or memory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa

from xts_pipeline.errors import WarehouseBusyError, WarehouseError
from xts_pipeline.templates import Places, Renderer, Statement, renderer
from xts_pipeline.warehouse.base import Row
from xts_pipeline.warehouse.frames import to_frame
from xts_pipeline.warehouse.work import QueryRun

_SIZE = re.compile(r"[0-9]+(\.[0-9]+)? ?[KMGT]i?B")
_SETTINGS = "set global TimeZone = 'UTC'"  # of every cursor: a setting for each would cost as much as a commit
_PROFILING = "pragma enable_profiling = 'no_output'"
_COUNTED = "load/"  # the statements whose scanned rows are told
_HELD = ("Could not set lock", "being used by another process")  # what DuckDB says, the latter on Windows


MEMORY_VARIABLE = "XTS_DUCKDB_MEMORY"


def bound_memory(connection: duckdb.DuckDBPyConnection) -> None:
    """Bound what DuckDB keeps in memory: $XTS_DUCKDB_MEMORY (`8GB` for one), else half a gigabyte a core, at least 1.

    What does not fit is spilled beside the file. DuckDB's own default is 80% of the machine, which a load of ten
    million rows would take without being faster. A database in memory is left alone: it has nowhere to spill to.
    """
    limit = os.environ.get(MEMORY_VARIABLE) or f"{max(1, (os.cpu_count() or 1) // 2)}GB"
    if not _SIZE.fullmatch(limit):
        raise WarehouseError(f"${MEMORY_VARIABLE} is {limit!r}: write a size like 8GB")
    (database,) = connection.execute("select current_database()").fetchone() or ("memory",)
    if database != "memory":
        connection.execute(f"set memory_limit = '{limit}'")


def refuse_data_file(connection: duckdb.DuckDBPyConnection, path: str | Path) -> None:
    """WarehouseError when DuckDB opened a file of data, such as a CSV file: as a view, with a database in memory."""
    found = connection.execute(
        "select path from duckdb_databases() where database_name = current_database()"
    ).fetchone()
    if str(path) != ":memory:" and (found is None or not found[0]):
        connection.close()
        raise WarehouseError(
            f"{path} is no DuckDB database, and what is loaded would be lost with the process: name a file like "
            "warehouse.duckdb, which is made when it is not there"
        )


def is_held(error: duckdb.IOException) -> bool:
    """Whether a file could not be opened because another process has it."""
    return any(sign in str(error) for sign in _HELD)


def _quoted(name: str | None) -> str:
    return '"' + (name or "").replace('"', '""') + '"'


class DuckDBTransaction:
    """One transaction on one cursor."""

    queries: Sequence[QueryRun] = ()  # DuckDB gives queries no id

    def __init__(self, cursor: duckdb.DuckDBPyConnection, places: Places) -> None:
        self._cursor = cursor
        self._places = places
        self._rows_scanned = 0
        self._is_profiled = False

    @property
    def rows_scanned(self) -> int:
        """The rows that the load statements of this transaction scanned so far."""
        return self._rows_scanned

    def run(self, statement: Statement, values: Mapping[str, object]) -> int:
        """Run a statement for its effect; the number of rows it wrote, 0 for DDL."""
        self._execute(statement, values)
        (written,) = self._cursor.fetchone() or (0,)
        self._count_scanned(statement)
        return int(written)

    def rows(self, statement: Statement, values: Mapping[str, object]) -> list[Row]:
        """Run a query; a dict a row."""
        self._execute(statement, values)
        names = [column[0] for column in self._cursor.description or ()]
        found = self._cursor.fetchall()
        self._count_scanned(statement)
        return [dict(zip(names, row, strict=True)) for row in found]

    def append(self, schema: str, table: str, rows: pa.Table) -> None:
        """Append rows to a table by column name."""
        columns = ", ".join(f'"{name}"' for name in rows.column_names)
        dv_appended_rows = rows  # found by this name: a registered view would stay in memory until the commit
        target = f"{_quoted(self._places.database)}.{_quoted(self._places.of(schema))}.{_quoted(table)}"
        self._cursor.execute(f"insert into {target} ({columns}) select {columns} from dv_appended_rows")
        del dv_appended_rows

    def _count_scanned(self, statement: Statement) -> None:
        """Take the count from the profile, which takes half a millisecond to read: of load statements alone."""
        if statement.name.startswith(_COUNTED):
            profile = json.loads(self._cursor.get_profiling_information(format="json"))
            self._rows_scanned += int(profile.get("query", {}).get("total_rows_scanned", 0))

    def _execute(self, statement: Statement, values: Mapping[str, object]) -> None:
        if statement.name.startswith(_COUNTED) and not self._is_profiled:
            self._cursor.execute(_PROFILING)
            self._is_profiled = True
        self._cursor.execute(statement.sql, {name: values[name] for name in statement.binds})


class DuckDBWarehouse:
    """A DuckDB database over a connection that somebody opened; `close` closes it."""

    rolls_back_ddl = True

    def __init__(self, connection: duckdb.DuckDBPyConnection, places: Places | None = None) -> None:
        self._connection = connection
        connection.execute(_SETTINGS)
        (database,) = connection.execute("select current_database()").fetchone() or ("memory",)
        places = places or Places()
        if "'" in database or database in {places.staged, places.control}:
            raise WarehouseError(
                f"a DuckDB file is a catalog of its name, and one named {database!r} cannot be told from a schema or "
                "written in SQL: rename the file"
            )
        self._places = Places(database, places.vault, places.staged, places.control)
        self._renderer = renderer("duckdb", self._places)

    @classmethod
    def open(cls, path: str | Path, places: Places | None = None) -> DuckDBWarehouse:
        """Open a file (made when it is not there), or `:memory:`; WarehouseBusyError when another process has it.

        WarehouseError for a file that is no DuckDB database, or a folder that is not there.
        """
        try:
            connection = duckdb.connect(str(path))
        except duckdb.IOException as error:
            if not is_held(error):
                raise WarehouseError(f"{path} cannot be opened as a DuckDB database. DuckDB said: {error}") from error
            raise WarehouseBusyError(
                f"{path} is held by another process, and DuckDB lets one process write a file at a time: "
                f"close that one, or wait. DuckDB said: {error}"
            ) from error
        refuse_data_file(connection, path)
        bound_memory(connection)
        return cls(connection, places)

    @property
    def renderer(self) -> Renderer:
        """Renders statements for this database."""
        return self._renderer

    @contextmanager
    def transaction(self) -> Iterator[DuckDBTransaction]:
        """Begin a transaction; commit at the end of the block, roll back on any exception."""
        with self._cursor() as cursor:
            cursor.execute("begin transaction")
            try:
                yield DuckDBTransaction(cursor, self._places)
                cursor.execute("commit")
            except BaseException:
                _roll_back(cursor)
                raise

    def define(self, statements: Sequence[Statement]) -> None:
        """Run DDL in a transaction of its own."""
        with self.transaction() as transaction:
            for statement in statements:
                transaction.run(statement, {})

    def query(self, sql: str) -> pd.DataFrame:
        """Run one SELECT in a read-only transaction; WarehouseError for anything else.

        Decimals come as `decimal.Decimal`, dates as `datetime.date`, bytes as `bytes`, whole numbers and booleans with
        NULLs in pandas' nullable types, timestamps as datetime64[us] (UTC).
        """
        with self._cursor() as cursor:
            _refuse_writing(cursor, sql)
            schemas = (self._places.vault, self._places.staged, self._places.control, "main")
            path = ",".join(f"{_quoted(self._places.database)}.{_quoted(schema)}" for schema in schemas)
            cursor.execute("begin transaction read only")
            try:
                cursor.execute(f"set search_path = '{path}'")
                return to_frame(cursor.sql(sql).to_arrow_table())
            finally:
                _roll_back(cursor)

    def frame(self, statement: Statement, values: Mapping[str, object]) -> pd.DataFrame:
        """Run a rendered query in a read-only transaction; types as for `query`."""
        with self._cursor() as cursor:
            cursor.execute("begin transaction read only")
            try:
                bound = {name: values[name] for name in statement.binds}
                return to_frame(cursor.sql(statement.sql, params=bound).to_arrow_table())
            finally:
                _roll_back(cursor)

    def is_conflict(self, error: BaseException) -> bool:
        """Whether two transactions wrote the same rows and this one came second."""
        return isinstance(error, duckdb.TransactionException) and "onflict" in str(error)

    def is_missing(self, error: BaseException) -> bool:
        """Whether an error says that a table or schema is not there."""
        return isinstance(error, duckdb.CatalogException)

    def close(self) -> None:
        """Close the connection, and with it the file."""
        self._connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


def _refuse_writing(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    """A `commit` inside the text would end the read-only transaction, and COPY writes files."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type not in {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}:
        raise WarehouseError("query takes one SELECT statement, and no other: the vault is written by loads alone")


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """Roll back; a failed commit has ended the transaction already."""
    try:
        cursor.execute("rollback")
    except duckdb.TransactionException:
        return
