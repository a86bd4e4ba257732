"""What is measured beside each other: the project's cycle, the floor, a bare search, the published SQL, the rebuild.

Each is given an open vault with a staged and stamped batch, does its work, commits, and gives the seconds it took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta

import duckdb
import pyarrow as pa

from bench.workload import arrow, execute
from xts_pipeline import Vault
from xts_pipeline.cycle import run_cycle
from xts_pipeline.ledger import Batch


@dataclass(frozen=True)
class Staged:
    """An open vault, and a batch in it whose cycle has not begun."""

    connection: duckdb.DuckDBPyConnection
    vault: Vault
    batch: Batch
    restored: pa.Table  # the rows that the cycle of this batch restores
    is_late: bool
    staging: float = 0.0  # seconds that staging and stamping it took


Contender = Callable[[Staged], None]


def cycle(staged: Staged) -> None:
    """The project's own: SWITCH, XTS insert, satellite, hub merge, each step in its own transaction."""
    for _ in run_cycle(staged.vault.warehouse, staged.vault.catalog.source("bench"), staged.batch):
        pass


def floor(staged: Staged) -> None:
    """The very rows of the cycle by plain INSERT ... SELECT, in one transaction."""
    with _in_vault(staged) as cursor:
        cursor.register("restored_rows", staged.restored)
        values = {"batch_id": staged.batch.batch_id, "load_timestamp": staged.batch.load_timestamp}
        cursor.execute("begin transaction")
        execute(cursor, "floor_xts", {**values, "violation": staged.is_late})
        execute(cursor, "floor_satellite", values)
        cursor.execute("commit")


def search(staged: Staged) -> None:
    """Look the batch's keys up in the hub and among the newest facts, and write nothing: what every load has to do."""
    assert staged.batch.earliest_applied_timestamp is not None
    since = staged.batch.earliest_applied_timestamp - timedelta(days=1)
    with _in_vault(staged) as cursor:
        execute(cursor, "search", {"batch_id": staged.batch.batch_id, "since": since})
        assert cursor.fetchall()


def published(staged: Staged) -> None:
    """The published pattern's statements, in one transaction."""
    with _in_vault(staged) as cursor:
        values: dict[str, object] = {"load_timestamp": staged.batch.load_timestamp}
        cursor.execute("begin transaction")
        execute(cursor, "published_switch", values)
        (late,) = cursor.fetchone() or (False,)
        execute(cursor, "published_xts", {**values, "violation": late})
        execute(cursor, "published_assisted" if late else "published_normal", values)
        execute(cursor, "published_hub", values)
        cursor.execute("commit")


def rebuild(staged: Staged) -> None:
    """The batch's facts by plain insert, then the whole timeline anew, in one transaction."""
    with _in_vault(staged) as cursor:
        values = {"batch_id": staged.batch.batch_id, "load_timestamp": staged.batch.load_timestamp}
        cursor.execute("begin transaction")
        execute(cursor, "floor_xts", {**values, "violation": staged.is_late})
        execute(cursor, "rebuild", values)
        cursor.execute("commit")


def nothing(staged: Staged) -> None:
    """No work: what a checkpoint costs for the staged rows alone."""


CONTENDERS: dict[str, Contender] = {
    "nothing": nothing,
    "floor": floor,
    "cycle": cycle,
    "search": search,
    "published": published,
    "rebuild": rebuild,
}


@dataclass(frozen=True)
class Seconds:
    """How long a contender took until everything was committed, and the checkpoint after that.

    `processor` is the time of all its threads until the commit, which says more on a machine that others use too.
    """

    work: float
    checkpoint: float
    processor: float


def seconds(contender: Contender, staged: Staged) -> Seconds:
    """How long a contender takes for a staged batch."""
    begun, used = time.perf_counter(), time.process_time()
    contender(staged)
    committed, used_then = time.perf_counter(), time.process_time()
    staged.connection.execute("checkpoint")
    return Seconds(committed - begun, time.perf_counter() - committed, used_then - used)


def restored_rows(staged: Staged) -> pa.Table:
    """The rows that the batch's cycle, which is done, restored."""
    with _in_vault(staged) as cursor:
        return arrow(cursor, "restored_rows", {"load_timestamp": staged.batch.load_timestamp})


@contextmanager
def _in_vault(staged: Staged) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor; closed whatever happens, since an open one keeps the file open."""
    with closing(staged.connection.cursor()) as cursor:
        cursor.execute("use vault")
        yield cursor
