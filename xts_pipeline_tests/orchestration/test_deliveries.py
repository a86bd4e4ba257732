"""The file sensor and the schedule of a source, with real run records: nothing requested twice, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa
import yaml
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.instance.ref import InstanceRef

from xts_pipeline import deliveries
from xts_pipeline.errors import DeclarationError
from xts_pipeline.ledger import utc_now
from xts_pipeline.orchestration import deliveries_schedule, deliveries_sensor, pick_up
from xts_pipeline.orchestration.delivery_runs import DELIVERY_TAG
from xts_pipeline.orchestration.resource import DuckDBVault
from xts_pipeline_tests.orchestration.project import CASE, FOUR, HEADER, Project, Row

RUN_KEY = "dagster/run_key"
SIX = datetime(2021, 1, 4, 6, tzinfo=UTC)
SCHEDULED = {**CASE, "schedule": {"cron": "0 6 * * *", "timezone": "Europe/Zurich"}, "watch": True}
VAULTS = {"vaults": DuckDBVault()}
MADE_UP = ["__repository__", "schedule_case", "20210104_060000"]  # a preview's log, which has no number of a tick
A, B = FOUR["d1"], FOUR["d2"]


@dataclass
class Daemon:
    """What Dagster's daemon does with a tick: it adds the partitions, and makes the runs, each once a run key."""

    project: Project

    @property
    def reference(self) -> InstanceRef:
        """Without one Dagster finds no partitions; the instance itself is in memory, which makes runs fast."""
        return InstanceRef.from_dir(str(self.project.folder))

    def deliver(self, partition: str, rows: Sequence[Row], age: float = 60) -> Path:
        """Write a file that was written some seconds ago."""
        self.project.deliver("case", partition, rows)
        path = self.project.folder / f"defs/case/data/{partition}.csv"
        stamp = path.stat().st_mtime - age
        os.utime(path, (stamp, stamp))
        return path

    def sensor(self, *, makes_runs: bool = True, preview: bool = False) -> Any:
        """A tick of the sensor, or a preview, of which Dagster does nothing but show it."""
        definitions = self.project.definitions
        with dg.build_sensor_context(
            self.project.instance,
            definitions=definitions,
            sensor_name="deliveries_case",
            repository_name="__repository__" if preview else None,
            resources=VAULTS,
            instance_ref=self.reference,
        ) as context:
            data = definitions.get_sensor_def("deliveries_case").evaluate_tick(context)
        if preview:
            return data
        for request in data.dynamic_partitions_requests or []:
            self.project.instance.add_dynamic_partitions(request.partitions_def_name, list(request.partition_keys))
        if makes_runs:
            self._make(data)
        return data

    def schedule(self, tick: datetime = SIX, *, makes_runs: bool = True, preview: bool = False) -> Any:
        """A tick of the schedule, or a preview."""
        definitions = self.project.definitions
        repository = definitions.get_repository_def()
        with dg.build_schedule_context(
            self.project.instance, tick, VAULTS, repository, instance_ref=self.reference
        ) as context:
            context._instance = self.project.instance  # which it would make from the reference
            context._log_key = MADE_UP if preview else None
            data = definitions.get_schedule_def("schedule_case").evaluate_tick(context)
        if makes_runs and not preview:
            self._make(data)
        return data

    def _make(self, data: Any) -> None:
        job = self.project.definitions.resolve_job_def("load_case")
        for request in data.run_requests or []:
            if not self.project.instance.get_runs(dg.RunsFilter(tags={RUN_KEY: request.run_key})):
                tags = {**request.tags, RUN_KEY: request.run_key}
                with partition_loading_context(dynamic_partitions_store=self.project.instance):
                    self.project.instance.create_run_for_job(job, tags=tags)

    def load(self) -> list[dg.ExecuteInProcessResult]:
        """Run what is made and not run yet, oldest first."""
        waiting = self.project.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.NOT_STARTED]))
        results = []
        for run in reversed(list(waiting)):
            self.project.instance.delete_run(run.run_id)  # run in this process it becomes another
            partition = run.tags["dagster/partition"]
            tags = {name: run.tags[name] for name in (DELIVERY_TAG, RUN_KEY)}
            job = self.project.definitions.resolve_job_def("load_case")
            results.append(
                job.execute_in_process(
                    instance=self.project.instance, partition_key=partition, tags=tags, raise_on_error=False
                )
            )
        return results


