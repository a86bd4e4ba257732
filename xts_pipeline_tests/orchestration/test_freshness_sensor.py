"""The heartbeat sensor and the check `freshness`: what they record, when they tell, and what a locked file is."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.freshness import Deadline, FreshnessState
from xts_pipeline.ledger import utc_now
from xts_pipeline.metadata.monitoring import Freshness
from xts_pipeline.orchestration import freshness_sensor
from xts_pipeline.orchestration.freshness_sensor import deadline_before, to_be_recorded
from xts_pipeline.orchestration.resource import DuckDBVault
from xts_pipeline_tests.orchestration.listener import listening
from xts_pipeline_tests.orchestration.project import CASE, HEADER, Project

NOW = datetime(2026, 3, 30, 9)
DAY = timedelta(days=1)
TIMED: dict[str, Any] = {**CASE, "freshness": {"max_age": "26h"}}


def look(project: Project, cursor: str | None = None) -> Any:
    context = dg.build_sensor_context(instance=project.instance, cursor=cursor, resources={"vaults": DuckDBVault()})
    return project.definitions.resolve_sensor_def("heartbeats_case")(context)


def states(tick: dg.SensorResult) -> dict[str, str]:
    found = {}
    for event in tick.asset_events:
        assert isinstance(event, dg.AssetCheckEvaluation)
        assert event.check_name == "freshness"
        assert event.passed == (event.metadata["xts/state"].value == "fresh")
        found[event.asset_key.to_user_string()] = str(event.metadata["xts/state"].value)
    return found


def deliver_of(project: Project, partition: str, when: datetime) -> None:
    project.deliver("case", partition, [(1, when.date().isoformat(), "SYDNEY", "calm")], HEADER)


def test_the_sensor_runs_by_itself_and_asks_every_five_minutes(project: Project) -> None:
    project.declare(TIMED)
    sensor = project.definitions.resolve_sensor_def("heartbeats_case")
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    assert sensor.minimum_interval_seconds == 300


def test_a_feed_is_never_seen_then_late_then_fresh_and_a_backfill_leaves_it_late(project: Project) -> None:
    project.declare(TIMED)
    never = look(project)
    assert states(never) == {"sat_case_city": "never_seen", "sat_case_mood": "never_seen"}

    now = utc_now()
    deliver_of(project, "d1", now - 3 * DAY)
    project.run("case", "d1")
    late = look(project, never.cursor)
    assert set(states(late).values()) == {"late"}
    deliver_of(project, "d0", now - 30 * DAY)  # a new load of an old day
    project.run("case", "d0")
    assert set(states(look(project)).values()) == {"late"}

    deliver_of(project, "d2", now)
    project.run("case", "d2")
    fresh = look(project, late.cursor)
    assert set(states(fresh).values()) == {"fresh"}
    assert states(look(project, fresh.cursor)) == {}


def test_a_change_is_recorded_at_once_and_the_same_once_an_hour() -> None:
    fresh, late = FreshnessState("fresh", ""), FreshnessState("late", "", "data_old")
    due, cursor = to_be_recorded(None, {"a": fresh, "b": late}, NOW)
    assert due == ["a", "b"]
    assert to_be_recorded(cursor, {"a": fresh, "b": late}, NOW + timedelta(minutes=59))[0] == []
    assert to_be_recorded(cursor, {"a": late, "b": late}, NOW)[0] == ["a"]
    assert to_be_recorded(cursor, {"a": fresh, "b": late}, NOW + timedelta(hours=1))[0] == ["a", "b"]


@pytest.mark.parametrize(
    ("now", "opened_at", "due_at"),
    [
        # 07:00 in Zurich is 06:00 UTC in winter and 05:00 in summer, from 29 March; two hours of grace
        (datetime(2026, 3, 28, 8), datetime(2026, 3, 27, 8), datetime(2026, 3, 28, 8)),
        (datetime(2026, 3, 28, 7, 59), datetime(2026, 3, 26, 8), datetime(2026, 3, 27, 8)),
        (datetime(2026, 3, 29, 9), datetime(2026, 3, 28, 8), datetime(2026, 3, 29, 7)),
    ],
)
def test_the_newest_deadline_is_the_one_whose_grace_is_over(
    now: datetime, opened_at: datetime, due_at: datetime
) -> None:
    freshness = Freshness(deadline="0 7 * * *", timezone="Europe/Zurich", grace="2h")
    assert deadline_before(freshness, now) == Deadline(opened_at, due_at)


def test_without_deadlines_there_is_none() -> None:
    assert deadline_before(Freshness(max_age="26h"), NOW) is None


def test_a_locked_file_is_unknown_and_no_failure(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness_sensor, "PATIENCE", 0.2)
    project.declare(TIMED)
    look(project)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(project.folder / "vault.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "held"
        tick = look(project)
        holder.communicate("")
    assert isinstance(tick, dg.SkipReason)
    assert "unknown" in (tick.skip_message or "")


def test_the_check_can_be_asked_by_hand(project: Project) -> None:
    project.declare(TIMED)
    deliver_of(project, "d1", utc_now())
    loaded = project.run("case", "d1")
    of_load = {each.check_name: each.passed for each in loaded.get_asset_check_evaluations()}
    assert of_load["freshness"]
    only = dg.define_asset_job(
        "only", dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("sat_case_city"), "freshness"))
    )
    job = dg.Definitions.merge(project.definitions, dg.Definitions(jobs=[only])).resolve_job_def("only")
    (evaluation,) = job.execute_in_process(instance=project.instance).get_asset_check_evaluations()
    assert evaluation.passed
    assert evaluation.severity == dg.AssetCheckSeverity.WARN
    assert "26h" in str(evaluation.metadata["xts/rule"].value)


def test_a_late_feed_does_not_fail_its_load(project: Project) -> None:
    project.declare({**TIMED, "freshness": {"max_age": "26h", "severity": "ERROR"}})
    deliver_of(project, "d1", utc_now() - 9 * DAY)
    result = project.run("case", "d1")
    assert result.success
    assert not next(each for each in result.get_asset_check_evaluations() if each.check_name == "freshness").passed


def test_a_late_feed_is_told_once_and_when_it_is_fresh_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    alerts = [{"checks": ["freshness"], "route": "XTS_TEST_ROUTE"}]
    project.declare({**TIMED, "satellites": CASE["satellites"][:1], "alerts": alerts})  # type: ignore[index]
    deliver_of(project, "d1", utc_now() - 3 * DAY)
    project.run("case", "d1")
    with listening() as listener:
        monkeypatch.setenv("XTS_TEST_ROUTE", listener.url)
        for _ in range(3):
            look(project)
        deliver_of(project, "d2", utc_now())
        project.run("case", "d2")
        look(project)
        look(project)
        late, fresh = listener.received
    assert late["title"] == "[WARN] case: freshness on sat_case_city"
    assert "late by" in late["message"]
    assert "what to do" in late["message"]
    assert fresh["title"] == "[resolved] case: freshness on sat_case_city"


def test_a_deadline_that_dagster_cannot_read_names_source_and_field(project: Project) -> None:
    project.declare({**TIMED, "freshness": {"deadline": "0 6 * * 5##2"}})
    with pytest.raises(Exception, match=r"source case: freshness\.deadline"):
        _ = project.definitions
