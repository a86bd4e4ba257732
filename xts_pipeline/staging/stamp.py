"""The stamp: one authority gives each batch its load timestamp, once, and tells a replay from a new batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from xts_pipeline.errors import XtsError
from xts_pipeline.ledger import (
    CODE_VERSION,
    MICROSECOND,
    Batch,
    Figures,
    Step,
    batch_of_stamp,
    batches_of_partition,
    newest_stamp,
    record_queries,
    steps_of_source,
    utc_now,
    write_batch,
)
from xts_pipeline.metadata import SourceModel
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.warehouse import QueryRun, Transaction, Warehouse, in_transaction

STAGING = "stage"  # what the queries of the staging are recorded under, which is no step of the cycle


class LoadTimestampError(XtsError, ValueError):
    """A given load timestamp is not later than every stamp before it."""


@dataclass(frozen=True)
class StagedBatch:
    """A batch whose rows are staged and which has no stamp yet."""

    batch_id: str
    partition: str | None
    fingerprint: str
    rows_staged: int
    rows_rejected: int
    earliest_applied_timestamp: datetime | None
    newest_applied_timestamp: datetime | None
    started_at: datetime
    undeclared_columns: tuple[str, ...]
    queries: tuple[QueryRun, ...] = ()


@dataclass(frozen=True)
class Stamped:
    """What became of staged rows: a new batch, or one that was there (a replay, or a retry that resumes its own)."""

    batch: Batch
    is_new: bool
    undeclared_columns: tuple[str, ...]


def stamp(
    warehouse: Warehouse,
    source: SourceModel,
    staged: StagedBatch,
    *,
    root_run: str | None = None,
    load_timestamp: datetime | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Stamped:
    """Give a staged batch its load timestamp, max(clock, newest + 1 µs), and make it visible; or find it is a replay.

    A replay is the same fingerprint for the partition whose newest batch has it; a retry is the same fingerprint from
    the same root run, whatever came since. Their staged rows are discarded. LoadTimestampError when a given
    `load_timestamp` (UTC, without zone) is not later than every stamp before.
    """

    def work(transaction: Transaction) -> Stamped:
        render = warehouse.renderer.render
        transaction.run(render("control/take_clock"), {})
        if known := _known_batch(transaction, warehouse, source, staged, root_run, load_timestamp):
            return Stamped(known, is_new=False, undeclared_columns=staged.undeclared_columns)
        given = _next_stamp(transaction, warehouse, load_timestamp, clock)
        transaction.run(render("control/set_clock"), {"load_timestamp": given})
        batch = _batch(source, staged, given, root_run)
        write_batch(transaction, warehouse, batch, _steps(source, batch))
        record_queries(transaction, warehouse, batch.batch_id, STAGING, staged.queries)
        return Stamped(batch, is_new=True, undeclared_columns=staged.undeclared_columns)

    stamped = in_transaction(warehouse, work)
    if not stamped.is_new:  # apart, since all sources wait for the clock; what a crash leaves here is purged later
        in_transaction(warehouse, lambda again: discard(again, warehouse, source, staged.batch_id))
    return stamped


def discard(transaction: Transaction, warehouse: Warehouse, source: SourceModel, batch_id: str) -> None:
    """Drop the staged and rejected rows of a batch that got no stamp."""
    values = {"batch_id": batch_id}
    if source.rows_table in known_columns(transaction, warehouse):
        transaction.run(warehouse.renderer.render("staged/discard", source=source), values)
    transaction.run(warehouse.renderer.render("staged/discard_rejected"), values)  # last: all sources share the table


def _known_batch(
    transaction: Transaction,
    warehouse: Warehouse,
    source: SourceModel,
    staged: StagedBatch,
    root_run: str | None,
    load_timestamp: datetime | None,
) -> Batch | None:
    """The batch these staged rows are already, if any."""
    if load_timestamp is not None:
        there = batch_of_stamp(transaction, warehouse, load_timestamp)
        same = there and (there.source, there.fingerprint) == (source.name, staged.fingerprint)
        if there and same and staged.partition in {None, there.partition_key}:
            return there
    if staged.partition is None:
        return None
    known = batches_of_partition(transaction, warehouse, source.name, staged.partition)
    if known and known[0].fingerprint == staged.fingerprint:
        return known[0]
    retried = (batch for batch in known if root_run is not None and batch.root_run == root_run)
    return next((batch for batch in retried if batch.fingerprint == staged.fingerprint), None)


def _next_stamp(
    transaction: Transaction, warehouse: Warehouse, wanted: datetime | None, clock: Callable[[], datetime]
) -> datetime:
    newest = newest_stamp(transaction, warehouse)
    if wanted is None:
        return clock() if newest is None else max(clock(), newest + MICROSECOND)
    if newest is not None and wanted <= newest:
        raise LoadTimestampError(
            f"load_timestamp {wanted} is not later than {newest}, the newest stamp given: "
            "what was known then would change"
        )
    return wanted


def _batch(source: SourceModel, staged: StagedBatch, load_timestamp: datetime, root_run: str | None) -> Batch:
    return Batch(
        batch_id=staged.batch_id,
        source=source.name,
        partition_key=staged.batch_id if staged.partition is None else staged.partition,
        fingerprint=staged.fingerprint,
        load_timestamp=load_timestamp,
        status="open" if staged.rows_staged else "done",
        root_run=root_run,
        code_version=CODE_VERSION,
        rows_staged=staged.rows_staged,
        rows_rejected=staged.rows_rejected,
        earliest_applied_timestamp=staged.earliest_applied_timestamp,
        newest_applied_timestamp=staged.newest_applied_timestamp,
        started_at=staged.started_at,
        finished_at=None if staged.rows_staged else utc_now(),
    )


def _steps(source: SourceModel, batch: Batch) -> list[Step]:
    """The steps of a new batch; those of an empty one are done, having nothing to do."""
    steps = steps_of_source(source)
    if not batch.is_empty:
        return steps
    return [
        replace(
            step,
            figures=Figures(verdict="normal" if step.kind in {"switch", "satellite"} else None),
            recorded_at=batch.finished_at,
        )
        for step in steps
    ]
