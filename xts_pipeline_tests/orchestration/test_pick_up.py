"""Picking up when things do not go their way: previews, ticks of the future, failed runs, files that still arrive."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef
from dagster._core.scheduler.instigation import InstigatorType, TickData, TickStatus
from dagster._grpc.impl import get_external_schedule_execution, get_external_sensor_execution

from xts_pipeline.ledger import utc_now
from xts_pipeline.orchestration import cycle_ops, deliveries_schedule, pick_up
from xts_pipeline.orchestration.ticks import comes_back, is_preview
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project
from xts_pipeline_tests.orchestration.test_deliveries import (
    SCHEDULED,
    SIX,
    A,
    B,
    Daemon,
    daemon,
    lose_time,
    queried,
    requested,
)

__all__ = ["daemon", "queried"]  # fixtures
DAY = timedelta(days=1)
BAD = [(1, "no day", "SYDNEY", "calm")]


def ledger(daemon: Daemon) -> list[list[Any]]:
    with daemon.project.vault() as vault:
        rows = vault.query("select partition_key, delivery_number, requested_by, staged_at from delivery order by all")
    return rows.to_numpy().tolist()


@pytest.fixture
def fixed(daemon: Daemon) -> Daemon:
    """A path that names no partition: a tick is a delivery."""
    file = daemon.project.folder / "defs/case/defs.yaml"
    declared = yaml.safe_load(file.read_text())
    declared["attributes"] |= {"delivery": {"path": "data/extract.csv"}, "watch": False}
    file.write_text(yaml.safe_dump(declared))
    daemon.deliver("extract", A)
    return daemon


@pytest.mark.parametrize("previewed", ["sensor", "schedule", "another tick"])
def test_a_preview_changes_nothing(daemon: Daemon, previewed: str) -> None:
    previews: dict[str, Callable[[], Any]] = {
        "sensor": lambda: daemon.sensor(preview=True),
        "schedule": lambda: daemon.schedule(preview=True),
        "another tick": lambda: daemon.schedule(SIX - DAY, preview=True),
    }
    daemon.deliver("d1", A)
    data = previews[previewed]()
    assert requested(data) == ["d1:1"] or "a tick would load d1" in data.skip_message
    assert (ledger(daemon), daemon.project.instance.get_dynamic_partitions("case_batches")) == ([], [])
    assert requested(daemon.schedule()) == ["d1:1"]


def test_a_preview_shows_what_waits_and_leaves_its_lease(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.deliver("d1", A)
    daemon.sensor(makes_runs=False)
    before = ledger(daemon)
    lose_time(monkeypatch)
    assert requested(daemon.schedule(preview=True)) == ["d1:1"]
    assert ledger(daemon) == before


def test_a_preview_of_a_query_moves_no_answer_to_another_day(queried: Daemon) -> None:
    assert queried.schedule(SIX + 3 * DAY, preview=True).run_requests == []
    for days in range(4):
        data = queried.schedule(SIX + days * DAY)
        assert requested(data) == [f"2021-01-{4 + days:02}:1"]
        assert all(result.success for result in queried.load())


def test_dagster_says_by_the_place_of_its_log_whether_it_is_a_preview(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluated as Dagster's code server does it, for its daemon and for a dry run."""
    home = daemon.project.folder / "home"
    home.mkdir()
    reference = InstanceRef.from_dir(str(home))
    repository = daemon.project.definitions.get_repository_def()
    daemon.deliver("d1", A)

    def sensor(log_key: list[str] | None) -> Any:
        origin: Any = None
        return get_external_sensor_execution(
            repository, origin, reference, "deliveries_case", None, None, None, log_key, None
        )

    def schedule(log_key: list[str] | None) -> Any:
        return get_external_schedule_execution(
            repository, reference, "schedule_case", SIX.timestamp(), "Europe/Zurich", log_key
        )

    assert requested(sensor(None)) == ["d1:1"]
    assert "a tick would load d1" in schedule(None).skip_message
    assert ledger(daemon) == []
    assert requested(sensor(["__repository__", "deliveries_case", "17"])) == ["d1:1"]
    assert [row[:3] for row in ledger(daemon)] == [["d1", 1, "deliveries_case"]]


