"""Who is told of what: the decision, the words, and the two sensors that read what the checks of a run found.

In open-source Dagster a failing check that does not block leaves its run a success, so that a failure sensor alone is
silent. Two sensors, one on success and one on failure, see every evaluation that was made in a run.

What came with a batch (a sequence violation) is news about that batch, and told once for it, however often the check is
asked. All else is a state: told when it begins and when it ends. A check of one batch that passes ends no state, since
it speaks of that batch's keys alone.
"""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from dagster._core.storage.tags import WILL_RETRY_TAG

from xts_pipeline.metadata import OperatedSource
from xts_pipeline.metadata.monitoring import Alert
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.notify import ONE_AT_A_TIME, Memory, Message, deliver

URL_VARIABLE = "XTS_DAGSTER_URL"
WORST_KEYS = 3
ERROR_SHOWN = 600  # characters
RUN_FAILURE = "run_failure"
OF_BATCHES = {"sequence_violations", "late_rows", "rejected_rows", "open_batches"}
OF_EVERYTHING = {"freshness", "ghost_present", RUN_FAILURE}  # whatever they are asked about
FAILING, PASSING = "failing", "passing"


@dataclass(frozen=True)
class Watched:
    """A source, and who is told what of it."""

    nodes: SourceNodes
    operated: OperatedSource

    @property
    def keys(self) -> set[dg.AssetKey]:
        """The assets that are this source's own."""
        return {self.nodes.staged, *self.nodes.outputs.values()}


@dataclass(frozen=True)
class Notice:
    """One thing that may have to be told."""

    source: str
    check: str
    subject: str  # the asset or job it is about
    severity: str
    passed: bool
    summary: str
    batches: tuple[str, ...] = ()  # each is told once; none: a state, told when it changes
    ends_state: bool = True  # whether passing speaks of everything
    facts: Mapping[str, str] = field(default_factory=dict)  # in words, in their order
    keys: Sequence[Mapping[str, object]] = ()  # the worst first
    details: str = ""  # what names business keys or values
    run_id: str | None = None


def notice_of(source: str, evaluation: dg.AssetCheckEvaluation, run_id: str | None = None) -> Notice:
    """What an evaluation has to tell."""
    metadata: dict[str, Any] = {name: value.value for name, value in evaluation.metadata.items()}
    rows = [dict(record.data) for record in getattr(metadata.get("xts/rows"), "records", ())]
    facts = {
        "partition": metadata.get("xts/partitions"),
        "batch": ", ".join(metadata.get("xts/batches") or ()),
        "found": metadata.get("xts/found"),
        "keys": metadata.get("xts/keys"),
        "late by": metadata.get("xts/late_by"),
        "what to do": metadata.get("xts/advice"),
    }
    batches = tuple(dict.fromkeys(str(row["dv_batch_id"]) for row in rows if row.get("dv_batch_id")))
    return Notice(
        source,
        evaluation.check_name,
        evaluation.asset_key.to_user_string(),
        evaluation.severity.value,
        evaluation.passed,
        evaluation.description or "",
        batches or tuple(metadata.get("xts/batches") or ()) if evaluation.check_name in OF_BATCHES else (),
        metadata.get("xts/partitions") == "all" or evaluation.check_name in OF_EVERYTHING,
        {name: str(value) for name, value in facts.items() if value},
        rows[:WORST_KEYS] if rows and "dv_hashkey" in rows[0] else (),
        run_id=run_id,
    )


def message_of(notice: Notice, alert: Alert) -> Message:
    """The words: which source, satellite and batch, how many keys, how late, the worst keys, and where to look."""
    word = "resolved" if notice.passed else notice.severity
    lines = [notice.summary, f"source: {notice.source}", f"on: {notice.subject}"]
    if not notice.passed:
        lines += [f"{name}: {value}" for name, value in notice.facts.items()]
        lines += [f"worst key: {_named(row, alert.keys)}" for row in notice.keys]
        if notice.details and alert.keys == "clear":
            lines.append(notice.details)
    lines.append(_link(notice))
    return Message(f"[{word}] {notice.source}: {notice.check} on {notice.subject}", "\n".join(lines))


def _named(row: Mapping[str, object], how: str) -> str:
    business = ", ".join(f"{name}={value}" for name, value in row.items() if not name.startswith("dv_"))
    name = business if how == "clear" and business else str(row["dv_hashkey"])
    return f"{name}, late by {row['dv_late_by']}" if row.get("dv_late_by") else name


def _link(notice: Notice) -> str:
    base = os.environ.get(URL_VARIABLE, "").rstrip("/")
    if notice.run_id is None:
        return f"{base}/assets/{notice.subject}?view=checks" if base else f"see the checks of asset {notice.subject}"
    return f"{base}/runs/{notice.run_id}" if base else f"run: {notice.run_id} (set {URL_VARIABLE} for a link)"


