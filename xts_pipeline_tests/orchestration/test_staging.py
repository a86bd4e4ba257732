"""The staging asset: what was read is registered, an empty extract loads, and a bad partition stops no other."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from xts_pipeline import Vault
from xts_pipeline.definitions import build_definitions
from xts_pipeline.ledger import all_batches
from xts_pipeline_tests.orchestration.project import (
    CASE,
    FOUR,
    HEADER,
    RANGE_END,
    RANGE_START,
    Project,
    materialized,
    metadata_of,
)
from xts_pipeline_tests.orchestration.test_deliveries import SCHEDULED, A, B, Daemon, daemon, requested
from xts_pipeline_tests.orchestration.test_reexecution import DEFS_VARIABLE, check_timeline

__all__ = ["daemon"]  # a fixture
BAD = [(1, "no day", "HOBART", "calm")]
RANGE = {RANGE_START: "d1", RANGE_END: "d4"}
ASSETS = ("staged/case", "case/xts_switch", "case/sat_xt_hub_customer", "sat_case_city", "case/hub_customer")


def begins(daemon: Daemon) -> str:
    """The first day of which the vault knows anything: 2021-01-01 of A, 2021-01-03 of B."""
    return str(daemon.project.timeline("sat_case_city")["on"].min())


def reading(patch: pytest.MonkeyPatch, before: Callable[[], object], after: Callable[[], object]) -> None:
    """Something happens just before the file is read, and something just after."""
    real = Vault.stage

    def stage(*args: Any, **kwargs: Any) -> Any:
        before()
        try:
            return real(*args, **kwargs)
        finally:
            after()

    patch.setattr(Vault, "stage", stage)


def swap(daemon: Daemon) -> tuple[Callable[[], object], Callable[[], object]]:
    return lambda: daemon.deliver("d1", B), lambda: daemon.deliver("d1", A)


def swap_and_keep_away(daemon: Daemon) -> tuple[Callable[[], object], Callable[[], object]]:
    path = daemon.project.folder / "defs/case/data/d1.csv"
    aside = path.rename(path.with_suffix(".aside"))
    path.write_bytes(aside.read_bytes())
    os.utime(path, (7, 7))
    return lambda: daemon.deliver("d1", B), lambda: path.unlink()


def rename(daemon: Daemon) -> tuple[Callable[[], object], Callable[[], object]]:
    path = daemon.project.folder / "defs/case/data/d1.csv"
    other, aside = daemon.deliver("b", B).rename(path.with_suffix(".b")), path.with_suffix(".aside")
    return (
        lambda: (path.rename(aside), other.rename(path)),
        lambda: (path.rename(other), aside.rename(path)),
    )


def relink(daemon: Daemon) -> tuple[Callable[[], object], Callable[[], object]]:
    path = daemon.project.folder / "defs/case/data/d1.csv"
    one, other = path.rename(path.with_suffix(".a")), daemon.deliver("b", B).rename(path.with_suffix(".b"))
    path.symlink_to(one)
    return lambda: point(path, other), lambda: point(path, one)


def point(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("change", [swap, swap_and_keep_away, rename, relink])
def test_a_file_that_was_another_while_it_was_read_is_delivered_again(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, change: Callable[[Daemon], Any]
) -> None:
    daemon.deliver("d1", A)
    before, after = change(daemon)
    assert requested(daemon.sensor()) == ["d1:1"]
    with monkeypatch.context() as patch:
        reading(patch, before, after)
        (result,) = daemon.load()
    assert result.success
    assert begins(daemon) == "2021-01-03"  # B was read
    if change is swap_and_keep_away:
        assert requested(daemon.sensor()) == []
        (daemon.project.folder / "defs/case/data/d1.aside").rename(daemon.project.folder / "defs/case/data/d1.csv")
    assert requested(daemon.sensor()) == ["d1:3"]  # what was read is the second
    assert [again.success for again in daemon.load()] == [True]
    assert begins(daemon) == "2021-01-01"
    assert requested(daemon.sensor()) == []


def test_a_file_that_stays_as_it_is_while_it_is_read_is_one_delivery(daemon: Daemon) -> None:
    daemon.deliver("d1", A)
    assert daemon.project.run("case", "d1").success
    with daemon.project.vault() as vault:
        rows = vault.query("select delivery_number, staged_at is not null as staged from delivery")
    assert rows.to_numpy().tolist() == [[1, True]]


@pytest.mark.parametrize("type_", ["text", None])
def test_an_empty_extract_after_a_column_was_declared(daemon: Daemon, type_: str | None) -> None:
    daemon.deliver("d1", A)
    daemon.sensor()
    assert [result.success for result in daemon.load()] == [True]
    grown = {**CASE["satellites"][0], "columns": {"city": "text", "note": type_}}
    daemon.project.declare({**SCHEDULED, "satellites": [grown, CASE["satellites"][1]]})
    for partition, rows in (("d2", []), ("d3", [(*row, "a note") for row in FOUR["d3"]])):
        daemon.project.deliver("case", partition, rows, (*HEADER, "note"))
        os.utime(daemon.project.folder / f"defs/case/data/{partition}.csv", (7, 7))
        assert requested(daemon.sensor()) == [f"{partition}:1"]
        assert [result.success for result in daemon.load()] == [True]
    with daemon.project.vault() as vault:
        assert {batch.partition_key: batch.status for batch in all_batches(vault.warehouse)} == dict.fromkeys(
            ("d1", "d2", "d3"), "done"
        )
        assert vault.as_of("sat_case_city")["note"].tolist() == ["a note", "a note"]


@pytest.fixture
def ranged(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Four partitions for one run, of which the third is bad."""
    monkeypatch.setenv(DEFS_VARIABLE, str(project.folder / "defs"))
    project.declare({**CASE, "backfill": "single_run"}, **{**FOUR, "d3": BAD}).register("case", *FOUR)
    return project


