"""Staging: a delivery becomes the staged rows of one batch, all of it or nothing, and is stamped."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from xts_pipeline.errors import DeliveryError, WarehouseBusyError
from xts_pipeline.ledger import utc_now
from xts_pipeline.metadata import ColumnType, SourceModel
from xts_pipeline.metadata.types import TEXT
from xts_pipeline.staging.columns import Matched, match_columns, settle_types
from xts_pipeline.staging.faults import Fault, Faults
from xts_pipeline.staging.fingerprint import Fingerprint
from xts_pipeline.staging.making import build_tables
from xts_pipeline.staging.readers import Chunk, Delivery, TableDelivery
from xts_pipeline.staging.rows import APPLIED, fit_rows, malformed_faults, staged_rows
from xts_pipeline.staging.stamp import STAGING, StagedBatch, Stamped, discard, stamp
from xts_pipeline.staging.table_source import stage_table, table_types
from xts_pipeline.staging.tables import known_columns, remembered_types
from xts_pipeline.staging.ties import (
    RejectedRow,
    as_json,
    break_ties,
    contradicting_rows,
    refuse_contradictions,
    restore_ties,
)
from xts_pipeline.staging.typing import fit
from xts_pipeline.warehouse import Transaction, Warehouse, in_transaction, working_on

MAX_PARTITION_KEY = 255
UNSTAMPED_FOR = timedelta(days=1)  # staged rows older than this without a stamp were left by a crash
_UNFIT_FOR_PARTITIONS = re.compile(r"[,/\x00-\x1f\x7f-\x9f]|\.\.\.")

Progress = Callable[[int], None]


def checked_partition(source: str, partition: str | None) -> str | None:
    """A partition key that Dagster, SQL and file names can carry; DeliveryError says what it may not hold."""
    if partition is None:
        return None
    if not isinstance(partition, str) or not partition or partition != partition.strip():
        raise DeliveryError(f"source {source}: a partition key is text without blanks around it, not {partition!r}")
    if len(partition) > MAX_PARTITION_KEY or _UNFIT_FOR_PARTITIONS.search(partition) or not _is_unicode(partition):
        raise DeliveryError(
            f"source {source}: partition key {partition!r} cannot be carried by Dagster: no comma, slash, `...` or "
            f"control character, and at most {MAX_PARTITION_KEY} characters"
        )
    return partition


def _is_unicode(text: str) -> bool:
    """Whether a text holds no half characters."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def new_batch_id(now: datetime) -> str:
    """An id that sorts by the time it was given: 20260104T060000000000_9f86d081."""
    return f"{now:%Y%m%dT%H%M%S%f}_{secrets.token_hex(4)}"


def stage(
    warehouse: Warehouse,
    source: SourceModel,
    delivery: Delivery | TableDelivery,
    partition: str | None,
    *,
    root_run: str | None = None,
    load_timestamp: datetime | None = None,
    clock: Callable[[], datetime] = utc_now,
    progress: Progress | None = None,
) -> Stamped:
    """Stage one delivery and stamp it.

    The rows are written in one transaction under a batch id, then a short second one gives the stamp. Anything wrong
    with the delivery stops the batch before a table is written (DeliveryError, ContradictionError), or, with
    `on_error: quarantine`, sends the bad rows to control.rejected_row.
    """
    checked_partition(source.name, partition)
    started = utc_now()
    batch_id = new_batch_id(started)
    with working_on(run=root_run, source=source.name, batch=batch_id, step=STAGING):
        staged = in_transaction(
            warehouse,
            lambda transaction: _Staging(transaction, warehouse, source, delivery, batch_id, progress).run(
                partition, started
            ),
        )
        try:
            stamped = stamp(warehouse, source, staged, root_run=root_run, load_timestamp=load_timestamp, clock=clock)
        except Exception:
            in_transaction(warehouse, lambda again: discard(again, warehouse, source, staged.batch_id))
            raise
        _purge(warehouse, source, started)
    return stamped


def _purge(warehouse: Warehouse, source: SourceModel, now: datetime) -> None:
    """Drop staged and rejected rows nobody needs any more; left for later when another writer is at it."""
    values = {"source": source.name, "unstamped_before": f"{now - UNSTAMPED_FOR:%Y%m%dT%H%M%S%f}"}

    def work(transaction: Transaction) -> None:
        if source.rows_table in known_columns(transaction, warehouse):
            transaction.run(warehouse.renderer.render("staged/purge", source=source), values)
        transaction.run(warehouse.renderer.render("staged/purge_rejected"), values)  # last: all sources share the table

    try:
        in_transaction(warehouse, work)
    except WarehouseBusyError:
        return


