"""Picking up the deliveries of a source: what its sensor and its schedule share.

A delivery is registered in the ledger, leased, and then requested as a run that carries its name in a tag. What this
prevents, in the order in which things go wrong: a run is requested twice, since sensor and schedule both saw the file;
none is requested, since the daemon died between the lease and the run; one is requested again each time it fails; one
that failed is forgotten. A preview is told what a tick would ask for, and nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import dagster as dg

from xts_pipeline import deliveries
from xts_pipeline.deliveries import READING_FOR, Content, KnownDelivery, Looked, Newest
from xts_pipeline.delivery_files import FoundFiles, find_files
from xts_pipeline.ledger import utc_now
from xts_pipeline.metadata import OperatedSource
from xts_pipeline.orchestration.delivery_runs import DELIVERY_TAG, Standing, standings
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.vault import Vault

WAIT = 10.0  # seconds for which a tick of a schedule waits for files to settle: it may last 60


@dataclass(frozen=True)
class Asker:
    """Who picks up: the sensor, or one tick of the schedule."""

    name: str  # whose lease it is; who asks again under the same name finds what it leased before
    patience: float  # seconds for which it waits for the warehouse
    tick: datetime | None = None  # of a schedule, whose partition is registered where no file names one
    at_most: int | None = None  # deliveries it asks for
    is_preview: bool = False  # nothing comes of what it asks for
    comes_back: bool = False  # it asks again in a minute, should it ask for nothing now


@dataclass(frozen=True)
class PickedUp:
    """What a tick found: deliveries whose lease it has, partitions that are new, and what it read of the files."""

    leased: tuple[KnownDelivery, ...]
    new_partitions: tuple[str, ...]
    looked: Looked
    not_loaded: tuple[str, ...] = ()  # partitions whose run is over and did not load them
    never_run: tuple[str, ...] = ()  # partitions of earlier ticks for which no run was made
    is_postponed: bool = False  # nothing was leased, since files are still arriving and the tick comes back

    @property
    def requests(self) -> list[dg.RunRequest]:
        """A run for each, oldest first."""
        return [
            dg.RunRequest(
                run_key=delivery.run_key,
                partition_key=delivery.partition_key,
                tags={DELIVERY_TAG: delivery.run_key},
            )
            for delivery in self.leased
        ]

    @property
    def remarks(self) -> list[str]:
        """What is left, and what to do about it: a sentence for each kind."""
        found = [
            ("written to a moment ago, left for the next look: {}", self.looked.too_young),
            ("not read yet: {}", self.looked.unread),
            ("cannot be loaded: {}", self.looked.faults),
            (
                "not loaded, though a run was made: {}; mend the cause, then re-execute the run from failure, or "
                "deliver the file again (`touch` is enough)",
                self.not_loaded,
            ),
            (
                "no run was made at their time, and the answer of today is not theirs: {}; load these partitions by "
                "hand if the source can tell the past",
                self.never_run,
            ),
        ]
        return [sentence.format(_some(names)) for sentence, names in found if names]

    @property
    def left(self) -> str:
        """Why no run is requested, in words."""
        return "; ".join(["nothing was delivered that is not loaded or requested already", *self.remarks])


def pick_up(
    nodes: SourceNodes, operated: OperatedSource, vaults: VaultResource, instance: dg.DagsterInstance, asker: Asker
) -> PickedUp:
    """Register what is new, and take the lease of what waits; WarehouseBusyError when the warehouse cannot be had.

    The file of a DuckDB warehouse is not held while deliveries are read. A preview takes no lease and registers
    nothing.
    """
    with vaults.vault(nodes.catalog, asker.patience) as vault:
        before = deliveries.read_newest(vault.warehouse, nodes.name)
    looked = _look(operated, before, asker)
    contents, again = _delivered(looked.contents, before, _standings(instance, before))
    if asker.is_preview:
        new = deliveries.new_deliveries(nodes.name, contents, before, utc_now(), again)
        after = {**before, **{delivery.partition_key: delivery for delivery in new}}
        leased = _wanted(operated, instance, after, asker)
    elif contents or deliveries.waiting(before.values(), asker.name, utc_now()):
        with vaults.vault(nodes.catalog, asker.patience) as vault:
            after = deliveries.register(vault.warehouse, nodes.name, contents, again)
            leased = [] if _is_postponed(looked, asker) else _lease(vault, nodes, operated, instance, after, asker)
    else:
        after, leased = before, []
    return PickedUp(
        leased=tuple(leased),
        new_partitions=_unknown(nodes, instance, after),
        looked=looked,
        is_postponed=_is_postponed(looked, asker),
        **_left_behind(operated, instance, after, leased),
    )


def _look(operated: OperatedSource, newest: Newest, asker: Asker) -> Looked:
    if operated.is_watchable and operated.delivery is not None:
        path, begun = operated.delivery.path or "", time.monotonic()
        looked = deliveries.look(find_files(operated.source, path), newest, operated.settle)
        if asker.tick is None or asker.is_preview or not looked.too_young or operated.settle > WAIT:
            return looked
        time.sleep(operated.settle)  # the next tick may be a day away
        young = [file for file in find_files(operated.source, path).files if file.partition in looked.too_young]
        reading_for = max(0.0, READING_FOR + operated.settle - (time.monotonic() - begun))
        more = deliveries.look(FoundFiles(tuple(young), ()), newest, operated.settle, reading_for=reading_for)
        return Looked(
            (*looked.contents, *more.contents),
            more.too_young,
            (*looked.unread, *more.unread),
            (*looked.faults, *more.faults),
        )
    contents: list[Content] = []
    if asker.tick is not None and operated.schedule is not None:
        contents.append(deliveries.content_of_tick(operated.schedule.partition_of(asker.tick), asker.tick))
    return Looked(tuple(contents), (), (), ())


def _is_postponed(looked: Looked, asker: Asker) -> bool:
    return asker.comes_back and bool(looked.too_young or looked.unread)


def _standings(instance: dg.DagsterInstance, newest: Newest) -> dict[KnownDelivery, Standing]:
    return standings(instance, (each for each in newest.values() if each.was_taken_up and not each.is_loaded))


def _delivered(
    contents: Sequence[Content], newest: Newest, standing: dict[KnownDelivery, Standing]
) -> tuple[list[Content], set[KnownDelivery]]:
    """The contents to be registered, and the deliveries among them that failed to load and were delivered once more.

    A file that is written anew with what it held while its run is at work is left for the next look: whether it was
    read before or after is known when that run is over.
    """
    touched = {known.partition_key: newest[known.partition_key] for known in deliveries.recognised(contents, newest)}
    at_work = {name for name, known in touched.items() if standing.get(known) is Standing.AT_WORK}
    again = {
        known
        for known in touched.values()
        if standing.get(known) is Standing.OVER
        or (standing.get(known) is Standing.NO_RUN and known.staged_at is not None)  # staged by hand, and never loaded
    }
    return [content for content in contents if content.partition not in at_work], again


def _wanted(
    operated: OperatedSource, instance: dg.DagsterInstance, newest: Newest, asker: Asker
) -> list[KnownDelivery]:
    """The deliveries to ask for. Where no file tells them apart, a tick asks for its own alone.

    One that has a run is left alone, one that failed too: it is re-executed by hand, or delivered again.
    """
    waiting = deliveries.waiting(newest.values(), asker.name, utc_now())
    if not operated.is_watchable and asker.tick is not None and operated.schedule is not None:
        own = operated.schedule.partition_of(asker.tick)
        waiting = [delivery for delivery in waiting if delivery.partition_key == own]
    standing = standings(instance, (delivery for delivery in waiting if delivery.was_taken_up))
    wanted = [each for each in waiting if standing.get(each, Standing.NO_RUN) is Standing.NO_RUN]
    return wanted[: asker.at_most]


def _lease(
    vault: Vault,
    nodes: SourceNodes,
    operated: OperatedSource,
    instance: dg.DagsterInstance,
    newest: Newest,
    asker: Asker,
) -> list[KnownDelivery]:
    wanted = _wanted(operated, instance, newest, asker)
    return deliveries.take_leases(vault.warehouse, nodes.name, wanted, asker.name, utc_now())


def _left_behind(
    operated: OperatedSource, instance: dg.DagsterInstance, newest: Newest, leased: Iterable[KnownDelivery]
) -> dict[str, tuple[str, ...]]:
    """The partitions whose run is over without having loaded them, and those that no run will be made for."""
    asked = {delivery.partition_key for delivery in leased}
    standing = {
        each: how
        for each, how in _standings(instance, newest).items()
        if each.partition_key not in asked and each.batch_status != "abandoned"
    }
    over = [each.partition_key for each, how in standing.items() if how is Standing.OVER]
    none = [each.partition_key for each, how in standing.items() if how is Standing.NO_RUN and each.staged_at is None]
    return {"not_loaded": tuple(sorted(over)), "never_run": () if operated.is_watchable else tuple(sorted(none))}


def _unknown(nodes: SourceNodes, instance: dg.DagsterInstance, newest: Newest) -> tuple[str, ...]:
    """The partitions that Dagster does not know, sorted, so that ranges are contiguous.

    All of them, and not only the new: Dagster's home may have been lost, and the warehouse kept.
    """
    known = instance.get_dynamic_partitions(str(nodes.batches.name))
    return tuple(sorted(newest.keys() - set(known)))


def _some(names: Sequence[str], shown: int = 5) -> str:
    return ", ".join(names[:shown]) + (f", and {len(names) - shown} more" if len(names) > shown else "")
