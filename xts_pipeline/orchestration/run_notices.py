"""What a finished run has to tell: what its checks found, whether it failed, and which deliveries are loaded now.

A failure is one of a delivery: told for its partition, and over when that partition is loaded, by whichever run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg
from dagster._core.storage.tags import WILL_RETRY_TAG

from xts_pipeline.orchestration.cycle_ops import FINISHED_PARTITIONS
from xts_pipeline.orchestration.delivery_runs import DELIVERY_TAG
from xts_pipeline.orchestration.notices import FRESHNESS, RUN_FAILURE, Notice, Watched, notice_of
from xts_pipeline.orchestration.run_batches import partitions_of_run, root_run

ERROR_SHOWN = 600  # characters
PAGE = 1000  # materializations read at once


def notices_of_run(instance: dg.DagsterInstance, run: dg.DagsterRun, watched: Sequence[Watched]) -> list[Notice]:
    """What a finished run has to tell: its evaluations, and what failed or is loaded again.

    A failed run that will be retried by itself does not count as failed.
    """
    notices = _of_evaluations(instance, run, watched)
    for each in watched:
        if _loads(run, each):
            partitions = _partitions(instance, run, each)
            if not run.is_success and run.tags.get(WILL_RETRY_TAG) != "true":
                notices += _failed(instance, run, each, partitions)
            loaded = _loaded_by(instance, run, each, partitions)
            notices += [_loaded(run, each, partition, _ended(instance, run)) for partition in loaded]
    return notices


def _of_evaluations(instance: dg.DagsterInstance, run: dg.DagsterRun, watched: Sequence[Watched]) -> list[Notice]:
    """The last evaluation of each check. Freshness is not among them: it goes by the clock and not by the run, and its
    sensor tells what holds now, where a run that is looked at later tells what has passed.
    """
    owner = {key: each.nodes.name for each in watched for key in each.keys}
    newest: dict[dg.AssetCheckKey, Notice] = {}
    for entry in instance.all_logs(run.run_id, of_type={dg.DagsterEventType.ASSET_CHECK_EVALUATION}):
        if entry.dagster_event is None:
            continue
        made = entry.dagster_event.asset_check_evaluation_data
        if made.asset_key in owner and made.check_name != FRESHNESS:
            newest[made.asset_check_key] = notice_of(owner[made.asset_key], made, run.run_id, entry.timestamp)
    return [*newest.values()]


def _loads(run: dg.DagsterRun, watched: Watched) -> bool:
    """Whether a run was to make assets of a source."""
    if run.asset_selection:
        return not watched.keys.isdisjoint(run.asset_selection)
    return run.job_name == watched.nodes.job_name and not run.asset_check_selection


def _partitions(instance: dg.DagsterInstance, run: dg.DagsterRun, watched: Watched) -> list[str]:
    registered = watched.nodes.batches.get_partition_keys(dynamic_partitions_store=instance)
    try:
        return partitions_of_run(run.tags, registered)
    except ValueError:  # an end of its range was deleted since
        return []


def _failed(
    instance: dg.DagsterInstance, run: dg.DagsterRun, watched: Watched, partitions: Sequence[str]
) -> list[Notice]:
    """The notice of a failed run; none where everything it was to load was loaded since."""
    ended, nodes = _ended(instance, run), watched.nodes
    since = _materialized(instance, watched, partitions, ended)
    left = tuple(partition for partition in partitions if partition not in since)
    if partitions and not left:
        return []
    events = instance.all_logs(run.run_id, of_type={dg.DagsterEventType.STEP_FAILURE})
    failed = [entry.dagster_event for entry in events if entry.dagster_event is not None]
    steps = ", ".join(str(event.step_key) for event in failed)
    errors = [event.step_failure_data.error for event in failed]
    causes = [(error.cause or error) for error in errors if error is not None]
    classes = ", ".join(dict.fromkeys(str(cause.cls_name) for cause in causes))
    return [
        Notice(
            nodes.name,
            RUN_FAILURE,
            nodes.job_name,
            "ERROR",
            False,
            f"the run of source {nodes.name} failed{' in ' + steps if steps else ''}",
            facts={
                "partition": ", ".join(left),
                "error": classes,
                "what to do": "Nothing is lost: staged rows are finished by the next run of the source. Read the error "
                "in the run, mend what it names, and re-execute; the same failure is not told again until the "
                "partition is loaded",
            },
            details="\n".join(cause.message.strip()[:ERROR_SHOWN] for cause in causes),
            run_id=run.run_id,
            partitions=left,
            kinds=(f"{run.tags.get(DELIVERY_TAG, '')} {steps} {classes}",),
            at=ended,
        )
    ]


def _loaded(run: dg.DagsterRun, watched: Watched, partition: str, ended: float) -> Notice:
    nodes = watched.nodes
    return Notice(
        nodes.name,
        RUN_FAILURE,
        nodes.job_name,
        "ERROR",
        True,
        f"partition {partition} of source {nodes.name} is loaded",
        run_id=run.run_id,
        partitions=(partition,),
        at=ended,
    )


def _loaded_by(
    instance: dg.DagsterInstance, run: dg.DagsterRun, watched: Watched, partitions: Sequence[str]
) -> list[str]:
    """The partitions that are loaded now: of a run that succeeded, its own; of any, those it finished for others."""
    root = instance.get_run_record_by_id(root_run(run)) or instance.get_run_record_by_id(run.run_id)
    began = root.create_timestamp.timestamp() if root else 0.0
    own = _materialized(instance, watched, partitions, began) if run.is_success else set()
    finished: list[str] = []
    for entry in instance.all_logs(run.run_id, of_type={dg.DagsterEventType.ASSET_MATERIALIZATION}):
        made = entry.asset_materialization
        if made is not None and made.asset_key == watched.nodes.switch and FINISHED_PARTITIONS in made.metadata:
            finished += _strings(made.metadata[FINISHED_PARTITIONS].value)
    return [*(partition for partition in partitions if partition in own), *dict.fromkeys(finished)]


def _strings(values: object) -> Iterable[str]:
    return [str(value) for value in values] if isinstance(values, Iterable) else []


def _materialized(instance: dg.DagsterInstance, watched: Watched, partitions: Sequence[str], after: float) -> set[str]:
    """Those of some partitions that were loaded to the end after a time: the cycle makes its hubs last."""
    if not partitions:
        return set()
    last = watched.nodes.of_table(next(iter(watched.nodes.hubs)))
    wanted = dg.AssetRecordsFilter(last, asset_partitions=list(partitions), after_timestamp=after)
    found: set[str] = set()
    cursor: str | None = None
    while True:
        page = instance.fetch_materializations(wanted, limit=PAGE, cursor=cursor)
        found |= {str(record.partition_key) for record in page.records}
        if not page.has_more:
            return found
        cursor = page.cursor


def _ended(instance: dg.DagsterInstance, run: dg.DagsterRun) -> float:
    record = instance.get_run_record_by_id(run.run_id)
    return 0.0 if record is None else record.end_time or record.update_timestamp.timestamp()