@dataclass
class _Staging:
    """The staging of one delivery inside one transaction."""

    transaction: Transaction
    warehouse: Warehouse
    source: SourceModel
    delivery: Delivery | TableDelivery
    batch_id: str
    progress: Progress | None
    faults: Faults = field(default_factory=Faults)
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    rows_rejected: int = 0
    has_tables: bool = False  # as this batch needs them: not when it brought no row that tells the types of columns
    appender: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(max_workers=1))
    appending: Future[None] | None = None

    @property
    def quarantines(self) -> bool:
        """Whether bad rows are kept aside rather than stopping the batch."""
        return self.source.declaration.on_error == "quarantine"

    def run(self, partition: str | None, started: datetime) -> StagedBatch:
        """Read, fit, hash and write every row; refuse or set aside what is wrong."""
        if isinstance(self.delivery, TableDelivery):
            return self._run_table(self.delivery, partition, started)
        chunks = self.delivery.chunks()
        try:
            undeclared = self._read(self.delivery, chunks, partition)
            self._appended()
        finally:
            self.appender.shutdown()
            if isinstance(chunks, Generator):
                chunks.close()  # a query's connection is let go of here, and not whenever memory is swept
        if self.faults and not self.quarantines:
            raise DeliveryError(self.faults.message(self.source.name, self.delivery.name))
        return self._batch(partition, started, self.fingerprint.hexdigest(self.source), undeclared)

    def _batch(
        self, partition: str | None, started: datetime, fingerprint: str, undeclared: tuple[str, ...]
    ) -> StagedBatch:
        bounds = self._settled()
        return StagedBatch(
            batch_id=self.batch_id,
            partition=partition,
            fingerprint=fingerprint,
            rows_rejected=self.rows_rejected,
            started_at=started,
            undeclared_columns=undeclared,
            queries=tuple(self.transaction.queries),
            **bounds,
        )

    def _run_table(self, delivery: TableDelivery, partition: str | None, started: datetime) -> StagedBatch:
        """Stage a table of the warehouse by SQL alone."""
        types = table_types(self.source)
        applied = self._partition_applied(partition)
        values: dict[str, object] = {
            "batch_id": self.batch_id,
            "partition": partition,
            "partition_applied": None if applied is None else applied.as_py(),
        }
        self._build_tables(types)
        fingerprint = stage_table(self.transaction, self.warehouse, self.source, delivery, types, values)
        return self._batch(partition, started, fingerprint, ())

    def _read(self, delivery: Delivery, chunks: Iterator[Chunk], partition: str | None) -> tuple[str, ...]:
        """Read and write every chunk; gives the delivered columns that nobody declared."""
        first = next(chunks, None)
        if first is None and not delivery.columns:
            return ()
        matched = match_columns(self.source, delivery)
        if first is not None:
            self._write(delivery, chain([first], chunks), first, matched, self._partition_applied(partition))
        return matched.undeclared

    def _partition_applied(self, partition: str | None) -> pa.Scalar | None:
        if not self.source.declaration.applied_is_partition:
            return None
        declaration = self.source.declaration
        key = pa.array([partition], pa.string())
        fitted = fit(key, APPLIED, zone=declaration.timezone, ambiguous=declaration.ambiguous_time)
        if partition is None or fitted.misfits:
            raise DeliveryError(
                f"source {self.source.name}: applied_timestamp is the partition's date, and partition {partition!r} "
                f"is none ({fitted.misfits.get(0, 'no partition was given')}): write it like 2026-01-04"
            )
        return fitted.values[0]

    def _write(
        self,
        delivery: Delivery,
        chunks: Iterator[Chunk],
        first: Chunk,
        matched: Matched,
        partition_applied: pa.Scalar | None,
    ) -> None:
        types: dict[str, ColumnType] | None = None
        rows_read = 0
        for chunk in chunks:
            if types is None and chunk.table.num_rows:
                types = self._typed(delivery, matched, chunk.table)
                self._build_tables(types)
            rows = fit_rows(self.source, chunk, matched, types, partition_applied) if types else None
            faults = rows.faults if rows else malformed_faults(chunk)
            self._take_faults(chunk, faults)
            rows_read += chunk.table.num_rows + len(chunk.malformed)
            if rows and (self.quarantines or not self.faults):
                self._append(staged_rows(self.source, self.batch_id, rows.without_faults()))
            if self.progress:
                self.progress(rows_read)

    def _typed(self, delivery: Delivery, matched: Matched, first: pa.Table) -> dict[str, ColumnType]:
        """The types of the staged columns, settled by the first rows where nothing else says."""
        remembered = remembered_types(self.transaction, self.warehouse, self.source)
        return settle_types(self.source, delivery, matched, first, remembered)

    def _build_tables(self, types: dict[str, ColumnType]) -> None:
        self.has_tables = True
        build_tables(self.transaction, self.warehouse, self.source, types)

    def _build_known_tables(self) -> None:
        """An empty batch makes and grows the tables too, where no row is needed to know their types."""
        remembered = remembered_types(self.transaction, self.warehouse, self.source)
        types = {**remembered, **self.source.declared_types}
        if isinstance(self.delivery, Delivery) and not self.delivery.typed:
            types = {**dict.fromkeys(self.source.staged_columns, TEXT), **types}  # as a row would have it
        if all(column in types for column in self.source.staged_columns):
            self._build_tables({column: types[column] for column in self.source.staged_columns})

    def _append(self, staged: pa.Table) -> None:
        """Append rows while the next chunk is read and hashed; whoever uses the transaction waits for it first."""
        if staged.num_rows:
            self._appended()
            work = copy_context()  # what labels the statements, which a thread does not inherit
            append = self.transaction.append
            self.appending = self.appender.submit(work.run, append, "staged", self.source.rows_table, staged)
            self.fingerprint.add(self.source, staged)

    def _appended(self) -> None:
        """Wait until the rows are appended; raises what went wrong."""
        if self.appending is not None:
            appending, self.appending = self.appending, None
            appending.result()

    def _take_faults(self, chunk: Chunk, faults: tuple[Fault, ...]) -> None:
        self.faults.add(faults)
        if self.quarantines and faults:
            self._reject(_rejected(chunk, faults))

    def _reject(self, rows: list[RejectedRow]) -> None:
        for row in rows:
            self.fingerprint.add_rejected(row.row_json)
        self.rows_rejected += len(rows)
        self._appended()
        table = pa.table(
            {
                "batch_id": [self.batch_id] * len(rows),
                "source": [self.source.name] * len(rows),
                "row_number": [row.row_number for row in rows],
                "reason": [row.reason for row in rows],
                "row_json": [row.row_json for row in rows],
                "rejected_at": pa.array([utc_now()] * len(rows), pa.timestamp("us")),
            }
        )
        self.transaction.append("control", "rejected_row", table)

    def _settled(self) -> dict[str, Any]:
        """Decide the ties, refuse or set aside contradictions, and measure what is left."""
        if not self.has_tables:
            self._build_known_tables()
            return {"rows_staged": 0, "earliest_applied_timestamp": None, "newest_applied_timestamp": None}
        values = {"batch_id": self.batch_id}
        where = (self.transaction, self.warehouse, self.source, self.batch_id)
        break_ties(*where)
        if not self.quarantines:
            refuse_contradictions(*where)
        while self.quarantines and (rows := list(contradicting_rows(*where))):
            self._reject(rows)
            self.transaction.run(self.warehouse.renderer.render("staged/reject", source=self.source), values)
            restore_ties(*where)  # a rejected row may have overruled another
            break_ties(*where)
        (bounds,) = self.transaction.rows(self.warehouse.renderer.render("staged/bounds", source=self.source), values)
        return bounds


