"""The schedule of a source: at its time, a run for each delivery that waits, oldest first."""

# No postponed annotations here: Dagster reads the type of `context` and of resources from the function itself.

import dagster as dg

from xts_pipeline.errors import DeclarationError, WarehouseBusyError
from xts_pipeline.metadata import OperatedSource
from xts_pipeline.metadata.schedule import Schedule
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.pick_up import pick_up
from xts_pipeline.orchestration.resource import VaultResource

PATIENCE = 15.0  # seconds for which a tick waits for the warehouse, twice at most; a tick may last 60


def deliveries_schedule(nodes: SourceNodes, operated: OperatedSource, declared: Schedule) -> dg.ScheduleDefinition:
    """The schedule `schedule_<source>`, running by default; DeclarationError when Dagster does not take its cron."""
    name = f"schedule_{nodes.name}"

    def pick(context: dg.ScheduleEvaluationContext, vaults: VaultResource) -> list[dg.RunRequest] | dg.SkipReason:
        tick = context.scheduled_execution_time
        try:
            picked = pick_up(
                nodes,
                operated,
                vaults,
                context.instance,
                asker=f"{name} {tick.isoformat()}",  # a tick that is tried again finds what it leased before
                patience=PATIENCE,
                tick=tick,
            )
        except WarehouseBusyError as busy:
            raise dg.Failure(
                f"deliveries could not be picked up; the tick is tried again as often as max_tick_retries says: {busy}"
            ) from busy
        for fault in (*picked.looked.faults, *(f"{each}: not read in time" for each in picked.looked.unread)):
            context.log.warning(fault)
        if picked.new_partitions:
            context.instance.add_dynamic_partitions(str(nodes.batches.name), list(picked.new_partitions))
        return picked.requests or dg.SkipReason(picked.left)

    try:
        return dg.schedule(
            name=name,
            job_name=nodes.job_name,
            cron_schedule=declared.cron,
            execution_timezone=declared.timezone,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Registers what was delivered since the last tick, and requests a run each, oldest first.",
        )(pick)
    except dg.DagsterInvalidDefinitionError as error:
        raise DeclarationError(f"source {nodes.name} is not declared right:\n  schedule.cron: {error}") from error
