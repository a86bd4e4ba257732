"""Picking up the deliveries of a source: what its sensor and its schedule share.

A delivery is registered in the ledger, leased, and then requested as a run that carries its name in a tag. What this
prevents, in the order in which things go wrong: a run is requested twice, since sensor and schedule both saw the file;
none is requested, since the daemon died between the lease and the run; one is requested again each time it fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import dagster as dg

from xts_pipeline import deliveries
from xts_pipeline.deliveries import Content, KnownDelivery, Looked, Newest
from xts_pipeline.delivery_files import find_files
from xts_pipeline.ledger import utc_now
from xts_pipeline.metadata import OperatedSource
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.resource import VaultResource

DELIVERY_TAG = "xts/delivery"  # on a run: the delivery it was requested for


@dataclass(frozen=True)
class PickedUp:
    """What a tick found: deliveries whose lease it has, partitions that are new, and what it read of the files."""

    leased: tuple[KnownDelivery, ...]
    new_partitions: tuple[str, ...]
    looked: Looked

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
    def left(self) -> str:
        """Why no run is requested, in words."""
        reasons = ["nothing was delivered that is not loaded or requested already"]
        if self.looked.too_young:
            reasons.append(f"written to a moment ago, left for the next look: {_some(self.looked.too_young)}")
        if self.looked.unread:
            reasons.append(f"not read yet: {_some(self.looked.unread)}")
        if self.looked.faults:
            reasons.append(f"cannot be loaded: {_some(self.looked.faults)}")
        return "; ".join(reasons)


def pick_up(
    nodes: SourceNodes,
    operated: OperatedSource,
    vaults: VaultResource,
    instance: dg.DagsterInstance,
    *,
    asker: str,
    patience: float,
    tick: datetime | None = None,
    at_most: int | None = None,
) -> PickedUp:
    """Register what is new, and take the lease of what waits; WarehouseBusyError when the warehouse cannot be had.

    `tick` is that of a schedule, whose partition is registered where no file names one. The file of a DuckDB warehouse
    is not held while deliveries are read.
    """
    with vaults.vault(nodes.catalog, patience) as vault:
        before = deliveries.read_newest(vault.warehouse, nodes.name)
    looked = _look(operated, before, tick)
    if not looked.contents and not deliveries.waiting(before.values(), asker, utc_now()):
        return PickedUp((), (), looked)
    with vaults.vault(nodes.catalog, patience) as vault:
        after = deliveries.register(vault.warehouse, nodes.name, looked.contents)
        wanted = deliveries.waiting(after.values(), asker, utc_now())
        wanted = [each for each in wanted if each.requested_at is None or not _has_run(instance, each)][:at_most]
        leased = deliveries.take_leases(vault.warehouse, nodes.name, wanted, asker, utc_now())
    return PickedUp(tuple(leased), _unknown(nodes, instance, before, after, leased), looked)


def _look(operated: OperatedSource, newest: Newest, tick: datetime | None) -> Looked:
    if operated.is_watchable and operated.delivery is not None:
        found = find_files(operated.source, operated.delivery.path or "")
        return deliveries.look(found, newest, operated.settle)
    contents: list[Content] = []
    if tick is not None and operated.schedule is not None:
        contents.append(deliveries.content_of_tick(operated.schedule.partition_of(tick), tick))
    return Looked(tuple(contents), (), (), ())


def _has_run(instance: dg.DagsterInstance, delivery: KnownDelivery) -> bool:
    """Whether a run was made for a delivery; one that failed counts, and is re-executed by hand."""
    return bool(instance.get_runs(dg.RunsFilter(tags={DELIVERY_TAG: delivery.run_key}), limit=1))


def _unknown(
    nodes: SourceNodes,
    instance: dg.DagsterInstance,
    before: Newest,
    after: Newest,
    leased: Sequence[KnownDelivery],
) -> tuple[str, ...]:
    """The partitions to be registered in Dagster: of what is new or leased, sorted, so that ranges are contiguous."""
    wanted = {delivery.partition_key for delivery in leased}
    wanted |= {partition for partition in after if partition not in before}
    known = set(nodes.batches.get_partition_keys(dynamic_partitions_store=instance)) if wanted else set()
    return tuple(sorted(wanted - known))


def _some(names: Sequence[str], shown: int = 5) -> str:
    return ", ".join(names[:shown]) + (f", and {len(names) - shown} more" if len(names) > shown else "")
