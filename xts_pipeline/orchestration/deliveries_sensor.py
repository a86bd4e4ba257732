"""The file sensor of a source: a run for each new or changed file."""

# No postponed annotations here: Dagster reads the type of `context` and of resources from the function itself.

import dagster as dg

from xts_pipeline.errors import WarehouseBusyError
from xts_pipeline.metadata import OperatedSource
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.pick_up import Asker, PickedUp, pick_up
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.orchestration.ticks import is_preview

EVERY = 30  # seconds
PATIENCE = 3.0  # seconds for which a tick waits for the warehouse; the next one is not far
RUNS_A_TICK = 100  # the daemon makes them one by one; what is left is requested at the next tick


def deliveries_sensor(nodes: SourceNodes, operated: OperatedSource) -> dg.SensorDefinition:
    """The sensor `deliveries_<source>`; it runs by default when the source says `watch: true`."""
    name = f"deliveries_{nodes.name}"

    @dg.sensor(
        name=name,
        job_name=nodes.job_name,
        minimum_interval_seconds=EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING if operated.watch else dg.DefaultSensorStatus.STOPPED,
        description="Looks for new and changed files, by content; registers their partitions and requests a run each.",
    )
    def watch(context: dg.SensorEvaluationContext, vaults: VaultResource) -> dg.SensorResult:
        try:
            asker = Asker(name, PATIENCE, at_most=RUNS_A_TICK, is_preview=is_preview(context))
            picked = pick_up(nodes, operated, vaults, context.instance, asker)
        except WarehouseBusyError as busy:
            return dg.SensorResult(skip_reason=f"not looked at, the next tick tries again: {busy}")
        for fault in picked.looked.faults:
            context.log.warning(fault)
        if picked.leased and picked.not_loaded:  # else it is the reason why the tick is skipped
            context.log.warning("; ".join(picked.remarks))
        return _result(nodes, picked)

    return watch


def _result(nodes: SourceNodes, picked: PickedUp) -> dg.SensorResult:
    requests = picked.requests
    added = [nodes.batches.build_add_request(list(picked.new_partitions))] if picked.new_partitions else []
    return dg.SensorResult(
        run_requests=requests or None,
        skip_reason=None if requests else picked.left,
        dynamic_partitions_requests=added,
    )
