"""One run over several batches: step by step over all of them, with the timeline of one run a batch."""

from __future__ import annotations

import pytest

from xts_pipeline.ledger import all_batches
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project, materialized, metadata_of, steps_of


@pytest.fixture
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[object]]]:
    """The timeline when the four are loaded in another order, without Dagster."""
    alone = Project(tmp_path_factory.mktemp("alone"), instance=None).declare(CASE, **FOUR)  # type: ignore[arg-type]
    with alone.vault() as vault:
        for partition in ("d3", "d1", "d4", "d2"):
            vault.load("case", alone.folder / f"defs/case/data/{partition}.csv", partition)
    return {name: alone.timeline(name).to_numpy().tolist() for name in ("sat_case_city", "sat_case_mood")}


@pytest.mark.parametrize("backfill", ["per_partition", "single_run"])
@pytest.mark.parametrize("registered", [("d1", "d2", "d3", "d4"), ("d3", "d1", "d4", "d2")])
def test_a_range_gives_the_timeline_of_one_by_one(
    project: Project, expected: dict[str, list[list[object]]], registered: tuple[str, ...], backfill: str
) -> None:
    project.declare({**CASE, "backfill": backfill}, **FOUR).register("case", *registered)
    result = project.run_range("case", registered[0], registered[-1])

    made = materialized(result)
    for asset in ("staged/case", "case/xts_switch", "case/sat_xt_hub_customer", "sat_case_city", "case/hub_customer"):
        assert [partition for name, partition in made if name == asset] == ["d1", "d2", "d3", "d4"]
    assert steps_of(result, "STEP_SKIPPED") == {"sat_case_city_normal", "sat_case_mood_normal"}
    branches = [metadata_of(result, "sat_case_city", partition)["xts/branch"] for partition in FOUR]
    assert branches == ["normal", "normal", "normal", "assisted"]
    with project.vault() as vault:
        batches = all_batches(vault.warehouse)
    assert [batch.partition_key for batch in batches] == ["d4", "d3", "d2", "d1"]  # newest first: stamped as sorted
    assert all(batch.is_done for batch in batches)
    for satellite, rows in expected.items():
        assert project.timeline(satellite).to_numpy().tolist() == rows


def test_the_row_count_of_each_partition_is_that_of_its_own_moment(project: Project) -> None:
    project.declare(CASE, **FOUR).register("case", *FOUR)
    result = project.run_range("case", "d1", "d4")
    counts = [metadata_of(result, "sat_case_city", partition)["dagster/row_count"] for partition in FOUR]
    assert counts == [3, 3, 4, 6]


def test_batches_of_others_that_stand_between_are_finished_on_the_way(
    project: Project, expected: dict[str, list[list[object]]]
) -> None:
    project.declare(CASE, **FOUR).register("case", "d1", "d3", "d4", "d2")
    with project.vault() as vault:
        for partition in ("d1", "d2", "d3"):
            vault.stage("case", project.folder / f"defs/case/data/{partition}.csv", partition)
    result = project.run_range("case", "d1", "d4")
    (named,) = metadata_of(result, "case/xts_switch", "d1")["xts/finished_older_batches"]
    assert named.startswith("d2 (")
    with project.vault() as vault:
        assert all(batch.is_done for batch in all_batches(vault.warehouse))
    for satellite, rows in expected.items():
        assert project.timeline(satellite).to_numpy().tolist() == rows
