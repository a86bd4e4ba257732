"""The ledger in the control schema: batches, their steps, and what is open.

Read and written through `sql/control/`; the tables are described in `sql/ddl/control_*.sql.j2`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from xts_pipeline.errors import BatchStateError, NotStagedError
from xts_pipeline.locks import lock_batch
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.warehouse import QueryRun, Transaction, Warehouse, in_transaction

MICROSECOND = timedelta(microseconds=1)
try:
    CODE_VERSION = version("xts-pipeline")
except PackageNotFoundError:
    CODE_VERSION = "unknown"


def utc_now() -> datetime:
    """The wall clock: UTC, microseconds, without zone."""
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class Batch:
    """One stamped delivery of one source, as the ledger has it. All times are UTC without zone."""

    batch_id: str
    source: str
    partition_key: str
    fingerprint: str
    load_timestamp: datetime
    status: str  # open, done or abandoned
    root_run: str | None
    code_version: str
    rows_staged: int
    rows_rejected: int
    earliest_applied_timestamp: datetime | None
    newest_applied_timestamp: datetime | None
    started_at: datetime
    finished_at: datetime | None

    @property
    def is_done(self) -> bool:
        """Whether its last step is recorded."""
        return self.status == "done"

    @property
    def is_empty(self) -> bool:
        """Whether it holds no rows: it was stamped and closed at once."""
        return self.rows_staged == 0

    def values(self) -> dict[str, object]:
        """The values its steps bind."""
        return dict(vars(self))  # not asdict, which copies each value deeply: every statement of a step asks for them


@dataclass(frozen=True)
class Figures:
    """What a step found and wrote, and what it cost."""

    verdict: str | None = None  # normal or assisted, of a switch and of a satellite
    rows_read: int = 0
    keys_read: int = 0
    late_rows: int = 0
    late_keys: int = 0
    corrected_rows: int = 0
    rows_inserted: int = 0
    rows_copied: int = 0
    rows_scanned: int | None = None  # by its load statements; None where the engine does not say
    milliseconds: int = 0

    @property
    def rows_written(self) -> int:
        """Rows it wrote to a table of the vault."""
        return self.rows_inserted + self.rows_copied


@dataclass(frozen=True)
class Step:
    """One step of a batch in the ledger."""

    step: str
    step_order: int
    kind: str  # switch, xts, satellite, hub or link
    subject: str  # the satellite, hub reference or link it is about
    target_table: str
    shape: str  # the parent and columns it was staged for
    xts_assisted: bool  # of the satellite when the batch was stamped
    figures: Figures = Figures()
    recorded_at: datetime | None = None
    recorded_by: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether it is recorded."""
        return self.recorded_at is not None


def step_name(kind: str, subject: str) -> str:
    """The name of a step in the ledger."""
    return f"{kind}:{subject}"


def steps_of_source(source: SourceModel) -> list[Step]:
    """The steps a batch of this source has, in their order: switches, XTS inserts, satellites, hubs, links."""
    assisted = [satellite for satellite in source.satellites if satellite.xts_assisted]
    planned = [
        *(_of_satellite("switch", satellite, satellite.parent.xts_table) for satellite in source.satellites),
        *(_of_satellite("xts", satellite, satellite.parent.xts_table) for satellite in assisted),
        *(_of_satellite("satellite", satellite, satellite.table) for satellite in source.satellites),
        *(_planned("hub", hub.reference, hub.table, hub.shape) for hub in source.hubs),
        *(_planned("link", link.parent.name, link.table, link.shape) for link in source.links),
    ]
    return [replace(step, step_order=order) for order, step in enumerate(planned, start=1)]


def _planned(kind: str, subject: str, table: str, shape: str, xts_assisted: bool = False) -> Step:
    return Step(step_name(kind, subject), 0, kind, subject, table, shape, xts_assisted)


def _of_satellite(kind: str, satellite: Satellite, table: str) -> Step:
    return _planned(kind, satellite.name, table, satellite.shape, satellite.xts_assisted)


def step_of(row: dict[str, Any]) -> Step:
    """A step from a row of control.load_step; other columns of the row are left aside."""
    figures = {field.name: row[field.name] for field in fields(Figures) if row[field.name] is not None}
    about = {field.name: row[field.name] for field in fields(Step) if field.name != "figures"}
    return Step(**about, figures=Figures(**figures))


def _batches(transaction: Transaction, warehouse: Warehouse, template: str, **values: object) -> list[Batch]:
    return [Batch(**row) for row in transaction.rows(warehouse.renderer.render(template), values)]


def batches_of_partition(transaction: Transaction, warehouse: Warehouse, source: str, partition: str) -> list[Batch]:
    """The batches of one partition, newest first; abandoned ones left out."""
    return _batches(transaction, warehouse, "control/batches_of_partition", source=source, partition_key=partition)


def batch_of_stamp(transaction: Transaction, warehouse: Warehouse, load_timestamp: datetime) -> Batch | None:
    """The batch that was given this load timestamp."""
    return next(iter(_batches(transaction, warehouse, "control/batch_of_stamp", load_timestamp=load_timestamp)), None)


