"""The load cycle of one source in Dagster: what runs, what is skipped, what each asset says."""

from __future__ import annotations

import sys
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.ledger import Figures, open_batches
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project, materialized, metadata_of, steps_of

OWN_ASSETS = (
    "case/hub_customer",
    "case/sat_xt_hub_customer",
    "case/xts_switch",
    "sat_case_city",
    "sat_case_mood",
    "staged/case",
)
TABLE_NODES = ("hub_customer", "sat_xt_hub_customer")


def test_a_cycle_takes_one_branch_and_shows_the_other_as_skipped(project: Project) -> None:
    project.declare(CASE, **FOUR)
    in_sequence = project.run("case", "d1")
    project.run("case", "d2")
    late = project.run("case", "d4")

    assert steps_of(in_sequence, "STEP_SKIPPED") == {"sat_case_city_assisted", "sat_case_mood_assisted"}
    assert steps_of(late, "STEP_SKIPPED") == {"sat_case_city_normal", "sat_case_mood_normal"}
    for result in (in_sequence, late):
        assert {"sat_case_city_loaded", "merge_case_hub_customer", "close_case"} <= steps_of(result, "STEP_SUCCESS")


def test_every_asset_is_materialized_once_a_partition_and_every_table_once_a_run(project: Project) -> None:
    project.declare(CASE, **FOUR)
    result = project.run("case", "d1")
    expected = [*((asset, "d1") for asset in OWN_ASSETS), *((table, None) for table in TABLE_NODES)]
    assert materialized(result) == sorted(expected, key=str)


def test_what_the_assets_say_of_a_late_batch(project: Project) -> None:
    project.declare(CASE, **FOUR)
    for partition in ("d1", "d2", "d3"):
        project.run("case", partition)
    result = project.run("case", "d4")

    staged = metadata_of(result, "staged/case")
    switched = metadata_of(result, "case/xts_switch")
    city = metadata_of(result, "sat_case_city")
    mood = metadata_of(result, "sat_case_mood")
    hub = metadata_of(result, "case/hub_customer")
    assert (staged["xts/rows_staged"], staged["xts/replayed"], staged["dagster/row_count"]) == (2, False, 2)
    assert staged["xts/delivery"].endswith("d4.csv")
    assert (switched["xts/verdict"], switched["xts/late_rows"], switched["xts/corrected_rows"]) == ("assisted", 4, 0)
    assert [row.data["satellite"] for row in switched["xts/figures"].records] == ["sat_case_city", "sat_case_mood"]
    assert (city["xts/branch"], city["xts/inserted"], city["xts/copied"]) == ("assisted", 1, 1)
    assert (city["xts/rows_read"], city["xts/violations"], city["xts/late_keys"]) == (2, 2, 2)
    assert (mood["xts/inserted"], mood["xts/copied"], mood["xts/violations"]) == (0, 0, 2)
    assert city["dagster/row_count"] == 1 + 5  # the ghost, and five states
    assert [column.name for column in city["dagster/column_schema"].columns] == ["city"]
    assert (hub["xts/inserted"], hub["dagster/row_count"]) == (0, 2)
    assert len({each["xts/batch"] for each in (staged, switched, city, mood, hub)}) == 1
    assert len({each["xts/load_timestamp"] for each in (staged, switched, city, mood, hub)}) == 1


def test_four_batches_one_by_one_whose_last_is_late(project: Project) -> None:
    project.declare(CASE, **FOUR)
    for partition in FOUR:
        assert project.run("case", partition).success
    timeline = project.timeline("sat_case_city")
    first = timeline[timeline["id"] == "1"]["city"].tolist()
    assert first == ["SYDNEY", "BRISBANE", "SYDNEY", "HOBART", "HOBART", "HOBART"]


def test_a_finished_partition_run_again_is_a_replay_that_changes_nothing(project: Project) -> None:
    project.declare(CASE, **FOUR)
    first = project.run("case", "d1")
    before = project.timeline("sat_case_city")
    again = project.run("case", "d1")
    for asset in ("case/xts_switch", "case/sat_xt_hub_customer", "sat_case_city", "case/hub_customer"):
        assert "xts/done_before_by" not in metadata_of(first, asset)
        assert metadata_of(again, asset)["xts/done_before_by"] == first.run_id
    assert metadata_of(again, "staged/case")["xts/replayed"] is True
    assert metadata_of(again, "sat_case_city")["dagster/row_count"] == 1 + 2
    assert project.timeline("sat_case_city").equals(before)


def test_an_empty_first_delivery_is_a_success(project: Project) -> None:
    """Nothing tells the types yet, so no table is made; the next delivery makes them."""
    untyped = {**CASE["satellites"][0], "columns": ["city"]}  # type: ignore[index]
    project.declare({**CASE, "satellites": [untyped]}, d0=[], **FOUR)
    result = project.run("case", "d0")
    assert metadata_of(result, "staged/case")["xts/rows_staged"] == 0
    assert metadata_of(result, "sat_case_city")["xts/branch"] == "normal"
    assert project.run("case", "d1").success


def test_a_partition_that_is_not_staged_names_the_staging_asset(project: Project) -> None:
    project.declare(CASE, **FOUR).register("case", "d1")
    job = project.definitions.resolve_implicit_global_asset_job_def()
    cycle = [key for key in job.asset_layer.executable_asset_keys if key.path[0] != "staged"]
    with pytest.raises(dg.Failure, match="materialize the asset staged/case"):
        job.execute_in_process(instance=project.instance, partition_key="d1", asset_selection=cycle)


def test_a_run_finishes_what_another_left_open_and_says_so(project: Project) -> None:
    project.declare(CASE, **FOUR)
    with project.vault() as vault:
        vault.stage("case", project.folder / "defs/case/data/d1.csv", "d1")
    result = project.run("case", "d2")
    (named,) = metadata_of(result, "case/xts_switch")["xts/finished_older_batches"]
    assert named.startswith("d1 (")
    with project.vault() as vault:
        assert open_batches(vault.warehouse) == []


def test_a_faulty_delivery_fails_the_run_and_writes_nothing(project: Project) -> None:
    project.declare(CASE, d1=[(1, "no day", "SYDNEY", "calm")])
    result = project.run("case", "d1", raise_on_error=False)
    assert not result.success
    assert materialized(result) == []
    assert steps_of(result, "STEP_FAILURE") == {"staged__case"}


def test_a_verdict_that_was_wrong_is_overruled_by_the_load_and_both_are_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.declare(CASE, **FOUR)
    for partition in ("d1", "d2", "d3"):
        project.run("case", partition)
    module = sys.modules["xts_pipeline.cycle.switch"]
    judge, asked = module.judge, []

    def wrong_at_first(*args: Any) -> Figures:
        asked.append(args)
        return Figures(verdict="normal") if len(asked) <= len(CASE["satellites"]) else judge(*args)

    monkeypatch.setattr(module, "judge", wrong_at_first)
    late = project.run("case", "d4")

    assert steps_of(late, "STEP_SKIPPED") == {"sat_case_city_assisted", "sat_case_mood_assisted"}
    told = metadata_of(late, "sat_case_city")
    assert (told["xts/branch"], told["xts/overruled"]) == ("assisted", "the SWITCH had said normal")
    timeline = project.timeline("sat_case_city")
    assert timeline[timeline["id"] == "1"]["city"].tolist()[:3] == ["SYDNEY", "BRISBANE", "SYDNEY"]
