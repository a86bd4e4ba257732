"""What the pipeline needs of a warehouse: transactions, and rendered statements run in them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import pandas as pd
import pyarrow as pa

from xts_pipeline.errors import WarehouseBusyError
from xts_pipeline.templates import Renderer, Statement
from xts_pipeline.warehouse.work import QueryRun

T = TypeVar("T")
Row = dict[str, Any]

ATTEMPTS = 12
FIRST_PAUSE = 0.01  # seconds; doubled at each attempt, with jitter
LONGEST_PAUSE = 2.0


class Transaction(Protocol):
    """One open transaction. Values are bound by the names the statement asks for; others are left aside."""

    @property
    def rows_scanned(self) -> int | None:
        """The rows that the load statements of this transaction scanned so far; None when the engine does not say."""
        ...

    @property
    def queries(self) -> Sequence[QueryRun]:
        """What ran in it so far, on an engine that gives queries an id."""
        ...

    def run(self, statement: Statement, values: Mapping[str, object]) -> int:
        """Run a statement for its effect; the number of rows it wrote, as the engine counts them."""
        ...

    def rows(self, statement: Statement, values: Mapping[str, object]) -> list[Row]:
        """Run a query; a dict a row, timestamps without zone."""
        ...

    def append(self, schema: str, table: str, rows: pa.Table) -> None:
        """Append rows to a table by column name."""
        ...


class Warehouse(Protocol):
    """A place that holds the vault."""

    @property
    def rolls_back_ddl(self) -> bool:
        """Whether DDL is part of a transaction. Where it is not, tables are made apart, by `define`."""
        ...

    @property
    def renderer(self) -> Renderer:
        """Renders statements for this engine and this place."""
        ...

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction; commit at the end of the block, roll back on any exception."""
        ...

    def define(self, statements: Sequence[Statement]) -> None:
        """Run DDL outside of any transaction, each statement committed at once."""
        ...

    def query(self, sql: str) -> pd.DataFrame:
        """Run a query of a user's; unqualified names are found in the vault. It cannot write."""
        ...

    def frame(self, statement: Statement, values: Mapping[str, object]) -> pd.DataFrame:
        """Run a rendered query as `query` does, with its values bound."""
        ...

    def is_conflict(self, error: BaseException) -> bool:
        """Whether an error says that another writer came first, so that trying again may help."""
        ...

    def is_missing(self, error: BaseException) -> bool:
        """Whether an error says that a table or schema is not there."""
        ...

    def close(self) -> None:
        """Let go of the warehouse."""
        ...


def in_transaction(warehouse: Warehouse, work: Callable[[Transaction], T]) -> T:
    """Do `work` in one transaction, and again from its beginning when another writer came first.

    WarehouseBusyError after the last attempt; every other error passes through after the rollback.
    """
    pause = FIRST_PAUSE
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with warehouse.transaction() as transaction:
                return work(transaction)
        except Exception as error:
            if not warehouse.is_conflict(error):
                raise
            if attempt == ATTEMPTS:
                raise WarehouseBusyError(
                    f"another writer held the rows this step needs, {ATTEMPTS} times in a row; nothing was written, "
                    f"run it again. The engine said: {error}"
                ) from error
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, LONGEST_PAUSE)
    raise AssertionError("unreachable")