def _rejected(chunk: Chunk, faults: tuple[Fault, ...]) -> list[RejectedRow]:
    """Each faulty row of a chunk once, with all that is wrong with it and what was delivered."""
    reasons: dict[int, list[str]] = {}
    for fault in faults:
        where = f"column {fault.column}: " if fault.column else ""
        reasons.setdefault(fault.row_number, []).append(f"{where}{fault.what} ({fault.reason})")
    lines = {row.row_number: as_json({"line": row.text}) for row in chunk.malformed}
    numbers = pa.array(sorted(set(reasons) - set(lines)), pa.int64())
    faulty = pc.is_in(chunk.row_numbers, value_set=numbers)
    for number, row in zip(
        chunk.row_numbers.filter(faulty).to_pylist(), _as_delivered(chunk.table.filter(faulty)), strict=True
    ):
        lines[number] = as_json(row)
    return [RejectedRow(number, "; ".join(reasons[number]), lines[number]) for number in sorted(reasons)]


def _as_delivered(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values; those that Python has none for (a date in the year 20000) as Arrow writes them."""
    columns: dict[str, list[Any]] = {}
    for name in rows.column_names:
        try:
            columns[name] = rows.column(name).to_pylist()
        except (ValueError, OverflowError):
            columns[name] = [str(value) for value in rows.column(name).cast(pa.int64())]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
