"""What a run finished for others is checked and told by it; and a check that is tried again says everything once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.errors import WarehouseBusyError
from xts_pipeline.orchestration import checks, cycle_ops, faults, freshness_sensor
from xts_pipeline_tests.orchestration.project import CASE, FOUR, HEADER, Project

CITY: dict[str, Any] = {**CASE, "satellites": CASE["satellites"][:1]}  # type: ignore[index]
VIOLATIONS = dg.AssetCheckKey(dg.AssetKey("sat_case_city"), "sequence_violations")


def evaluation(result: dg.ExecuteInProcessResult, check: str) -> dg.AssetCheckEvaluation:
    (found,) = [each for each in result.get_asset_check_evaluations() if each.check_name == check]
    return found


def dying(monkeypatch: pytest.MonkeyPatch, step: str) -> Any:
    """A step of the cycle that does its work once more, and fails."""

    def die(*_: object, **__: object) -> None:
        raise OSError("the disk is gone")

    return monkeypatch.setattr(cycle_ops, step, die)


@pytest.fixture
def in_order(project: Project) -> Project:
    project.declare(CITY, **FOUR, d5=[(9, "2021-01-06", "CAIRNS", "calm")], d6=[(9, "2021-01-07", "CAIRNS", "calm")])
    for partition in ("d1", "d2", "d3"):
        project.run("case", partition)
    return project


@pytest.mark.parametrize("step", ["switch", "load_satellite", "merge_hub", "close_batch"])
def test_the_violations_of_a_batch_that_another_run_finishes_are_found_by_that_one(
    in_order: Project, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patched:
        dying(patched, step)
        assert not in_order.run("case", "d4", raise_on_error=False).success
    found = evaluation(in_order.run("case", "d5"), "sequence_violations")
    assert not found.passed
    assert found.metadata["xts/partitions"].value == "d4, d5"
    assert "'d4'" in (found.description or "")
    later = evaluation(in_order.run("case", "d6"), "sequence_violations")
    assert later.passed
    assert later.metadata["xts/partitions"].value == "d6"


def test_what_a_run_finished_before_it_died_itself_is_found_by_the_next(
    in_order: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        dying(patched, "load_satellite")
        assert not in_order.run("case", "d4", raise_on_error=False).success
    with monkeypatch.context() as patched:
        dying(patched, "load_satellite")  # after it has finished d4: helping takes another way
        assert not in_order.run("case", "d5", raise_on_error=False).success
    found = evaluation(in_order.run("case", "d6"), "sequence_violations")
    assert not found.passed
    assert found.metadata["xts/partitions"].value == "d4, d5, d6"


def test_the_drift_of_a_batch_that_another_run_finishes_is_found(
    in_order: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "mood" in str(evaluation(in_order.run("case", "d3"), "schema_drift").description)
    in_order.deliver("case", "d5", [(9, "2021-01-06", "CAIRNS")], HEADER[:3])
    with monkeypatch.context() as patched:
        dying(patched, "load_satellite")
        in_order.run("case", "d4", raise_on_error=False)
    assert "(d4)" in str(evaluation(in_order.run("case", "d5"), "schema_drift").description)


def busy_once(monkeypatch: pytest.MonkeyPatch, module: Any, fails: str) -> list[str]:
    """The vault of a module's op is locked for the first attempt: before it opens, or after all was asked."""
    monkeypatch.setattr(faults, "RETRIES", dg.RetryPolicy(max_retries=4, delay=0.01))
    opened: list[str] = []
    working = faults.working_vault

    @contextmanager
    def locked(context: Any, *others: Any) -> Iterator[Any]:
        opened.append(fails)
        with faults.told_apart(context):
            if len(opened) == 1 and fails == "before":
                raise WarehouseBusyError("held")
            with working(context, *others) as vault:
                yield vault
            if len(opened) == 1:
                raise WarehouseBusyError("held")

    monkeypatch.setattr(module, "working_vault", locked)
    return opened


@pytest.mark.parametrize("fails", ["before", "after"])
def test_a_check_that_is_tried_again_says_everything_once(
    project: Project, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    project.declare({**CITY, "freshness": {"max_age": "26h"}}, **FOUR)
    opened = [busy_once(monkeypatch, module, fails) for module in (checks, freshness_sensor)]
    result = project.run("case", "d1")
    assert [len(of) for of in opened] == [2, 2]
    keys = [(each.asset_key, each.check_name) for each in result.get_asset_check_evaluations()]
    assert len(keys) == len(set(keys))
    assert {"freshness", "schema_drift"} <= {name for _, name in keys}
