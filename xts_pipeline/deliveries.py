"""The ledger of deliveries: what was delivered for each partition, for what a run was requested, and what is staged.

A delivery is a content of a partition that is not the one before: A, then B, then A again are three, numbered 1, 2, 3.
Whoever requests runs takes a lease of each delivery first, in the warehouse, which keeps a sensor and a schedule apart.
The decisions are plain functions of what was read; nothing here knows Dagster.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from xts_pipeline.delivery_files import DeliveredFile, FoundFiles, digest_of, file_of, is_settled
from xts_pipeline.ledger import utc_now
from xts_pipeline.locks import DELIVERIES, lock_table
from xts_pipeline.warehouse import Transaction, Warehouse, in_transaction

LEASE = timedelta(minutes=10)  # far longer than a tick takes, so that its runs are there before another may ask
READING_FOR = 20.0  # seconds a tick may spend on reading files; what is left waits for the next


@dataclass(frozen=True)
class KnownDelivery:
    """One delivery as the ledger has it. Times are UTC without zone."""

    source: str
    partition_key: str
    delivery_number: int
    digest: str
    file_state: str | None
    seen_at: datetime
    requested_at: datetime | None = None
    requested_by: str | None = None
    staged_batch_id: str | None = None
    staged_at: datetime | None = None
    batch_status: str | None = None  # of the batch it became, and the run that staged that batch
    root_run: str | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the vault holds it: it was staged, and its batch is neither unfinished nor given up."""
        return self.staged_at is not None and self.batch_status not in ("open", "abandoned")

    @property
    def was_taken_up(self) -> bool:
        """Whether a run was requested for it, or has staged it unasked."""
        return self.requested_at is not None or self.staged_at is not None

    @property
    def run_key(self) -> str:
        """What the run that loads it is called. When it was seen is part of it: a vault that is built anew, or put back
        from a copy, counts from 1 again, and its deliveries are not those that were loaded into the other."""
        seen = f"{self.seen_at:%Y%m%dT%H%M%S%f}"
        return f"{self.source}:{self.partition_key}:{self.delivery_number}:{seen}"


Newest = Mapping[str, KnownDelivery]  # partition: its newest delivery


@dataclass(frozen=True)
class Content:
    """What a partition holds now: a digest, and of a file its state when it was read."""

    partition: str
    digest: str
    file_state: str | None = None


@dataclass(frozen=True)
class Looked:
    """What a look at a source's files came to."""

    contents: tuple[Content, ...]  # of files that may hold something new
    too_young: tuple[str, ...]  # partitions whose file was written to a moment ago, or while it was read
    unread: tuple[str, ...]  # partitions whose file is left for the next look, since this one took long
    faults: tuple[str, ...]  # files that have no name for a partition, or cannot be read: a sentence each


def changed_files(found: FoundFiles, newest: Newest) -> list[DeliveredFile]:
    """The files that may hold something new: those the file system does not call the same as when they were read."""
    return [
        file for file in found.files if file.partition not in newest or newest[file.partition].file_state != file.state
    ]


def look(found: FoundFiles, newest: Newest, settle: float, *, reading_for: float = READING_FOR) -> Looked:
    """Read the files that may hold something new, and no other; one that was just written to waits."""
    contents: list[Content] = []
    too_young: list[str] = []
    unread: list[str] = []
    faults = list(found.misnamed)
    began = time.monotonic()
    for file in changed_files(found, newest):
        if not is_settled(file, settle, time.time()):
            too_young.append(file.partition)
        elif time.monotonic() - began > reading_for:
            unread.append(file.partition)
        else:
            try:
                digest = digest_of(file)
            except OSError as error:
                faults.append(f"{file.path}: cannot be read ({error.strerror or error})")
                continue
            if digest is None:
                too_young.append(file.partition)
            else:
                contents.append(Content(file.partition, digest, file.state))
    return Looked(tuple(contents), tuple(too_young), tuple(unread), tuple(faults))


def content_of_tick(partition: str, tick: datetime) -> Content:
    """What a schedule's tick delivers where a query is asked: the tick itself, once."""
    return Content(partition, hashlib.sha256(tick.isoformat().encode()).hexdigest())


def new_deliveries(
    source: str, contents: Iterable[Content], newest: Newest, now: datetime, again: Collection[KnownDelivery] = ()
) -> list[KnownDelivery]:
    """The contents that differ from their partition's newest delivery, each as the next delivery of its partition.

    So does one that holds the same and was delivered once more, where the newest delivery is among `again`.
    """
    new = []
    for content in contents:
        known = newest.get(content.partition)
        if known is None or known.digest != content.digest or known in again:
            number = known.delivery_number + 1 if known else 1
            new.append(KnownDelivery(source, content.partition, number, content.digest, content.file_state, now))
    return new


def recognised(contents: Iterable[Content], newest: Newest) -> list[KnownDelivery]:
    """The deliveries whose file was written anew and holds what it held, with its new state."""
    return [
        replace(known, file_state=content.file_state)
        for content in contents
        if (known := newest.get(content.partition)) is not None
        and known.digest == content.digest
        and known.file_state != content.file_state
    ]


def waiting(newest: Iterable[KnownDelivery], asker: str, now: datetime) -> list[KnownDelivery]:
    """The deliveries that `asker` may request a run for, those first seen first, then by partition key.

    Not staged, and nobody else holds the lease. An older delivery of a partition waits no more: its content is gone.
    One that was requested before may have its run already: ask for it before requesting another.
    """
    return sorted(
        (
            delivery
            for delivery in newest
            if delivery.staged_at is None
            and (
                delivery.requested_at is None or delivery.requested_by == asker or delivery.requested_at <= now - LEASE
            )
        ),
        key=lambda delivery: (delivery.seen_at, delivery.partition_key),
    )


