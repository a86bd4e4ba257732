"""Failed runs: each delivery's failure is told once and resolved alone, in whatever order the two sensors see runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.orchestration import cycle_ops, notify
from xts_pipeline.orchestration.delivery_runs import DELIVERY_TAG
from xts_pipeline_tests.orchestration.listener import Listener, listening
from xts_pipeline_tests.orchestration.project import CASE, RANGE_END, RANGE_START, Project
from xts_pipeline_tests.orchestration.test_alerts import ROUTE, finished

HEADER = ("id", "day", "city")
GOOD = [(1, "2021-01-01", "SYDNEY")]
BAD = [(1, "no day", "SYDNEY")]
WORSE = [(1, "2021-01-01", "SYDNEY"), (1, "2021-01-01", "PERTH")]
FAILURES: dict[str, Any] = {
    **CASE,
    "satellites": CASE["satellites"][:1],  # type: ignore[index]
    "alerts": [{"checks": ["run_failure"], "route": ROUTE}],
}


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.setattr(notify, "FIRST_PAUSE", 0.001)
    with listening() as found:
        monkeypatch.setenv(ROUTE, found.url)
        yield found


def told(listener: Listener) -> list[tuple[str, str]]:
    """Whether a message says failed or resolved, and of which partition; they are taken off the listener."""
    found = []
    for each in listener.received:
        lines = each["message"].splitlines()
        if each["title"].startswith("[resolved]"):
            found.append(("resolved", lines[0].split()[1]))
        else:
            found.append(("failed", next(line for line in lines if line.startswith("partition: "))[11:]))
    listener.received.clear()
    return found


def run(project: Project, partition: str, rows: Sequence[Sequence[object]], **tags: str) -> dg.ExecuteInProcessResult:
    project.deliver("case", partition, rows, HEADER)
    project.register("case", partition)
    job = project.definitions.resolve_job_def("load_case")
    return job.execute_in_process(
        instance=project.instance, partition_key=partition, raise_on_error=False, tags={**tags}
    )


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_each_failure_is_told_once_whatever_else_loads(
    project: Project, listener: Listener, order: tuple[int, ...]
) -> None:
    project.declare(FAILURES)
    results = [run(project, *of) for of in (("d1", BAD), ("d2", GOOD), ("d3", BAD))]
    for index in order:
        finished(project, results[index])
    assert sorted(told(listener)) == [("failed", "d1"), ("failed", "d3")]
    finished(project, run(project, "d1", GOOD))
    assert told(listener) == [("resolved", "d1")]
    finished(project, run(project, "d3", GOOD))
    assert told(listener) == [("resolved", "d3")]


def test_a_failure_that_is_looked_at_after_it_was_mended_tells_nothing(project: Project, listener: Listener) -> None:
    project.declare(FAILURES)
    failed, mended = run(project, "d1", BAD), run(project, "d1", GOOD)
    finished(project, mended)
    finished(project, failed)
    assert told(listener) == []


def test_a_success_before_a_failure_resolves_nothing(project: Project, listener: Listener) -> None:
    project.declare(FAILURES)
    loaded, failed = run(project, "d1", GOOD), run(project, "d1", BAD)
    finished(project, failed)
    finished(project, loaded)
    assert told(listener) == [("failed", "d1")]


def test_a_failure_that_lasts_is_not_resolved_by_a_success_between(project: Project, listener: Listener) -> None:
    project.declare(FAILURES)
    first = run(project, "d1", BAD)
    finished(project, first)
    loaded, again = run(project, "d1", GOOD), run(project, "d1", BAD)
    finished(project, again)
    finished(project, loaded)
    assert told(listener) == [("failed", "d1")]


def test_another_failure_of_the_same_partition_is_told(project: Project, listener: Listener) -> None:
    project.declare(FAILURES)
    finished(project, run(project, "d1", BAD))
    finished(project, run(project, "d1", BAD, **{DELIVERY_TAG: "d1:2"}))  # a correction, as wrong
    finished(project, run(project, "d1", BAD, **{DELIVERY_TAG: "d1:2"}))  # that run re-executed
    assert told(listener) == [("failed", "d1"), ("failed", "d1")]


def test_a_delivery_that_another_run_finishes_is_resolved_by_it(
    project: Project, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.declare(FAILURES)

    def die(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(cycle_ops, "load_satellite", die)
        finished(project, run(project, "d1", GOOD))
        assert told(listener) == [("failed", "d1")]
        finished(project, run(project, "d2", GOOD))  # finishes d1, and dies of the same
    assert sorted(told(listener)) == [("failed", "d2"), ("resolved", "d1")]
    finished(project, run(project, "d3", GOOD))
    assert told(listener) == [("resolved", "d2")]


def test_staging_alone_loads_nothing(project: Project, listener: Listener) -> None:
    project.declare(FAILURES)
    finished(project, run(project, "d1", BAD))
    listener.received.clear()
    project.deliver("case", "d1", GOOD, HEADER)
    job = project.definitions.resolve_job_def("load_case")
    selected = [dg.AssetKey(["staged", "case"])]
    result = job.execute_in_process(instance=project.instance, partition_key="d1", asset_selection=selected)
    assert result.success
    finished(project, result)
    assert told(listener) == []


def test_a_range_that_failed_is_one_message_and_resolved_partition_by_partition(
    project: Project, listener: Listener
) -> None:
    project.declare(FAILURES)
    for partition, rows in (("d1", GOOD), ("d2", BAD)):
        project.deliver("case", partition, rows, HEADER)
    project.register("case", "d1", "d2")
    job = project.definitions.resolve_job_def("load_case")
    tags = {RANGE_START: "d1", RANGE_END: "d2"}
    finished(project, job.execute_in_process(instance=project.instance, tags=tags, raise_on_error=False))
    assert told(listener) == [("failed", "d1, d2")]
    project.deliver("case", "d2", GOOD, HEADER)
    finished(project, project.run_range("case", "d1", "d2"))
    assert sorted(told(listener)) == [("resolved", "d1"), ("resolved", "d2")]
