"""Dagster as its users run it: sensors, schedules, backfills, alerts, re-execution from failure, sources at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from xts_pipeline import Vault
from xts_pipeline_tests.e2e.dagster_dev import DagsterDev, dagster_dev, until
from xts_pipeline_tests.orchestration.listener import Listener, listening
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project

T = TypeVar("T")
pytestmark = pytest.mark.e2e
TIMELINE = ["SYDNEY", "BRISBANE", "SYDNEY", "HOBART", "HOBART", "HOBART"]  # of customer 1, once the late batch is in


def source(name: str, **operated: Any) -> dict[str, Any]:
    """The case's source under another name, with one satellite."""
    satellite = {"name": f"sat_{name}_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}}
    return {**CASE, "source": name, "satellites": [satellite], **operated}


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with listening() as running:
        yield running


@pytest.fixture(scope="module")
def dagster(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> Iterator[DagsterDev]:
    project = Project(tmp_path_factory.mktemp("e2e"), instance=None)  # type: ignore[arg-type]
    project.declare(source("watched", watch=True), d1=FOUR["d1"])
    project.declare(source("timed", schedule={"cron": "* * * * *", "timezone": "Europe/Zurich"}), **FOUR)
    project.declare(source("seen", schedule={"cron": "0 0 1 1 *"}), **FOUR)
    alerts = [{"checks": ["sequence_violations", "freshness", "run_failure"], "route": "XTS_ALERT_LISTENER"}]
    project.declare(source("history", alerts=alerts, freshness={"max_age": "26h"}), **FOUR)
    for name in ("again", "broken", "left", "right"):
        project.declare(source(name), **FOUR)
    for file in project.folder.glob("defs/*/data/*.csv"):
        os.utime(file, (time.time() - 60,) * 2)
    with dagster_dev(project, XTS_ALERT_LISTENER=listener.url) as running:
        yield running


def timeline(dagster: DagsterDev, name: str) -> list[str]:
    """The cities of customer 1."""
    states = when_free(lambda: dagster.project.timeline(f"sat_{name}_city"))
    return list(states[states["id"] == "1"]["city"])


def when_free(read: Callable[[], T]) -> T:
    """What is read of the warehouse, when no run holds the file."""

    def answer() -> tuple[T] | None:
        try:
            return (read(),)
        except Exception as error:
            if "held by another process" in str(error):
                return None
            raise

    return until("the warehouse", answer)[0]


def test_a_new_file_is_loaded_by_the_sensor_and_a_changed_one_corrects(dagster: DagsterDev) -> None:
    (first,) = dagster.ended("watched", 1)
    assert (first["status"], first["tags"]["dagster/sensor_name"]) == ("SUCCESS", "deliveries_watched")
    path = dagster.project.folder / "defs/watched/data/d1.csv"
    path.write_text(path.read_text().replace("SYDNEY", "DARWIN"))
    first, second = dagster.ended("watched", 2)
    assert second["status"] == "SUCCESS"
    assert second["tags"]["xts/delivery"].startswith("watched:d1:2:")
    assert timeline(dagster, "watched") == ["DARWIN"] * 6


def test_a_schedule_picks_up_what_waits_and_not_twice(dagster: DagsterDev) -> None:
    runs = dagster.ended("timed", 4)
    assert [run["status"] for run in runs] == ["SUCCESS"] * 4
    assert [run["tags"]["dagster/partition"] for run in runs] == list(FOUR)
    assert {run["tags"]["dagster/schedule_name"] for run in runs} == {"schedule_timed"}
    assert timeline(dagster, "timed") == TIMELINE
    time.sleep(61)  # another tick
    assert len(dagster.ended("timed", 4)) == 4


@pytest.mark.parametrize("kind", ["sensor", "schedule"])
def test_a_preview_says_what_a_tick_would_load_and_changes_nothing(dagster: DagsterDev, kind: str) -> None:
    seen = str(dagster.preview(kind, {"sensor": "deliveries_seen", "schedule": "schedule_seen"}[kind]))
    assert all(partition in seen for partition in FOUR), seen

    def registered() -> int:
        with dagster.project.vault() as vault:
            return int(vault.query("select count(*) as n from delivery where source = 'seen'")["n"].item())

    assert when_free(registered) == 0
    assert dagster.runs("seen") == []


def test_a_backfill_with_a_late_batch_ends_green_and_the_violation_is_told_exactly_once(
    dagster: DagsterDev, listener: Listener
) -> None:
    dagster.register("history", *FOUR)
    backfill = dagster.backfill("history", *FOUR)
    assert dagster.backfill_ended(backfill) == "COMPLETED_SUCCESS"
    assert {run["status"] for run in dagster.runs("history", **{"dagster/backfill": backfill})} == {"SUCCESS"}
    assert timeline(dagster, "history") == TIMELINE
    assert dagster.check("sat_history_city", "sequence_violations") == {"severity": "WARN", "success": False}
    assert dagster.check("sat_history_city", "timeline_invariant")["success"]

    def violations() -> list[str]:
        return [f"{of['title']} {of['message']}" for of in listener.received if "sequence_violations" in of["title"]]

    until("the message", lambda: violations() or None)
    dagster.more_ticks("alerts_on_success", 2)
    (message,) = violations()
    (late,) = dagster.runs("history", **{"dagster/backfill": backfill, "dagster/partition": "d4"})
    for told in ("history", "sat_history_city", "d4", late["id"]):
        assert told in message


def test_a_silent_feed_is_late_though_its_history_was_just_loaded(dagster: DagsterDev, listener: Listener) -> None:
    """The daemon's own ticks of the heartbeat sensor say so; its first may come before anything was loaded."""

    def told() -> list[str] | None:
        return [of["title"] for of in listener.received if "freshness" in of["title"]] or None

    assert until("the message", told, patience=400)


def test_a_backfill_that_was_cancelled_and_launched_again_picks_up(dagster: DagsterDev) -> None:
    dagster.register("again", *FOUR)
    first = dagster.backfill("again", *FOUR)
    until(
        "a run of the backfill",
        lambda: (
            [run for run in dagster.runs("again", **{"dagster/backfill": first}) if run["status"] not in {"QUEUED"}]
            or None
        ),
    )
    dagster.cancel_backfill(first)
    assert dagster.backfill_ended(first) == "CANCELED"
    assert dagster.backfill_ended(dagster.backfill("again", *FOUR)) == "COMPLETED_SUCCESS"
    assert timeline(dagster, "again") == TIMELINE


def test_a_run_that_failed_in_the_middle_is_executed_again_from_there(dagster: DagsterDev) -> None:
    flag = dagster.project.folder / "break"
    dagster.register("broken", *FOUR)
    assert dagster.backfill_ended(dagster.backfill("broken", "d1", "d2", "d3")) == "COMPLETED_SUCCESS"
    flag.touch()
    try:
        assert dagster.backfill_ended(dagster.backfill("broken", "d4")) == "COMPLETED_FAILED"
    finally:
        flag.unlink()
    failed = next(run for run in dagster.runs("broken", **{"dagster/partition": "d4"}) if run["status"] == "FAILURE")
    again = dagster.reexecute_from_failure(failed["id"])
    run = until(
        "the second run",
        lambda: next(
            (run for run in dagster.runs("broken", **{"dagster/partition": "d4"}) if run["id"] == again), None
        ),
    )
    assert run["parentRunId"] == failed["id"]
    until("its end", lambda: status_of(dagster, again))
    assert status_of(dagster, again) == "SUCCESS"
    assert timeline(dagster, "broken") == TIMELINE
    assert open_batches(dagster.project.folder / "vault.duckdb") == 0


def test_two_sources_at_once_load_into_one_hub_and_one_xts(dagster: DagsterDev) -> None:
    for name in ("left", "right"):
        dagster.register(name, *FOUR)
    backfills = [dagster.backfill(name, *FOUR) for name in ("left", "right")]
    assert [dagster.backfill_ended(backfill) for backfill in backfills] == ["COMPLETED_SUCCESS"] * 2
    for name in ("left", "right"):
        assert timeline(dagster, name) == TIMELINE
        assert dagster.check(f"sat_{name}_city", "timeline_invariant")["success"]
        assert dagster.check(f"{name}/hub_customer", "unique_keys")["success"]


def test_no_sensor_and_no_schedule_ever_failed(dagster: DagsterDev) -> None:
    ticks = dagster.ticks()
    on = {"alerts_on_success", "alerts_on_failure", "heartbeats_history", "open_batches", "schedule_timed"}
    assert on <= {name for name, ended in ticks.items() if ended}
    failed = [(name, tick["error"]) for name, ended in ticks.items() for tick in ended if tick["status"] == "FAILURE"]
    assert failed == []


def status_of(dagster: DagsterDev, run: str) -> str | None:
    found = dagster.ask("query ($id: ID!) {runOrError(runId: $id) {... on Run {status}}}", id=run)["runOrError"]
    return found["status"] if found["status"] in {"SUCCESS", "FAILURE", "CANCELED"} else None


def open_batches(file: Path) -> int:
    def answer() -> int | None:
        try:
            with Vault.open([source("broken")], f"duckdb:///{file}") as vault:
                return int(vault.query("select count(*) as n from load_batch where status = 'open'")["n"].item())
        except Exception as error:
            if "held by another process" in str(error):
                return None
            raise

    return until("the warehouse", answer)