@pytest.mark.parametrize("preview", [True, False])
@pytest.mark.parametrize("source", ["daemon", "queried"])
def test_a_tick_of_the_future_asks_for_nothing(source: str, preview: bool, request: pytest.FixtureRequest) -> None:
    daemon: Daemon = request.getfixturevalue(source)
    daemon.deliver("d1", A)
    tomorrow = SIX.replace(year=utc_now().year + 1)
    data = daemon.schedule(tomorrow, preview=preview)
    assert (requested(data), "still to come" in data.skip_message) == ([], True)
    assert ledger(daemon) == []


def test_a_tick_of_a_fixed_path_is_one_delivery_however_often_it_is_tried(fixed: Daemon) -> None:
    assert requested(fixed.schedule()) == ["2021-01-04:1"]
    assert [result.success for result in fixed.load()] == [True]
    assert requested(fixed.schedule()) == requested(fixed.schedule()) == []
    assert requested(fixed.schedule(SIX + DAY)) == ["2021-01-05:1"]


@pytest.mark.parametrize("source", ["fixed", "queried"])
def test_a_tick_whose_run_was_never_made_is_named_and_not_answered_another_day(
    source: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon: Daemon = request.getfixturevalue(source)
    daemon.schedule(makes_runs=False)
    monkeypatch.setattr(pick_up, "utc_now", lambda: utc_now() + DAY)
    assert requested(daemon.schedule(SIX + DAY)) == ["2021-01-05:1"]
    again = daemon.schedule(SIX + DAY)
    assert "no run was made at their time" in again.skip_message
    assert "2021-01-04" in again.skip_message
    assert requested(daemon.schedule()) == ["2021-01-04:1"]  # the tick itself, tried again


def fail(daemon: Daemon) -> None:
    daemon.deliver("d1", BAD)
    daemon.sensor()
    assert [result.success for result in daemon.load()] == [False]


def cancel(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    daemon.sensor()
    (run,) = daemon.project.instance.get_runs()
    daemon.project.instance.report_run_canceled(run)


def lose_the_file(daemon: Daemon) -> None:
    path = daemon.deliver("d1", A)
    daemon.sensor()
    path.rename(path.with_suffix(".away"))
    assert [result.success for result in daemon.load()] == [False]
    path.with_suffix(".away").rename(path)


def fail_after_staging(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    daemon.sensor()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle_ops, "merge_hub", broken)
        assert [result.success for result in daemon.load()] == [False]


def fail_by_hand(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycle_ops, "merge_hub", broken)
        assert not daemon.project.run("case", "d1", raise_on_error=False).success


def broken(*_: Any) -> None:
    raise OSError("the disk is full")


@pytest.mark.parametrize("lose", [cancel, lose_the_file, fail_after_staging, fail_by_hand])
def test_what_was_not_loaded_is_named_and_loads_when_it_is_touched(
    daemon: Daemon, lose: Callable[[Daemon], None]
) -> None:
    lose(daemon)
    by_touch = daemon.project.folder / "defs/case/data/d1.csv"
    if lose is not lose_the_file:  # whose file was renamed, and is delivered again thereby
        for data in (daemon.sensor(), daemon.schedule()):
            assert requested(data) == []
            assert "not loaded, though a run was made: d1" in data.skip_message
            assert "`touch` is enough" in data.skip_message
        os.utime(by_touch, (7, 7))
    assert requested(daemon.sensor()) == ["d1:2"]
    assert requested(daemon.sensor()) == requested(daemon.schedule()) == []
    assert [result.success for result in daemon.load()] == [True]
    data = daemon.sensor()
    assert (requested(data), "not loaded, though" in data.skip_message) == ([], False)
    assert daemon.project.timeline("sat_case_city")["city"].tolist()[0] == "SYDNEY"
    with daemon.project.vault() as vault:
        assert vault.query("select count(*) as n from load_batch where status <> 'done'")["n"].item() == 0


def test_what_failed_is_named_beside_what_is_requested_until_it_loads(daemon: Daemon) -> None:
    fail(daemon)
    daemon.deliver("d2", B)
    assert requested(daemon.sensor()) == ["d2:1"]
    assert "not loaded, though a run was made: d1" in daemon.schedule().skip_message
    daemon.deliver("d1", A)
    assert requested(daemon.sensor()) == ["d1:2"]
    assert all(result.success for result in daemon.load())
    assert "not loaded, though" not in daemon.sensor().skip_message


def test_a_file_touched_while_its_run_is_at_work_is_judged_when_the_run_is_over(daemon: Daemon) -> None:
    path = daemon.deliver("d1", A)
    daemon.sensor()
    (run,) = daemon.project.instance.get_runs()
    os.utime(path, (7, 7))  # the run waits still, and will read it
    assert requested(daemon.sensor()) == []
    daemon.project.instance.handle_new_event(started(run))
    os.utime(path, (8, 8))
    assert requested(daemon.sensor()) == requested(daemon.sensor()) == []
    daemon.project.instance.report_run_failed(daemon.project.instance.get_run_by_id(run.run_id) or run)
    assert requested(daemon.sensor()) == ["d1:2"]


def started(run: dg.DagsterRun) -> Any:
    event = dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, run.job_name)
    return dg.EventLogEntry(None, 10, "", run.run_id, utc_now().timestamp(), job_name=run.job_name, dagster_event=event)


@pytest.fixture
def hasty(project: Project) -> Daemon:
    """A schedule alone, whose files settle soon."""
    return Daemon(project.declare({**SCHEDULED, "watch": False, "settle": 0.3}))


def test_a_schedule_waits_for_a_file_to_settle(hasty: Daemon) -> None:
    hasty.deliver("d1", A)
    hasty.deliver("d2", B, age=0)
    assert requested(hasty.schedule()) == ["d1:1", "d2:1"]


def test_a_schedule_comes_back_for_what_still_arrives(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = Daemon(project.declare({**CASE, "schedule": SCHEDULED["schedule"], "settle": 600}))
    daemon.deliver("d1", A, age=900)
    path = daemon.deliver("d2", B, age=30)
    monkeypatch.setattr(deliveries_schedule, "comes_back", lambda *_: True)
    for _ in range(2):
        with pytest.raises(dg.DagsterUserCodeExecutionError) as raised:
            daemon.schedule()
        assert "tried again within a minute: written to a moment ago" in str(raised.value.__cause__)
        assert "d2" in str(raised.value.__cause__)
    os.utime(path, (7, 7))
    assert requested(daemon.schedule()) == ["d1:1", "d2:1"]


def test_a_schedule_that_does_not_come_back_asks_for_what_is_there(project: Project) -> None:
    daemon = Daemon(project.declare({**CASE, "schedule": SCHEDULED["schedule"], "settle": 600}))
    daemon.deliver("d1", A, age=900)
    daemon.deliver("d2", B, age=30)
    assert requested(daemon.schedule()) == ["d1:1"]
    assert "left for the next look: d2" in daemon.schedule().skip_message


@pytest.mark.parametrize(
    ("retries", "failures", "back"), [(0, 0, False), (240, 0, True), (240, 9, True), (240, 10, False), (3, 3, False)]
)
def test_a_tick_comes_back_as_often_as_dagster_tries_it_again(
    tmp_path: Path, retries: int, failures: int, back: bool
) -> None:
    scheduler = {
        "scheduler": {
            "module": "dagster._core.scheduler",
            "class": "DagsterDaemonScheduler",
            "config": {"max_tick_retries": retries},
        }
    }
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(tmp_path), overrides=scheduler)) as instance:
        data = TickData("origin", "schedule_case", InstigatorType.SCHEDULE, TickStatus.STARTED, 0.0)
        tick = instance.create_tick(data._replace(failure_count=failures))
        context = dg.build_schedule_context(instance, SIX)
        for log_key, expected in (
            (["repository", "schedule_case", str(tick.tick_id)], back),
            (["repository", "schedule_case", str(tick.tick_id + 1)], False),
            (["repository", "schedule_case", "20210104_060000"], False),
            (None, False),
        ):
            context._log_key = log_key
            assert comes_back(context, 10) is expected
        assert is_preview(context) is False


def test_partitions_are_registered_again_when_dagsters_home_was_lost(
    daemon: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for partition in FOUR:
        daemon.deliver(partition, FOUR[partition])
    daemon.sensor()
    assert all(result.success for result in daemon.load())
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path_factory.mktemp("home"))) as new:
        again = Daemon(Project(daemon.project.folder, new))
        assert requested(again.sensor()) == []
        assert new.get_dynamic_partitions("case_batches") == list(FOUR)