def news(memory: Memory, notice: Notice, route: str) -> dict[str, str]:
    """What a notice changes of what was told on a route; nothing when there is no news in it."""
    about = f"{notice.source}/{notice.check}/{notice.subject}/{route}"
    if notice.check in OF_BATCHES:
        keys = [f"xts/told/{about}/{batch}" for batch in notice.batches if not notice.passed]
        return {key: notice.run_id or FAILING for key in keys if memory.get(key) is None}
    key = f"xts/state/{about}"
    failing = memory.get(key) == FAILING
    if notice.passed:
        return {key: PASSING} if failing and notice.ends_state else {}
    return {} if failing else {key: FAILING}


def tell(
    instance: dg.DagsterInstance, watched: Iterable[Watched], notices: Iterable[Notice], log: logging.Logger
) -> int:
    """Send what is news on every route that wants it; how many messages went out. RouteError when a route failed.

    What could not be sent waits in the route's outbox, and counts as told.
    """
    memory = Memory(instance)
    alerts = {each.nodes.name: each.operated.alerts for each in watched}
    messages: list[tuple[str, Message]] = []
    told: dict[str, str] = {}
    with ONE_AT_A_TIME:
        for notice in notices:
            wanting = [alert for alert in alerts[notice.source] if alert.wants(notice.check, notice.severity)]
            for route, alert in {alert.route: alert for alert in reversed(wanting)}.items():
                if changes := news(memory, notice, route):
                    messages.append((route, message_of(notice, alert)))
                    told |= changes
        try:
            return deliver(memory, messages, log)
        finally:
            for key, value in told.items():
                memory.set(key, value)


def routes_of(watched: Iterable[Watched]) -> list[str]:
    """Every route that an alert names."""
    return list(dict.fromkeys(alert.route for each in watched for alert in each.operated.alerts))


def notices_of_run(instance: dg.DagsterInstance, run: dg.DagsterRun, watched: Sequence[Watched]) -> list[Notice]:
    """What a finished run has to tell: its evaluations, and whether it failed or the source runs again.

    A failed run that will be retried by itself does not count as failed.
    """
    owner = {key: each.nodes.name for each in watched for key in each.keys}
    events = instance.all_logs(
        run.run_id, of_type={dg.DagsterEventType.ASSET_CHECK_EVALUATION, dg.DagsterEventType.STEP_FAILURE}
    )
    found = [entry.dagster_event for entry in events if entry.dagster_event is not None]
    evaluations = [
        event.asset_check_evaluation_data
        for event in found
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    notices = [notice_of(owner[each.asset_key], each, run.run_id) for each in evaluations if each.asset_key in owner]
    failed = [event for event in found if event.event_type == dg.DagsterEventType.STEP_FAILURE]
    for each in watched:
        if _loads(run, each) and run.tags.get(WILL_RETRY_TAG) != "true":
            notices.append(_run_notice(run, each, failed))
    return notices


def _loads(run: dg.DagsterRun, watched: Watched) -> bool:
    """Whether a run was to make assets of a source."""
    if run.asset_selection:
        return not watched.keys.isdisjoint(run.asset_selection)
    return run.job_name == watched.nodes.job_name and not run.asset_check_selection


def _run_notice(run: dg.DagsterRun, watched: Watched, failed: Sequence[dg.DagsterEvent]) -> Notice:
    name = watched.nodes.name
    if run.is_success:
        summary = f"source {name} loads again"
    else:
        steps = ", ".join(str(event.step_key) for event in failed)
        summary = f"the run of source {name} failed{' in ' + steps if steps else ''}"
    errors = [event.step_failure_data.error for event in failed]
    causes = [(error.cause or error) for error in errors if error is not None]
    return Notice(
        name,
        RUN_FAILURE,
        watched.nodes.job_name,
        "ERROR",
        run.is_success,
        summary,
        facts={
            "partition": run.tags.get("dagster/partition", ""),
            "error": ", ".join(dict.fromkeys(str(cause.cls_name) for cause in causes)),
            "what to do": "Nothing is lost: staged rows are finished by the next run of the source. Read the error in "
            "the run, mend what it names, and re-execute; further failures are not told until a run succeeds",
        },
        details="\n".join(cause.message.strip()[:ERROR_SHOWN] for cause in causes),
        run_id=run.run_id,
    )


def alert_sensors(watched: Sequence[Watched]) -> list[dg.SensorDefinition]:
    """The two sensors that read finished runs; none when no source declares an alert."""
    if not routes_of(watched):
        return []

    def tell_of(context: dg.RunStatusSensorContext) -> None:
        tell(context.instance, watched, notices_of_run(context.instance, context.dagster_run, watched), context.log)

    @dg.run_status_sensor(
        name="alerts_on_success",
        run_status=dg.DagsterRunStatus.SUCCESS,
        description="Tells what the checks of a finished run found: a failing check does not fail its run.",
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def on_success(context: dg.RunStatusSensorContext) -> None:
        tell_of(context)

    @dg.run_status_sensor(
        name="alerts_on_failure",
        run_status=dg.DagsterRunStatus.FAILURE,
        description="Tells of a failed run, and what its checks had found.",
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def on_failure(context: dg.RunStatusSensorContext) -> None:
        tell_of(context)

    return [on_success, on_failure]