def newest_deliveries(
    transaction: Transaction, warehouse: Warehouse, source: str, partition: str | None = None
) -> dict[str, KnownDelivery]:
    """The newest delivery of every partition of a source, or of one."""
    statement = warehouse.renderer.render("control/newest_deliveries", of_partition=partition is not None)
    rows = transaction.rows(statement, {"source": source, "partition_key": partition})
    return {row["partition_key"]: KnownDelivery(**row) for row in rows}


def read_newest(warehouse: Warehouse, source: str, partition: str | None = None) -> dict[str, KnownDelivery]:
    """The newest delivery of every partition, or of one, read in a transaction of its own."""
    with warehouse.transaction() as transaction:
        return newest_deliveries(transaction, warehouse, source, partition)


def _newest_in_turn(
    transaction: Transaction, warehouse: Warehouse, source: str, partition: str | None = None
) -> dict[str, KnownDelivery]:
    """The newest deliveries, read by one writer at a time: on DuckDB two that only insert would both commit."""
    lock_table(transaction, warehouse, DELIVERIES, {"now": utc_now()})
    return newest_deliveries(transaction, warehouse, source, partition)


def register(
    warehouse: Warehouse,
    source: str,
    contents: Sequence[Content],
    again: Collection[KnownDelivery] = (),
    *,
    partition: str | None = None,
) -> dict[str, KnownDelivery]:
    """Register the contents that are new; gives the newest delivery of every partition after that.

    `again`: deliveries that are registered once more though their content is the same, unless they changed meanwhile.
    `partition`: the only one that the contents are of, and that is looked at.
    """

    def work(transaction: Transaction) -> dict[str, KnownDelivery]:
        newest = _newest_in_turn(transaction, warehouse, source, partition)
        new_ones = new_deliveries(source, contents, newest, utc_now(), again)
        known_ones = recognised(contents, newest)
        for known in known_ones:
            transaction.run(render("control/recognise_delivery"), asdict(known))
        for new in new_ones:
            transaction.run(render("control/insert_delivery"), asdict(new))
        return newest | {delivery.partition_key: delivery for delivery in (*known_ones, *new_ones)}

    render = warehouse.renderer.render
    return in_transaction(warehouse, work) if contents else read_newest(warehouse, source, partition)


def take_leases(
    warehouse: Warehouse, source: str, wanted: Sequence[KnownDelivery], asker: str, now: datetime
) -> list[KnownDelivery]:
    """Take the lease of each delivery that is as it was when it was read; gives those that were had, in that order."""

    def work(transaction: Transaction) -> list[KnownDelivery]:
        newest = _newest_in_turn(transaction, warehouse, source)
        had = [delivery for delivery in wanted if newest.get(delivery.partition_key) == delivery]
        leased = [replace(delivery, requested_at=now, requested_by=asker) for delivery in had]
        for delivery in leased:
            transaction.run(render("control/request_delivery"), asdict(delivery))
        return leased

    render = warehouse.renderer.render
    return in_transaction(warehouse, work) if wanted else []


@dataclass(frozen=True)
class Reading:
    """A file that is about to be staged: as it was when what it holds was registered, and under which number."""

    partition: str
    path: str
    number: int  # 0 where nothing is registered of the partition
    file: DeliveredFile | None  # None when it was written to meanwhile, so that nobody knows what is read


def begin_reading(warehouse: Warehouse, source: str, partition: str, path: str) -> Reading:
    """Register what a partition's file holds at this moment, however young it is: somebody is about to stage it."""
    file = file_of(partition, path)
    found = read_newest(warehouse, source, partition)
    if file is not None and changed_files(FoundFiles((file,), ()), found):
        try:
            digest = digest_of(file)
        except OSError:
            digest = None  # the reader says what is wrong with it
        if digest is not None:
            found = register(warehouse, source, [Content(partition, digest, file.state)], partition=partition)
    newest = found.get(partition)
    known = file is not None and newest is not None and newest.file_state == file.state
    return Reading(partition, path, newest.delivery_number if newest else 0, file if known else None)


def end_reading(warehouse: Warehouse, source: str, reading: Reading, batch_id: str) -> bool:
    """Record that a file was staged; gives whether what was read is what was registered before.

    Where the file was written to meanwhile, what was read is registered as a content of its own, unlike any other, so
    that whatever the file holds at the next look is a new delivery: what it held before, too.
    """
    is_known = reading.file is not None and file_of(reading.partition, reading.path) == reading.file
    number = reading.number
    if not is_known and newest_number(warehouse, source, reading.partition) == number:
        digest = hashlib.sha256(f"written to while it was read: {batch_id}".encode()).hexdigest()
        unlike = [Content(reading.partition, digest)]
        number = register(warehouse, source, unlike, partition=reading.partition)[reading.partition].delivery_number
    if number:
        mark_staged(warehouse, source, reading.partition, number, batch_id)
    return is_known


def newest_number(warehouse: Warehouse, source: str, partition: str) -> int:
    """The number of a partition's newest delivery; 0 when none is known."""
    newest = read_newest(warehouse, source, partition).get(partition)
    return newest.delivery_number if newest else 0


def mark_staged(warehouse: Warehouse, source: str, partition: str, number: int, batch_id: str) -> None:
    """Record that a partition was staged from what its delivery `number`, or a later content, held."""
    values = {
        "source": source,
        "partition_key": partition,
        "delivery_number": number,
        "staged_batch_id": batch_id,
        "staged_at": utc_now(),
    }
    statement = warehouse.renderer.render("control/stage_deliveries")
    in_transaction(warehouse, lambda transaction: transaction.run(statement, values))
