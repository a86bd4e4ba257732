"""Re-execution from failure in the middle of a cycle ends right."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.definitions import build_definitions
from xts_pipeline.ledger import all_batches
from xts_pipeline.orchestration import cycle_ops
from xts_pipeline_tests.orchestration.project import CASE, FOUR, RANGE_END, RANGE_START, Project

DEFS_VARIABLE = "XTS_TEST_DEFS"
PARTITION = "dagster/partition"


def load_case() -> dg.JobDefinition:
    """What Dagster calls to make the job again."""
    return build_definitions(Path(os.environ[DEFS_VARIABLE])).resolve_job_def("load_case")


def execute(project: Project, tags: dict[str, str], parent: str | None = None) -> Any:
    job = dg.reconstructable(load_case)
    if parent is None:
        return dg.execute_job(job, project.instance, tags=tags)
    options = dg.ReexecutionOptions.from_failure(parent, project.instance)
    return dg.execute_job(job, project.instance, tags=tags, reexecution_options=options)


def break_once(patch: pytest.MonkeyPatch, step: str, partition: str) -> None:
    real = getattr(cycle_ops, step)
    broken: list[str] = []

    def once(*args: Any, **kwargs: Any) -> Any:
        if not broken and any(getattr(arg, "partition_key", None) == partition for arg in args):
            broken.append(partition)
            raise OSError("the network is gone")
        return real(*args, **kwargs)

    patch.setattr(cycle_ops, step, once)


@pytest.mark.parametrize("step", ["insert_xts", "load_satellite", "merge_hub", "close_batch"])
def test_a_late_batch_that_failed_in_the_middle(project: Project, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    project.declare(CASE, **FOUR)
    monkeypatch.setenv(DEFS_VARIABLE, str(project.folder / "defs"))
    for partition in ("d1", "d2", "d3"):
        project.run("case", partition)
    project.register("case", "d4")
    break_once(monkeypatch, step, "d4")

    tags = {PARTITION: "d4"}
    with execute(project, tags) as failed:
        assert not failed.success
    with execute(project, tags, parent=failed.run_id) as again:
        assert again.success
        started = {event.step_key.rpartition(".")[2] for event in again.all_events if event.is_step_start}
    assert "staged__case" not in started
    assert "switch_case" not in started
    check_timeline(project)


def test_a_range_that_failed_in_the_middle(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.declare(CASE, **FOUR).register("case", *FOUR)
    monkeypatch.setenv(DEFS_VARIABLE, str(project.folder / "defs"))
    break_once(monkeypatch, "load_satellite", "d3")
    tags = {RANGE_START: "d1", RANGE_END: "d4"}
    with execute(project, tags) as failed:
        assert not failed.success
    with execute(project, tags, parent=failed.run_id) as again:
        assert again.success
    check_timeline(project)


def test_what_another_run_has_finished_meanwhile(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.declare(CASE, **FOUR).register("case", *FOUR)
    monkeypatch.setenv(DEFS_VARIABLE, str(project.folder / "defs"))
    break_once(monkeypatch, "load_satellite", "d1")
    tags = {PARTITION: "d1"}
    with execute(project, tags) as failed:
        assert not failed.success
    for partition in ("d2", "d3", "d4"):
        project.run("case", partition)  # d2 rolls d1 forward
    with execute(project, tags, parent=failed.run_id) as again:
        assert again.success
    check_timeline(project)


def check_timeline(project: Project) -> None:
    timeline = project.timeline("sat_case_city")
    assert timeline[timeline["id"] == "1"]["city"].tolist() == [
        "SYDNEY",
        "BRISBANE",
        "SYDNEY",
        "HOBART",
        "HOBART",
        "HOBART",
    ]
    with project.vault() as vault:
        assert all(batch.is_done for batch in all_batches(vault.warehouse))
        assert vault.query("select count(*) as n from sat_case_city where dv_sid <> 0")["n"].item() == 5
