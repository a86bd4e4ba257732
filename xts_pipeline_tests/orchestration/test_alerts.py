"""Alerts: real runs with a late batch, real run-status sensors, messages received over HTTP exactly once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.ledger import open_batches, utc_now
from xts_pipeline.metadata.monitoring import ALERTABLE, Alert
from xts_pipeline.orchestration import notify
from xts_pipeline.orchestration.alerts import message_of
from xts_pipeline.orchestration.memory import Memory
from xts_pipeline.orchestration.news import news
from xts_pipeline.orchestration.notices import Notice
from xts_pipeline.orchestration.notify import Message, RouteError, scrubbed, send
from xts_pipeline.orchestration.outbox import deliver
from xts_pipeline.orchestration.resource import DuckDBVault
from xts_pipeline_tests.orchestration.listener import Listener, listening
from xts_pipeline_tests.orchestration.project import CASE, FOUR, HEADER, Project

ROUTE = "XTS_TEST_ROUTE"
LOG = logging.getLogger("test")
OUTCOMES = {True: dg.DagsterEventType.RUN_SUCCESS, False: dg.DagsterEventType.RUN_FAILURE}
ALERTED: dict[str, Any] = {
    **CASE,
    "satellites": CASE["satellites"][:1],  # type: ignore[index]
    "alerts": [{"checks": "*", "severity": "WARN", "route": ROUTE}],
}
SHORT = HEADER[:3]
LATE = {partition: [row[:3] for row in rows] for partition, rows in FOUR.items()}  # no column that is not declared


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.setattr(notify, "FIRST_PAUSE", 0.001)
    with listening() as found:
        monkeypatch.setenv(ROUTE, found.url)
        yield found


def sensor(project: Project, name: str) -> dg.SensorDefinition:
    return project.definitions.resolve_sensor_def(name)


def finished(project: Project, result: dg.ExecuteInProcessResult) -> None:
    """Let the run-status sensor of a run's outcome see it, as the daemon does."""
    run = project.instance.get_run_by_id(result.run_id)
    assert run is not None
    name = "alerts_on_success" if run.is_success else "alerts_on_failure"
    context = dg.build_run_status_sensor_context(
        sensor_name=name,
        dagster_event=next(event for event in result.all_events if event.event_type == OUTCOMES[run.is_success]),
        dagster_instance=project.instance,
        dagster_run=run,
    )
    sensor(project, name)(context)


def look(project: Project, name: str) -> Any:
    context = dg.build_sensor_context(instance=project.instance, resources={"vaults": DuckDBVault()})
    return sensor(project, name)(context)


