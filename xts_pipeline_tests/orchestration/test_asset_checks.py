"""The asset checks in Dagster: when they run, what severity they have, what they show."""

from __future__ import annotations

import dagster as dg
import duckdb
import pytest

from xts_pipeline.orchestration import checks
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project


def evaluations(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str], dg.AssetCheckEvaluation]:
    found = result.get_asset_check_evaluations()
    return {(each.asset_key.to_user_string(), each.check_name): each for each in found}


def ask_all(project: Project) -> dict[tuple[str, str], dg.AssetCheckEvaluation]:
    """Ask every check by hand, without a partition."""
    only_checks = dg.define_asset_job("only_checks", dg.AssetSelection.all_asset_checks())
    definitions = dg.Definitions.merge(project.definitions, dg.Definitions(jobs=[only_checks]))
    return evaluations(definitions.resolve_job_def("only_checks").execute_in_process(instance=project.instance))


def test_a_late_batch_is_a_warning_with_its_rows(project: Project) -> None:
    project.declare(CASE, **FOUR)
    for partition in ("d1", "d2", "d3"):
        assert all(each.passed for each in evaluations(project.run("case", partition)).values())
    found = evaluations(project.run("case", "d4"))

    assert {key for key, each in found.items() if not each.passed} == {
        ("sat_case_city", "sequence_violations"),
        ("sat_case_mood", "sequence_violations"),
    }
    violations = found["sat_case_city", "sequence_violations"]
    assert violations.severity == dg.AssetCheckSeverity.WARN
    assert violations.metadata["xts/found"].value == 2
    assert violations.metadata["xts/partitions"].value == "d4"
    assert "xts violations" in str(violations.metadata["xts/advice"].value)
    assert len(violations.metadata["xts/rows"].value.records) == 2  # type: ignore[union-attr]
    assert "2 d" in (violations.description or "")


def test_the_checks_of_a_run_hang_on_the_satellites_and_the_sources_own_nodes(project: Project) -> None:
    project.declare(CASE, **FOUR)
    found = evaluations(project.run("case", "d1"))
    per_satellite = [
        "ghost_present",
        "hashdiff",
        "keys_in_parent",
        "lateness",
        "ledger_counts",
        "sequence_violations",
        "timeline_invariant",
        "unique_keys",
        "xts_complete",
    ]
    assert sorted(found) == [
        ("case/hub_customer", "unique_keys"),
        ("case/sat_xt_hub_customer", "unique_keys"),
        *(("sat_case_city", name) for name in per_satellite),
        *(("sat_case_mood", name) for name in per_satellite),
        ("staged/case", "open_batches"),
        ("staged/case", "rejected_rows"),
        ("staged/case", "schema_drift"),
    ]


def test_a_range_gives_one_evaluation_that_names_its_partitions(project: Project) -> None:
    project.declare(CASE, **FOUR).register("case", *FOUR)
    result = project.run_range("case", "d1", "d4")
    assert len(result.get_asset_check_evaluations()) == len(evaluations(result))
    violations = evaluations(result)["sat_case_city", "sequence_violations"]
    assert violations.metadata["xts/partitions"].value == "d1, d2, d3, d4"
    assert violations.metadata["xts/found"].value == 2


def test_many_batches_are_asked_about_at_once_where_batches_do_not_matter(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "MANY_BATCHES", 2)
    project.declare(CASE, **FOUR).register("case", *FOUR)
    found = evaluations(project.run_range("case", "d1", "d4"))
    assert "in batch" not in (found["sat_case_city", "timeline_invariant"].description or "")
    assert found["sat_case_city", "timeline_invariant"].passed
    assert found["sat_case_city", "sequence_violations"].metadata["xts/found"].value == 2


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        ("delete from vault.sat_case_city where city = 'BRISBANE'", "timeline_invariant"),
        ("insert into vault.sat_case_city select * from vault.sat_case_city", "unique_keys"),
        ("delete from vault.sat_case_city where dv_sid = 0", "ghost_present"),
        ("delete from vault.hub_customer where id = '1'", "keys_in_parent"),
    ],
)
def test_damage_is_an_error_that_a_check_by_hand_finds(project: Project, damage: str, check: str) -> None:
    project.declare(CASE, **FOUR).register("case", *FOUR)
    project.run_range("case", "d1", "d4")
    with duckdb.connect(str(project.folder / "vault.duckdb")) as connection:
        connection.execute("use vault.main")
        connection.execute(damage.replace("vault.", "vault.vault."))
    found = ask_all(project)["sat_case_city", check]
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.ERROR
    assert found.metadata["xts/partitions"].value == "all"
    assert found.metadata["xts/advice"].value


def test_columns_that_nobody_declared_are_a_warning_about_their_delivery(project: Project) -> None:
    project.declare(CASE, **FOUR)
    drift = ("staged/case", "schema_drift")
    assert evaluations(project.run("case", "d1"))[drift].passed
    project.deliver("case", "d2", [(1, "2021-01-03", "SYDNEY", "calm", 9)], ("id", "day", "city", "mood", "shoe_size"))
    found = evaluations(project.run("case", "d2"))[drift]
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert found.metadata["xts/columns"].value == ["shoe_size"]
    assert "declare the columns" in str(found.metadata["xts/advice"].value)
    assert not ask_all(project)[drift].passed
    assert evaluations(project.run("case", "d3"))[drift].passed
    assert ask_all(project)[drift].passed  # of the newest delivery


def test_a_check_that_passes_shows_its_figures_too(project: Project) -> None:
    project.declare(CASE, **FOUR).register("case", *FOUR)
    found = evaluations(project.run_range("case", "d1", "d4"))["sat_case_city", "lateness"]
    assert found.passed
    assert (found.metadata["xts/late_rows"].value, found.metadata["xts/worst"].value) == (2, "2 d")
    assert len(found.metadata["xts/rows"].value.records) == 2  # type: ignore[union-attr]
