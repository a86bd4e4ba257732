"""Who is told of what: the words, the routes, and the two sensors that read what the checks of a run found.

In open-source Dagster a failing check that does not block leaves its run a success, so that a failure sensor alone is
silent. Two sensors, one on success and one on failure, see every evaluation that was made in a run.
"""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

import logging
import os
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg

from xts_pipeline.metadata.monitoring import Alert
from xts_pipeline.orchestration.memory import Draft, Memory
from xts_pipeline.orchestration.news import news, repeated
from xts_pipeline.orchestration.notices import Notice, Watched
from xts_pipeline.orchestration.notify import ONE_AT_A_TIME, Message
from xts_pipeline.orchestration.outbox import deliver
from xts_pipeline.orchestration.run_notices import notices_of_run

URL_VARIABLE = "XTS_DAGSTER_URL"
KINDS = {"resolved": "success", "WARN": "warning", "ERROR": "failure"}


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
    title = f"[{word}] {notice.source}: {notice.check} on {notice.subject}"
    return Message(title, "\n".join(lines), KINDS.get(word, "info"))


def _named(row: Mapping[str, object], how: str) -> str:
    business = ", ".join(f"{name}={value}" for name, value in row.items() if not name.startswith("dv_"))
    name = business if how == "clear" and business else str(row["dv_hashkey"])
    return f"{name}, late by {row['dv_late_by']}" if row.get("dv_late_by") else name


def _link(notice: Notice) -> str:
    base = os.environ.get(URL_VARIABLE, "").rstrip("/")
    if notice.run_id is None:
        return f"{base}/assets/{notice.subject}?view=checks" if base else f"see the checks of asset {notice.subject}"
    return f"{base}/runs/{notice.run_id}" if base else f"run: {notice.run_id} (set {URL_VARIABLE} for a link)"


def tell(
    instance: dg.DagsterInstance, watched: Iterable[Watched], notices: Iterable[Notice], log: logging.Logger
) -> int:
    """Send what is news on every route that wants it; how many messages went out. RouteError when a route failed.

    What could not be sent waits in the route's outbox, and counts as told.
    """
    memory = Memory(instance)
    alerts = {each.nodes.name: each.operated.alerts for each in watched}
    messages: list[tuple[str, Message]] = []
    with ONE_AT_A_TIME:
        draft = Draft(memory)
        for notice in notices:
            wanting = [alert for alert in alerts[notice.source] if alert.wants(notice.check, notice.severity)]
            for route, alert in {alert.route: alert for alert in reversed(wanting)}.items():
                draft.changes.update(repeated(draft, notice, route))
                if changes := news(draft, notice, route):
                    messages.append((route, message_of(notice, alert)))
                    draft.changes.update(changes)
        try:
            return deliver(memory, messages, log)
        finally:
            for key, value in draft.changes.items():
                memory.set(key, value)


def routes_of(watched: Iterable[Watched]) -> list[str]:
    """Every route that an alert names."""
    return list(dict.fromkeys(alert.route for each in watched for alert in each.operated.alerts))


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