def all_batches(warehouse: Warehouse) -> list[Batch]:
    """Every batch of the ledger, newest first."""
    with warehouse.transaction() as transaction:
        return _batches(transaction, warehouse, "control/batches")


def open_batches(warehouse: Warehouse) -> list[Batch]:
    """Every open batch of the warehouse, oldest first."""
    with warehouse.transaction() as transaction:
        return _batches(transaction, warehouse, "control/open_batches")


def closed_batches(warehouse: Warehouse, source: str, since: datetime, until: datetime) -> list[Batch]:
    """The batches of a source that were closed between two times, oldest first, whoever had staged them."""
    with warehouse.transaction() as transaction:
        return _batches(transaction, warehouse, "control/closed_batches", source=source, since=since, until=until)


def batch_by_id(warehouse: Warehouse, batch_id: str) -> Batch:
    """One batch; NotStagedError when the ledger has none of that id."""
    with warehouse.transaction() as transaction:
        found = _batches(transaction, warehouse, "control/batch", batch_id=batch_id)
    if not found:
        raise NotStagedError(f"batch {batch_id} is not in the ledger; `xts batches` lists those that are")
    return found[0]


def newest_batch(warehouse: Warehouse, source: str, partition: str) -> Batch:
    """The newest batch of a partition; NotStagedError names the staging asset when there is none."""
    with warehouse.transaction() as transaction:
        found = batches_of_partition(transaction, warehouse, source, partition)
    if not found:
        raise _not_staged(source, partition)
    return found[0]


def newest_batches(warehouse: Warehouse, source: str, partitions: Iterable[str]) -> list[Batch]:
    """The newest batch of each partition, read at once; NotStagedError as of `newest_batch`."""
    wanted = list(partitions)
    if len(wanted) == 1:
        return [newest_batch(warehouse, source, wanted[0])]
    newest: dict[str, Batch] = {}
    for batch in all_batches(warehouse):
        if batch.source == source and batch.status != "abandoned":
            newest.setdefault(batch.partition_key, batch)
    for partition in wanted:
        if partition not in newest:
            raise _not_staged(source, partition)
    return [newest[partition] for partition in wanted]


def batches_by_id(warehouse: Warehouse, batch_ids: Iterable[str]) -> list[Batch]:
    """Batches in the order of their ids as given, read at once; NotStagedError as of `batch_by_id`."""
    wanted = list(batch_ids)
    known = {batch.batch_id: batch for batch in all_batches(warehouse)} if len(wanted) > 1 else {}
    return [known.get(batch_id) or batch_by_id(warehouse, batch_id) for batch_id in wanted]


def _not_staged(source: str, partition: str) -> NotStagedError:
    return NotStagedError(
        f"source {source} has no batch for partition {partition!r}: materialize the asset staged/{source} "
        "for this partition first"
    )


def older_open_batches(warehouse: Warehouse, batch: Batch, own: Iterable[str] = ()) -> list[Batch]:
    """The open batches of a batch's source with an earlier stamp, oldest first; those of `own` (ids) left out."""
    left_out = set(own)
    return [
        older
        for older in open_batches(warehouse)
        if older.source == batch.source
        and older.load_timestamp < batch.load_timestamp
        and older.batch_id not in left_out
    ]


def steps_of(transaction: Transaction, warehouse: Warehouse, batch: Batch) -> list[Step]:
    """The steps of a batch in their order."""
    statement = warehouse.renderer.render("control/steps")
    return [step_of(row) for row in transaction.rows(statement, {"batch_id": batch.batch_id})]


def read_steps(warehouse: Warehouse, batch: Batch) -> list[Step]:
    """The steps of a batch in their order, read in a transaction of their own."""
    with warehouse.transaction() as transaction:
        return steps_of(transaction, warehouse, batch)


def steps_by_batch(warehouse: Warehouse, batches: Sequence[Batch]) -> dict[str, list[Step]]:
    """Batch id: its steps in their order, of batches of one source in the order of their stamps, read at once."""
    if len(batches) <= 1:
        return {batch.batch_id: read_steps(warehouse, batch) for batch in batches}
    found: dict[str, list[Step]] = {batch.batch_id: [] for batch in batches}
    for row in _between(warehouse, "control/steps_between", batches):
        if (batch_id := row.pop("batch_id")) in found:
            found[batch_id].append(step_of(row))
    return found


def batches_after_recent(warehouse: Warehouse, batches: Sequence[Batch]) -> set[str]:
    """The ids of those of a source's batches, in the order of their stamps, before which an earlier one began.

    A normal load of theirs looks for a key's newest state among the recent facts first.
    """
    return {row["batch_id"] for row in _between(warehouse, "control/recent_between", batches)}


