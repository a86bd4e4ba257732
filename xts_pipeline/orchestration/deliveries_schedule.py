"""The schedule of a source: at its time, a run for each delivery that waits, oldest first."""

# No postponed annotations here: Dagster reads the type of `context` and of resources from the function itself.

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import dagster as dg

from xts_pipeline.errors import DeclarationError, WarehouseBusyError
from xts_pipeline.ledger import utc_now
from xts_pipeline.metadata import OperatedSource
from xts_pipeline.metadata.schedule import Schedule
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.pick_up import Asker, PickedUp, pick_up
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.orchestration.ticks import comes_back, is_preview

Pick = Callable[..., list[dg.RunRequest] | dg.SkipReason]
PATIENCE = 10.0  # seconds for which a tick waits for the warehouse, twice at most; a tick may last 60
POSTPONED = 10  # times a tick is put off by a minute for files that are still arriving; then it takes what is there
SKEW = timedelta(minutes=1)  # by which the daemon's clock may be ahead of this one


def deliveries_schedule(nodes: SourceNodes, operated: OperatedSource, declared: Schedule) -> dg.ScheduleDefinition:
    """The schedule `schedule_<source>`, running by default; DeclarationError when Dagster does not take its cron."""
    name = f"schedule_{nodes.name}"

    def pick(context: dg.ScheduleEvaluationContext, vaults: VaultResource) -> list[dg.RunRequest] | dg.SkipReason:
        tick = context.scheduled_execution_time
        if _is_to_come(tick):
            return dg.SkipReason(f"the tick of {tick.isoformat()} is still to come: nothing is asked for before it")
        asker = Asker(
            name=f"{name} {tick.isoformat()}",  # a tick that is tried again finds what it leased before
            patience=PATIENCE,
            tick=tick,
            is_preview=is_preview(context),
            comes_back=comes_back(context, POSTPONED),
        )
        try:
            picked = pick_up(nodes, operated, vaults, context.instance, asker)
        except WarehouseBusyError as busy:
            raise dg.Failure(
                f"deliveries could not be picked up; the tick is tried again as often as max_tick_retries says: {busy}"
            ) from busy
        return _preview(picked) if asker.is_preview else _result(context, nodes, picked)

    return _scheduled(name, nodes, declared, pick)


def _is_to_come(tick: datetime) -> bool:
    return tick.astimezone(UTC).replace(tzinfo=None) > utc_now() + SKEW


def _preview(picked: PickedUp) -> list[dg.RunRequest] | dg.SkipReason:
    """What a tick would ask for: in words where partitions are new, since Dagster shows no run of an unknown one."""
    if not picked.leased or not picked.new_partitions:
        return picked.requests or dg.SkipReason(picked.left)
    runs = ", ".join(delivery.partition_key for delivery in picked.leased)
    return dg.SkipReason("; ".join([f"a preview, which changes nothing: a tick would load {runs}", *picked.remarks]))


def _result(
    context: dg.ScheduleEvaluationContext, nodes: SourceNodes, picked: PickedUp
) -> list[dg.RunRequest] | dg.SkipReason:
    for fault in picked.looked.faults:
        context.log.warning(fault)
    if picked.new_partitions:
        context.instance.add_dynamic_partitions(str(nodes.batches.name), list(picked.new_partitions))
    if picked.is_postponed:
        remarks = "; ".join(picked.remarks)
        raise dg.Failure(f"files are still arriving, and this tick is tried again within a minute: {remarks}")
    if picked.leased and picked.remarks:  # else they are the reason why the tick is skipped
        context.log.warning("; ".join(picked.remarks))
    return picked.requests or dg.SkipReason(picked.left)


def _scheduled(name: str, nodes: SourceNodes, declared: Schedule, pick: Pick) -> dg.ScheduleDefinition:
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