def load_ranged_case() -> dg.JobDefinition:
    """What Dagster calls to make the job again, once a process: of one test alone."""
    return build_definitions(Path(os.environ[DEFS_VARIABLE])).resolve_job_def("load_case")


def execute(project: Project, parent: str | None = None) -> Any:
    options = dg.ReexecutionOptions.from_failure(parent, project.instance) if parent else None
    job = dg.reconstructable(load_ranged_case)
    return dg.execute_job(job, project.instance, tags=RANGE, reexecution_options=options)


def run(project: Project) -> dg.ExecuteInProcessResult:
    job = build_definitions(project.folder / "defs").resolve_job_def("load_case")
    return job.execute_in_process(instance=project.instance, tags=RANGE, raise_on_error=False)


def failure(result: dg.ExecuteInProcessResult) -> str:
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    return str(event.step_failure_data.user_failure_data or event.step_failure_data.error)


def test_a_bad_partition_of_a_range_is_named_and_the_others_are_loaded(ranged: Project) -> None:
    result = run(ranged)
    assert not result.success
    assert "1 of 4 partitions cannot be staged; the other 3 are loaded" in failure(result)
    assert "d3: source case" in failure(result)
    made = materialized(result)
    for asset in ASSETS:
        assert [partition for name, partition in made if name == asset] == ["d1", "d2", "d4"]
    assert metadata_of(result, "sat_case_city", "d4")["xts/branch"] == "assisted"
    with ranged.vault() as vault:
        assert [(batch.partition_key, batch.status) for batch in all_batches(vault.warehouse)] == [
            ("d4", "done"),
            ("d2", "done"),
            ("d1", "done"),
        ]
        assert vault.closed_until == all_batches(vault.warehouse)[0].load_timestamp
        waits = vault.query("select partition_key from delivery where staged_at is null")
    assert waits["partition_key"].tolist() == ["d3"]


def test_a_range_of_bad_partitions_alone_names_them(ranged: Project) -> None:
    for partition in FOUR:
        ranged.deliver("case", partition, BAD)
    result = run(ranged)
    assert "4 of 4 partitions cannot be staged" in failure(result)
    assert materialized(result) == []


def test_a_fault_that_is_none_of_the_datas_stops_no_other_either_and_keeps_its_traceback(
    ranged: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranged.deliver("case", "d3", FOUR["d3"])
    real = Vault.stage

    def stage(vault: Vault, source: str, data: object, partition: str, **kwargs: Any) -> Any:
        if partition == "d2":
            raise MemoryError("out of memory")
        return real(vault, source, data, partition, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Vault, "stage", stage)
        result = run(ranged)
    assert "d2: out of memory" in failure(result)
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    assert "MemoryError" in str(event.step_failure_data.error)
    assert {partition for _, partition in materialized(result) if partition} == {"d1", "d3", "d4"}


def test_a_range_that_is_executed_again_from_its_failure_ends_right(ranged: Project) -> None:
    with execute(ranged) as failed:
        assert not failed.success
    with execute(ranged, parent=failed.run_id) as still:
        assert not still.success
    ranged.deliver("case", "d3", FOUR["d3"])
    with execute(ranged, parent=still.run_id) as again:
        assert again.success
    check_mended(ranged)


def test_a_range_that_is_launched_again_ends_right(ranged: Project) -> None:
    assert not run(ranged).success
    ranged.deliver("case", "d3", FOUR["d3"])
    assert run(ranged).success
    check_mended(ranged)


def check_mended(project: Project) -> None:
    check_timeline(project)
    with project.vault() as vault:
        assert [batch.partition_key for batch in all_batches(vault.warehouse)] == ["d3", "d4", "d2", "d1"]


def test_a_bad_partition_of_a_range_is_loaded_alone_when_it_is_delivered_again(ranged: Project) -> None:
    daemon = Daemon(ranged)
    run(ranged)
    daemon.deliver("d3", FOUR["d3"])
    assert requested(daemon.sensor()) == ["d3:2"]
    assert [result.success for result in daemon.load()] == [True]
    check_timeline(ranged)
