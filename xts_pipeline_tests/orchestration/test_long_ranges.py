"""A run over more partitions than are told of one by one: what is recorded is the same, what is logged is less."""

from __future__ import annotations

from datetime import date, timedelta

import dagster as dg
import pytest

from xts_pipeline.ledger import all_batches
from xts_pipeline.orchestration import checks, telling
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project, metadata_of, steps_of

DAYS = [date(2021, 1, 1) + timedelta(days=number) for number in range(9)]


def loaded(project: Project, days: list[date]) -> dg.ExecuteInProcessResult:
    """One run over the deliveries p0 to p8, each of one of these days."""
    rows = {f"p{at}": [(1, str(day), f"CITY {day.day // 3}", "calm")] for at, day in enumerate(days)}
    project.declare({**CASE, "backfill": "single_run"}, **rows).register("case", *rows)
    return project.run_range("case", "p0", "p8")


def logged(result: dg.ExecuteInProcessResult, project: Project, step: str) -> list[str]:
    """What an op has said itself."""
    logs = project.instance.all_logs(result.run_id)
    said = [each.user_message for each in logs if not each.is_dagster_event and (each.step_key or "").endswith(step)]
    return [line for line in said if not line.startswith(("Writing file", "Loading file"))]  # the IO manager's


def test_a_long_range_logs_some_lines_with_how_far_it_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "LINES", 3)
    result = loaded(project, DAYS)
    for step in ("staged__case", "switch_case", "sat_case_city_normal"):
        assert [line.partition(":")[0] for line in logged(result, project, step)] == ["3 of 9", "6 of 9", "9 of 9"]


def test_a_short_range_logs_every_partition(project: Project) -> None:
    result = loaded(project, DAYS)
    assert [line.partition(":")[0] for line in logged(result, project, "switch_case")] == [f"p{at}" for at in range(9)]


def test_each_partition_has_the_figures_of_its_own_batch(project: Project) -> None:
    result = loaded(project, DAYS)
    for asset in ("staged/case", "case/xts_switch", "sat_case_city", "case/hub_customer"):
        batches = [metadata_of(result, asset, f"p{at}")["xts/batch"] for at in range(9)]
        assert len(set(batches)) == 9, asset
        assert batches == sorted(batches), asset
    written = [metadata_of(result, "sat_case_city", f"p{at}")["xts/inserted"] for at in range(9)]
    assert written == [1, 0, 1, 0, 0, 1, 0, 0, 1]
    counts = [metadata_of(result, "sat_case_city", f"p{at}")["dagster/row_count"] for at in range(9)]
    assert counts == [2, 2, 3, 3, 3, 4, 4, 4, 5]  # with the ghost record


@pytest.mark.parametrize("late", [[], [7], [1, 8]])
def test_batches_that_are_asked_about_together_are_judged_as_one_by_one(
    project: Project, monkeypatch: pytest.MonkeyPatch, late: list[int]
) -> None:
    monkeypatch.setattr(checks, "MANY_BATCHES", 3)
    result = loaded(project, [DAYS[0] - timedelta(days=at) if at in late else day for at, day in enumerate(DAYS)])
    with project.vault() as vault:
        batches = list(reversed(all_batches(vault.warehouse)))
        (check,) = (
            check
            for check in checks.checks_of(vault.catalog.source("case"))
            if (check.satellite, check.name) == ("sat_case_city", "sequence_violations")
        )
        one_by_one = {batch.batch_id: check.run(vault.warehouse, batch) for batch in batches}
    (found,) = (
        of
        for of in result.get_asset_check_evaluations()
        if (of.asset_key.to_user_string(), of.check_name) == ("sat_case_city", "sequence_violations")
    )
    failed = [batch for batch, of in one_by_one.items() if not of.passed]
    assert len(failed) == len(late)
    assert found.passed is not bool(late)
    assert (found.metadata["xts/batches"].value if late else []) == failed
    assert found.metadata["xts/found"].value == sum(of.found for of in one_by_one.values())


def test_a_check_that_others_hang_on_an_asset_is_in_the_job(project: Project) -> None:
    project.declare(CASE, **FOUR).register("case", "d1")

    @dg.asset_check(asset="sat_case_city", name="theirs")
    def theirs() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    job = dg.Definitions.merge(project.definitions, dg.Definitions(asset_checks=[theirs])).resolve_job_def("load_case")
    result = job.execute_in_process(instance=project.instance, partition_key="d1")
    assert "theirs" in {of.check_name for of in result.get_asset_check_evaluations()}
    assert {"sat_case_city_theirs", "checks_case"} <= steps_of(result, "STEP_SUCCESS")