def _between(warehouse: Warehouse, template: str, batches: Sequence[Batch]) -> list[dict[str, Any]]:
    """What the ledger has of a source's batches from the first of these to the last, and of those that lie between."""
    first, last = batches[0], batches[-1]
    values = {"source": first.source, "since": first.load_timestamp, "until": last.load_timestamp}
    with warehouse.transaction() as transaction:
        return transaction.rows(warehouse.renderer.render(template), values)


def write_batch(transaction: Transaction, warehouse: Warehouse, batch: Batch, steps: Iterable[Step]) -> None:
    """Write a batch and its list of steps, which is fixed with its stamp."""
    transaction.run(warehouse.renderer.render("control/insert_batch"), batch.values())
    rows = [vars(step) | vars(step.figures) for step in steps]
    values = {f"{name}_{number}": value for number, row in enumerate(rows, start=1) for name, value in row.items()}
    insert_steps = warehouse.renderer.render("control/insert_steps", steps=len(rows))
    transaction.run(insert_steps, {**values, "batch_id": batch.batch_id})


def record_queries(
    transaction: Transaction, warehouse: Warehouse, batch_id: str, step: str, queries: Sequence[QueryRun]
) -> None:
    """Record the queries of a step, those of the ledger left out; nothing on an engine that gives queries no id."""
    told = [asdict(query) for query in queries if not query.statement.startswith("control/")]
    if told:
        values = {"batch_id": batch_id, "step": step, "queries": json.dumps(told)}
        transaction.run(warehouse.renderer.render("control/insert_step_query"), values)


def queries_by_batch(warehouse: Warehouse, batches: Sequence[Batch]) -> dict[str, dict[str, list[QueryRun]]]:
    """Batch id: step: its queries, of batches of one source in the order of their stamps, read at once.

    Nothing on an engine that gives queries no id.
    """
    if warehouse.rolls_back_ddl or not batches:
        return {}
    found: dict[str, dict[str, list[QueryRun]]] = {batch.batch_id: {} for batch in batches}
    for row in _between(warehouse, "control/step_queries_between", batches):
        if row["batch_id"] in found:
            found[row["batch_id"]][row["step"]] = [QueryRun(**query) for query in json.loads(row["queries"])]
    return found


def close_batch(warehouse: Warehouse, batch: Batch, now: datetime) -> None:
    """Mark a batch done when its last step is recorded; leaves it alone otherwise. Safe to run again."""
    values = {"batch_id": batch.batch_id, "now": now}
    in_transaction(
        warehouse, lambda transaction: transaction.run(warehouse.renderer.render("control/close_batch"), values)
    )


def abandon_batch(warehouse: Warehouse, batch_id: str, now: datetime) -> Batch:
    """Abandon an open batch of which nothing but staged rows was written.

    It is then not open, no replay target, and refused by every step. BatchStateError when it has written (finish it:
    run the load of its partition again) or is not open.
    """
    batch = batch_by_id(warehouse, batch_id)

    def work(transaction: Transaction) -> None:
        values = {"batch_id": batch_id, "now": now}
        lock_batch(transaction, warehouse, batch.source, values)
        _refuse_to_abandon(transaction, warehouse, batch_id)
        transaction.run(warehouse.renderer.render("control/abandon_batch"), values)

    in_transaction(warehouse, work)
    return batch_by_id(warehouse, batch_id)


def abandonable(warehouse: Warehouse, batch_id: str) -> Batch:
    """A batch that may be abandoned as it stands now; BatchStateError as of `abandon_batch`."""
    batch_by_id(warehouse, batch_id)
    with warehouse.transaction() as transaction:
        return _refuse_to_abandon(transaction, warehouse, batch_id)


def _refuse_to_abandon(transaction: Transaction, warehouse: Warehouse, batch_id: str) -> Batch:
    """The batch, when it is open and nothing of it was written."""
    (batch,) = _batches(transaction, warehouse, "control/batch", batch_id=batch_id)
    if batch.status != "open":
        raise BatchStateError(f"batch {batch_id} is {batch.status}: only an open batch can be abandoned")
    written = [step.step for step in steps_of(transaction, warehouse, batch) if step.is_done and step.kind != "switch"]
    if written:
        raise BatchStateError(
            f"batch {batch_id} has written already ({', '.join(written)}) and cannot be abandoned: "
            f"finish it by loading source {batch.source}, partition {batch.partition_key!r} again"
        )
    return batch


def newest_stamp(transaction: Transaction, warehouse: Warehouse) -> datetime | None:
    """The newest load timestamp ever given; None before the first."""
    (clock,) = transaction.rows(warehouse.renderer.render("control/read_clock"), {})
    newest: datetime | None = clock["newest_load_timestamp"]
    return newest


def closed_until(warehouse: Warehouse) -> datetime | None:
    """The load timestamp up to which every answer is final: just before the oldest open batch, else the newest stamp.

    None before the first batch. UTC, without zone.
    """
    with warehouse.transaction() as transaction:
        opened = _batches(transaction, warehouse, "control/open_batches")
        if opened:
            return opened[0].load_timestamp - MICROSECOND
        return newest_stamp(transaction, warehouse)