def test_a_late_batch_is_told_exactly_once(
    project: Project, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTS_DAGSTER_URL", "http://dagster.example/")
    project.declare(ALERTED, SHORT, **LATE)
    for partition in ("d1", "d2", "d3"):
        finished(project, project.run("case", partition))
    assert listener.received == []

    late = project.run("case", "d4")
    finished(project, late)
    (message,) = listener.received
    assert message["title"] == "[WARN] case: sequence_violations on sat_case_city"
    assert message["type"] == "warning"
    body = message["message"]
    assert "partition: d4" in body
    assert "found: 2" in body
    assert "keys: 2" in body
    assert "late by: 2 d" in body
    assert body.count("worst key: ") == 2
    assert "id=" not in body
    assert f"http://dagster.example/runs/{late.run_id}" in body
    with project.vault() as vault:
        (batch,) = vault.query("select batch_id from load_batch where partition_key = 'd4'")["batch_id"]
    assert batch in body

    finished(project, late)
    finished(project, project.run("case", "d4"))  # a replay: its check fails for the same batch again
    assert len(listener.received) == 1

    project.deliver("case", "d5", [(1, "2021-01-02", "CAIRNS")], SHORT)
    finished(project, project.run("case", "d5"))
    assert len(listener.received) == 2


def test_a_state_is_told_when_it_begins_and_when_it_ends(project: Project) -> None:
    memory = Memory(project.instance)

    def told(notice: Notice) -> bool:
        changes = news(memory, notice, ROUTE)
        for key, value in changes.items():
            memory.set(key, value)
        return bool(changes)

    def seen(passed: bool, ends_state: bool = True) -> Notice:
        return Notice("case", "timeline_invariant", "sat", "ERROR", passed, "", ends_state=ends_state)

    assert [told(seen(True)), told(seen(False)), told(seen(False))] == [False, True, False]
    assert not told(seen(True, ends_state=False))  # of another batch's keys
    assert [told(seen(True)), told(seen(True)), told(seen(False))] == [True, False, True]


def test_a_batch_is_told_once_on_each_route(project: Project) -> None:
    memory = Memory(project.instance)
    notice = Notice("case", "sequence_violations", "sat", "WARN", False, "", ("b1", "b2"))
    changes = news(memory, notice, "A")
    assert len(changes) == 2
    for key, value in changes.items():
        memory.set(key, value)
    assert news(memory, notice, "A") == {}
    assert len(news(memory, notice, "B")) == 2


def test_keys_are_named_clear_where_that_is_declared(project: Project, listener: Listener) -> None:
    project.declare({**ALERTED, "alerts": [{"route": ROUTE, "keys": "clear"}]}, SHORT, **LATE)
    for partition in LATE:
        finished(project, project.run("case", partition))
    body = listener.received[0]["message"]
    assert "worst key: id=1, late by 2 d" in body
    assert "worst key: id=2, late by 2 d" in body


def test_only_what_is_asked_for_is_told(project: Project, listener: Listener) -> None:
    project.declare({**ALERTED, "alerts": [{"route": ROUTE, "severity": "ERROR"}]}, SHORT, **LATE)
    for partition in LATE:
        finished(project, project.run("case", partition))
    assert listener.received == []


def test_a_failed_run_is_told_once_until_its_partition_is_loaded(project: Project, listener: Listener) -> None:
    project.declare(ALERTED, SHORT, **LATE)
    project.deliver("case", "bad", [(1, "no day", "SYDNEY")], SHORT)
    for _ in range(2):
        finished(project, project.run("case", "bad", raise_on_error=False))
    (message,) = listener.received
    assert message["title"] == "[ERROR] case: run_failure on load_case"
    assert "partition: bad" in message["message"]
    assert "error: DeliveryError" in message["message"]
    assert "no day" not in message["message"]  # what was delivered goes out where keys go out clear
    finished(project, project.run("case", "d1"))
    assert len(listener.received) == 1
    project.deliver("case", "bad", [(1, "2021-01-01", "SYDNEY")], SHORT)
    finished(project, project.run("case", "bad"))
    (resolved,) = listener.received[1:]
    assert resolved["title"] == "[resolved] case: run_failure on load_case"
    assert "partition bad of source case is loaded" in resolved["message"]


def test_a_failed_run_that_is_retried_is_not_told(project: Project, listener: Listener) -> None:
    project.declare(ALERTED)
    result = project.run("case", "absent", raise_on_error=False)
    project.instance.add_run_tags(result.run_id, {"dagster/will_retry": "true"})
    finished(project, result)
    assert listener.received == []


def test_a_batch_that_stays_open_is_told_once(
    project: Project, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.declare({**ALERTED, "open_batch_limit": "2h"}, SHORT, **LATE)
    with project.vault() as vault:
        vault.stage("case", None, "d1")
        (opened,) = open_batches(vault.warehouse)
    look(project, "open_batches")
    assert listener.received == []
    monkeypatch.setattr("xts_pipeline.orchestration.watch.utc_now", lambda: utc_now() + timedelta(hours=3))
    look(project, "open_batches")
    look(project, "open_batches")
    (message,) = listener.received
    assert opened.batch_id in message["message"]
    assert "open for 3 h" in message["message"]
    assert "xts abandon" in message["message"]


def test_a_route_that_fails_is_tried_again_fails_the_tick_and_is_served_later(
    project: Project, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    project.declare(ALERTED, SHORT, **LATE)
    for partition in ("d1", "d2", "d3"):
        project.run("case", partition)
    late = project.run("case", "d4")
    listener.status = 500
    with pytest.raises(RouteError, match=f"route {ROUTE}: the message was not taken, 3 times") as raised:
        finished(project, late)
    assert listener.attempts == 3
    for secret in ("s3cr3t-word", "t0ken-path", listener.url):
        assert secret not in str(raised.value)
        assert secret not in caplog.text
    finished(project, late)  # it waits already: neither again nor lost
    listener.status = 200
    look(project, "open_batches")
    look(project, "open_batches")
    assert [each["title"] for each in listener.received] == ["[WARN] case: sequence_violations on sat_case_city"]
    assert "s3cr3t" not in caplog.text


def test_one_route_that_fails_does_not_keep_the_others_waiting(
    project: Project, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XTS_UNSET", raising=False)
    with pytest.raises(RouteError, match="XTS_UNSET holds no URL"):
        deliver(Memory(project.instance), [("XTS_UNSET", Message("a", "b")), (ROUTE, Message("c", "d"))], LOG)
    assert [each["title"] for each in listener.received] == ["c"]


def test_a_url_that_apprise_does_not_know_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "FIRST_PAUSE", 0.001)
    monkeypatch.setenv(ROUTE, "nonsense://hunter2-token")
    with pytest.raises(RouteError, match="knows no service") as raised:
        send(Message("a", "b"), ROUTE, LOG)
    assert "hunter2" not in str(raised.value)


def test_scrubbing_leaves_no_part_of_a_url() -> None:
    url = "slack://TokenA/TokenB?chan=secret#x"
    assert scrubbed(f"posted TokenB of {url} to secret", url) == "posted *** of *** to ***"


def test_the_log_is_a_route(caplog: pytest.LogCaptureFixture) -> None:
    send(Message("title", "body"), "log", LOG)
    assert "title\nbody" in caplog.text


def test_a_message_without_a_base_url_names_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XTS_DAGSTER_URL", raising=False)
    notice = Notice("case", "unique_keys", "sat", "ERROR", False, "two rows", run_id="r1")
    assert "run: r1" in message_of(notice, Alert()).body


def test_every_check_can_be_named_in_an_alert(project: Project) -> None:
    plain = {**CASE["satellites"][1], "xts_assisted": False}  # type: ignore[index]
    project.declare({**ALERTED, "freshness": {"max_age": "26h"}, "satellites": [*ALERTED["satellites"], plain]})
    graph = project.definitions.resolve_asset_graph()
    named = {key.name for key in graph.asset_check_keys}
    assert (named - {"lateness"}) | {"run_failure"} == set(ALERTABLE)  # lateness never fails


def test_no_sensor_watches_where_nothing_is_declared(project: Project) -> None:
    project.declare(CASE)
    names = {each.name for each in project.definitions.sensors or ()}
    assert names.isdisjoint({"alerts_on_success", "alerts_on_failure", "open_batches", "heartbeats_case"})


def test_a_drift_of_the_schema_is_told_of_the_staging_asset(project: Project, listener: Listener) -> None:
    project.declare(ALERTED, **FOUR)
    for partition in ("d1", "d2"):
        finished(project, project.run("case", partition))
    (message,) = listener.received
    assert message["title"] == "[WARN] case: schema_drift on staged/case"
    assert "mood" in message["message"]
