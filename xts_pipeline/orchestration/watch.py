"""What watches over all sources: alerts, heartbeats, and batches that stay open."""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg

from xts_pipeline.checks import spoken
from xts_pipeline.errors import WarehouseBusyError
from xts_pipeline.ledger import Batch, open_batches, utc_now
from xts_pipeline.metadata.monitoring import span_of
from xts_pipeline.orchestration.alerts import alert_sensors, routes_of, tell
from xts_pipeline.orchestration.freshness_sensor import EVERY, PATIENCE, freshness_check, heartbeat_sensor
from xts_pipeline.orchestration.memory import Memory
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.notices import Notice, Watched
from xts_pipeline.orchestration.outbox import deliver
from xts_pipeline.orchestration.resource import VaultResource

if TYPE_CHECKING:
    from xts_pipeline.orchestration.component import XtsSource

OPEN_BATCHES = "open_batches"


def operations_definitions(components: "Iterable[XtsSource]") -> dg.Definitions:
    """The checks and sensors that watch over these sources; none where neither freshness nor alerts are declared."""
    everyone = [
        Watched(SourceNodes(each.catalog.source(each.operated.source), each.catalog), each.operated)
        for each in components
    ]
    timed = [each for each in everyone if each.operated.freshness is not None]
    sensors = [*alert_sensors(everyone), *(heartbeat_sensor(each, everyone) for each in timed)]
    if routes_of(everyone):
        sensors.append(open_batch_sensor(everyone))
    return dg.Definitions(asset_checks=[freshness_check(each) for each in timed], sensors=sensors)


def overdue(batches: Iterable[Batch], everyone: Iterable[Watched], now: datetime) -> list[Notice]:
    """A notice for each batch that is open for longer than its source allows."""
    limits = {each.nodes.name: each.operated.open_batch_limit for each in everyone}
    late = [batch for batch in batches if batch.source in limits and _is_over(batch, limits[batch.source], now)]
    return [
        Notice(
            batch.source,
            OPEN_BATCHES,
            f"staged/{batch.source}",
            "WARN",
            False,
            f"a batch of {batch.source} is open for {spoken(now - batch.started_at)}, and may be for "
            f"{limits[batch.source]}: answers are final only up to it",
            (batch.batch_id,),
            facts={
                "partition": batch.partition_key,
                "batch": batch.batch_id,
                "what to do": "Load the source again, any partition: that finishes it from its staged rows. If the run "
                f"still works, wait; if nothing of it was written, `xts abandon {batch.batch_id}` gives it up",
            },
            run_id=batch.root_run,
        )
        for batch in late
    ]


def _is_over(batch: Batch, limit: str, now: datetime) -> bool:
    return now - batch.started_at > span_of(limit)


def open_batch_sensor(everyone: Sequence[Watched]) -> dg.SensorDefinition:
    """The sensor that tells of batches that stay open, and sends what waits for a route that had failed."""
    catalog = everyone[0].nodes.catalog

    @dg.sensor(
        name="open_batches",
        description="Tells of batches that stay open for longer than their source allows; sends messages that wait.",
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def look(context: dg.SensorEvaluationContext, vaults: VaultResource) -> dg.SkipReason:
        try:
            with vaults.vault(catalog, PATIENCE) as vault:
                opened = open_batches(vault.warehouse)
        except WarehouseBusyError:
            deliver(Memory(context.instance), [], context.log, routes_of(everyone))
            return dg.SkipReason("unknown: the warehouse is held by a load")
        notices = overdue(opened, everyone, utc_now())
        sent = tell(context.instance, everyone, notices, context.log)
        sent += deliver(Memory(context.instance), [], context.log, routes_of(everyone))
        return dg.SkipReason(f"{len(opened)} open, {len(notices)} for too long, {sent} messages sent")

    return look