@pytest.fixture
def daemon(project: Project) -> Daemon:
    return Daemon(project.declare(SCHEDULED))


def requested(data: Any) -> list[str]:
    """Partition and number of each delivery that a run was requested for."""
    return [":".join(request.run_key.split(":")[1:3]) for request in data.run_requests or []]


def lose_time(monkeypatch: pytest.MonkeyPatch, by: timedelta = deliveries.LEASE) -> None:
    monkeypatch.setattr(pick_up, "utc_now", lambda: utc_now() + by)


def test_content_a_then_b_then_a_again_are_three_runs(daemon: Daemon) -> None:
    asked = []
    for rows in (A, B, A):
        daemon.deliver("d1", rows)
        asked += requested(daemon.sensor())
        asked += requested(daemon.sensor())
        assert all(result.success for result in daemon.load())
    assert asked == ["d1:1", "d1:2", "d1:3"]
    with daemon.project.vault() as vault:
        assert vault.query("select count(*) as n from load_batch")["n"].item() == 3


def test_a_file_written_anew_with_the_same_content_is_no_delivery(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    assert requested(daemon.sensor()) == ["d1:1"]
    daemon.deliver("d1", A, age=30)
    data = daemon.sensor()
    assert (requested(data), data.skip_message.startswith("nothing was delivered")) == ([], True)


def test_each_file_is_a_run_with_its_delivery_in_a_tag_and_its_partition_registered(daemon: Daemon) -> None:
    for partition in ("d3", "d1", "d2"):
        daemon.deliver(partition, FOUR[partition])
    data = daemon.sensor()
    assert requested(data) == ["d1:1", "d2:1", "d3:1"]
    assert daemon.project.instance.get_dynamic_partitions("case_batches") == ["d1", "d2", "d3"]
    for request in data.run_requests:
        assert request.tags[DELIVERY_TAG] == request.run_key
        assert request.tags["dagster/partition"] == request.run_key.split(":")[1]
    assert data.dynamic_partitions_requests[0].partition_keys == ["d1", "d2", "d3"]
    assert all(result.success for result in daemon.load())


def test_a_changed_file_of_a_loaded_partition_is_a_correction(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    daemon.sensor()
    daemon.load()
    daemon.deliver("d1", [(1, "2021-01-01", "HOBART", "calm"), (2, "2021-01-01", "PERTH", "calm")])
    assert requested(daemon.sensor()) == ["d1:2"]
    (result,) = daemon.load()
    assert result.success
    assert daemon.project.timeline("sat_case_city")["city"].tolist()[0] == "HOBART"


def test_a_file_that_was_written_to_a_moment_ago_waits(daemon: Daemon) -> None:
    path = daemon.deliver("d1", A[:1], age=0)
    data = daemon.sensor()
    assert (requested(data), "left for the next look: d1" in data.skip_message) == ([], True)
    daemon.project.deliver("case", "d1", A)
    os.utime(path, (1, 1))
    assert requested(daemon.sensor()) == ["d1:1"]


def test_a_file_whose_name_is_no_partition_is_reported_and_the_others_load(daemon: Daemon) -> None:
    daemon.deliver("d1,d2", A)
    data = daemon.sensor()
    assert (requested(data), "d1,d2.csv: source case" in data.skip_message) == ([], True)
    daemon.deliver("d1", A)
    assert requested(daemon.sensor()) == ["d1:1"]


def test_a_tick_requests_no_more_than_the_daemon_can_make(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries_sensor, "RUNS_A_TICK", 3)
    for partition in FOUR:
        daemon.deliver(partition, FOUR[partition])
    assert requested(daemon.sensor()) == ["d1:1", "d2:1", "d3:1"]
    assert daemon.project.instance.get_dynamic_partitions("case_batches") == list(FOUR)
    assert requested(daemon.sensor()) == ["d4:1"]


def test_sensor_and_schedule_request_a_delivery_once(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    assert requested(daemon.sensor()) == ["d1:1"]
    daemon.deliver("d2", B)
    assert requested(daemon.schedule()) == ["d2:1"]
    assert requested(daemon.sensor()) == requested(daemon.schedule()) == []
    assert [result.success for result in daemon.load()] == [True, True]
    assert requested(daemon.sensor()) == requested(daemon.schedule()) == []


def test_the_schedule_picks_up_all_that_waits_oldest_first(daemon: Daemon) -> None:
    daemon.deliver("d4", FOUR["d4"])
    daemon.sensor(makes_runs=False)  # seen first; then the daemon died
    for partition in ("d3", "d1", "d2"):
        daemon.deliver(partition, FOUR[partition])
    with pytest.MonkeyPatch.context() as patch:
        lose_time(patch)
        assert requested(daemon.schedule()) == ["d4:1", "d1:1", "d2:1", "d3:1"]
    assert daemon.project.instance.get_dynamic_partitions("case_batches") == ["d4", "d1", "d2", "d3"]
    assert all(result.success for result in daemon.load())


def test_a_lease_whose_run_was_never_made_is_had_by_another_when_it_ends(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.deliver("d1", A)
    assert requested(daemon.schedule(makes_runs=False)) == ["d1:1"]
    assert requested(daemon.sensor()) == []
    lose_time(monkeypatch, deliveries.LEASE - timedelta(seconds=30))
    assert requested(daemon.sensor()) == []
    lose_time(monkeypatch)
    assert requested(daemon.sensor()) == ["d1:1"]
    assert requested(daemon.sensor()) == []


def test_a_tick_that_is_tried_again_finds_what_it_leased(daemon: Daemon) -> None:
    """The daemon died, or the user asked for a preview of the tick: nobody has to wait for the lease to end."""
    daemon.deliver("d1", A)
    assert requested(daemon.sensor(makes_runs=False)) == ["d1:1"]
    assert requested(daemon.sensor()) == ["d1:1"]
    daemon.deliver("d2", B)
    assert requested(daemon.schedule(makes_runs=False)) == ["d2:1"]
    assert requested(daemon.schedule()) == ["d2:1"]
    assert requested(daemon.schedule(SIX + timedelta(days=1))) == []


def test_a_delivery_whose_run_failed_is_not_requested_again(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon.deliver("d1", [(1, "no day", "SYDNEY", "calm")])
    assert requested(daemon.sensor()) == ["d1:1"]
    assert [result.success for result in daemon.load()] == [False]
    lose_time(monkeypatch)
    assert requested(daemon.sensor()) == requested(daemon.schedule()) == []
    daemon.deliver("d1", A)
    assert requested(daemon.sensor()) == ["d1:2"]


def test_what_was_loaded_by_hand_is_not_requested(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    assert daemon.project.run("case", "d1").success
    assert requested(daemon.sensor()) == []
    daemon.deliver("d1", B)
    assert requested(daemon.sensor()) == ["d1:2"]


def test_a_warehouse_that_is_built_anew_gets_everything_again(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    daemon.sensor()
    daemon.load()
    (daemon.project.folder / "vault.duckdb").unlink()
    assert requested(daemon.sensor()) == ["d1:1"]
    assert [result.success for result in daemon.load()] == [True]


@pytest.fixture
def held(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the DuckDB file until the test ends."""
    for module in (deliveries_sensor, deliveries_schedule):
        monkeypatch.setattr(module, "PATIENCE", 0.1)
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    file = str(daemon.project.folder / "vault.duckdb")
    with subprocess.Popen(
        [sys.executable, "-c", code, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.kill()


def test_a_tick_that_finds_the_file_locked_tries_again_later(daemon: Daemon, held: subprocess.Popen[str]) -> None:
    daemon.deliver("d1", A)
    data = daemon.sensor()
    assert requested(data) == []
    assert "the next tick tries again" in data.skip_message
    assert f"PID {held.pid}" in data.skip_message
    with pytest.raises(dg.DagsterUserCodeExecutionError) as raised:
        daemon.schedule()
    assert "could not be picked up" in str(raised.value.__cause__)
    held.kill()
    held.wait()
    assert requested(daemon.schedule()) == ["d1:1"]


QUERIED = {
    **CASE,
    "delivery": {"url": "sqlite:///${XTS_TEST_DATABASE}", "query": "select * from state where day <= :partition"},
    "schedule": {"cron": "30 0 * * *", "timezone": "Europe/Zurich"},
}


@pytest.fixture
def queried(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("XTS_TEST_DATABASE", str(daemon.project.folder / "states.sqlite"))
    engine = sa.create_engine(f"sqlite:///{daemon.project.folder}/states.sqlite")
    with engine.begin() as connection:
        connection.execute(sa.text(f"create table state ({', '.join(f'{name} text' for name in HEADER)})"))
        connection.execute(sa.text("insert into state values ('1', '2021-01-01', 'SYDNEY', 'calm')"))
    engine.dispose()
    declaration = {"type": "xts_pipeline.XtsSource", "attributes": QUERIED}
    (daemon.project.folder / "defs/case/defs.yaml").write_text(yaml.safe_dump(declaration))
    return daemon


def test_a_query_is_asked_once_a_tick_for_the_day_of_the_tick(queried: Daemon) -> None:
    assert not queried.project.definitions.resolve_all_job_defs() or queried.project.definitions.sensors is not None
    tick = datetime(2021, 1, 3, 23, 30, tzinfo=UTC)
    assert requested(queried.schedule(tick)) == ["2021-01-04:1"]
    assert queried.project.instance.get_dynamic_partitions("case_batches") == ["2021-01-04"]
    assert requested(queried.schedule(tick)) == []  # the same tick again
    assert [result.success for result in queried.load()] == [True]
    assert requested(queried.schedule(tick + timedelta(days=1))) == ["2021-01-05:1"]


def test_a_query_has_no_file_sensor(queried: Daemon) -> None:
    repository = queried.project.definitions.get_repository_def()
    assert not [sensor.name for sensor in repository.sensor_defs if sensor.name.startswith("deliveries_")]
    assert [schedule.name for schedule in repository.schedule_defs] == ["schedule_case"]


@pytest.mark.parametrize(
    ("change", "field", "what"),
    [
        ({"schedule": {"cron": "0 6 * * 5##2"}}, "schedule.cron", "invalid cron"),
        ({"schedule": {"cron": "at six"}}, "schedule.cron", "no cron"),
        ({"schedule": {"cron": "0 6 * * *", "timezone": "Zurich"}}, "schedule.timezone", "no IANA time zone"),
        ({"settle": -1}, "settle", "greater than or equal to 0"),
    ],
)
def test_a_fault_in_the_declaration_names_its_field(
    daemon: Daemon, change: dict[str, Any], field: str, what: str
) -> None:
    daemon.project.declare({**CASE, **change})
    with pytest.raises(DeclarationError) as raised:
        _ = daemon.project.definitions
    assert field in str(raised.value)
    assert what in str(raised.value)


def test_the_sensor_runs_when_the_source_says_so(daemon: Daemon) -> None:
    assert status(daemon) == dg.DefaultSensorStatus.RUNNING
    daemon.project.declare(CASE)
    assert status(daemon) == dg.DefaultSensorStatus.STOPPED


def status(daemon: Daemon) -> dg.DefaultSensorStatus:
    return daemon.project.definitions.get_sensor_def("deliveries_case").default_status
