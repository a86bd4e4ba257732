"""The figures of a run over several batches are those of all its rows, and not sums or maxima of each batch's."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import dagster as dg
import duckdb
import pytest

from xts_pipeline.checks import checks_of, spoken
from xts_pipeline.ledger import all_batches
from xts_pipeline.templates import DIALECTS, renderer
from xts_pipeline_tests.orchestration.listener import Listener
from xts_pipeline_tests.orchestration.project import CASE, Project
from xts_pipeline_tests.orchestration.test_alerts import ROUTE, finished
from xts_pipeline_tests.orchestration.test_checks_of_others import evaluation
from xts_pipeline_tests.orchestration.test_run_alerts import listener as listener
from xts_pipeline_tests.parsing import parse

HEADER = ("id", "day", "city")
SINGLE: dict[str, Any] = {
    **CASE,
    "satellites": CASE["satellites"][:1],  # type: ignore[index]
    "backfill": "single_run",
    "alerts": [{"checks": ["sequence_violations"], "route": ROUTE, "keys": "clear"}],
}
LATE = {
    "p1": [("k1", "2021-01-20"), ("k2", "2021-01-20"), ("k3", "2021-01-20"), ("k4", "2021-01-20")],
    "p2": [("k1", "2021-01-19"), ("k2", "2021-01-19"), ("k3", "2021-01-19")],
    "p3": [("k4", "2020-01-01"), ("k1", "2020-06-01")],
}


def loaded(project: Project, deliveries: dict[str, list[tuple[str, str]]]) -> dg.ExecuteInProcessResult:
    """All deliveries in one run."""
    project.declare(SINGLE)
    for partition, rows in deliveries.items():
        project.deliver("case", partition, [(key, day, f"of {partition}") for key, day in rows], HEADER)
    project.register("case", *deliveries)
    return project.run_range("case", min(deliveries), max(deliveries))


def figures(found: dg.AssetCheckEvaluation) -> dict[str, Any]:
    plain = ("xts/found", "xts/partitions", "xts/batches", "xts/rows", "xts/advice", "xts/details")
    return {name.removeprefix("xts/"): of.value for name, of in found.metadata.items() if name not in plain}


@pytest.mark.parametrize("many", [False, True])
def test_figures_over_a_range_are_those_of_everything(project: Project, many: bool) -> None:
    first = date(2021, 1, 1)
    days = {f"p{at:02}": [("k1", str(first + timedelta(days=at * 7 % 25)))] for at in range(25)}
    result = loaded(project, days if many else LATE)
    with project.vault() as vault:
        checks = {check.name: check for check in checks_of(vault.catalog.source("case"))}
        for name in ("lateness", "sequence_violations"):
            whole, found = checks[name].run(vault.warehouse), evaluation(result, name)
            expected = {of: value if isinstance(value, int) else spoken(value) for of, value in whole.facts.items()}
            assert expected
            assert figures(found) == expected
            assert found.metadata["xts/found"].value == whole.found
            told = found.metadata["xts/rows"].value.records  # type: ignore[union-attr]
            assert [row.data["dv_hashkey"] for row in told] == [row["dv_hashkey"] for row in whole.rows]
            assert "no row" not in (found.description or "")


def test_the_worst_three_keys_of_a_range_are_named_each_once(project: Project, listener: Listener) -> None:
    finished(project, loaded(project, LATE))
    (message,) = listener.received
    lines = message["message"].splitlines()
    worst = [line for line in lines if line.startswith("worst key")]
    assert worst[:2] == ["worst key: id=k4, late by 385 d", "worst key: id=k1, late by 233 d"]
    assert worst[2:] in ([f"worst key: id={key}, late by 1 d"] for key in ("k2", "k3"))
    assert "keys: 4" in lines
    assert "found: 5" in lines
    finished(project, project.run("case", "p2"))  # each batch was told
    assert len(listener.received) == 1


@pytest.mark.parametrize(
    ("damage", "check", "found"),
    [
        ("insert into {table} select * from {table} where dv_sid <> 0", "unique_keys", [3, 1, 1, 1]),
        ("delete from vault.hub_customer", "keys_in_parent", [1, 1, 1, 1]),
        ("delete from {table} where dv_sid <> 0", "timeline_invariant", [3, 3, 3, 3]),
    ],
)
def test_what_several_batches_touch_counts_once(project: Project, damage: str, check: str, found: list[int]) -> None:
    """`found`: by all batches together, and by each: of a key that each touched, or of the rows each brought."""
    loaded(project, {"p1": [("k1", "2021-01-01")], "p2": [("k1", "2021-01-02")], "p3": [("k1", "2021-01-03")]})
    with duckdb.connect(str(project.folder / "vault.duckdb")) as connection:
        connection.execute("use vault.vault")
        connection.execute(damage.format(table="vault.sat_case_city").replace("vault.", "vault.vault."))
    only = dg.define_asset_job("only", dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("sat_case_city"), check)))
    job = dg.Definitions.merge(project.definitions, dg.Definitions(jobs=[only])).resolve_job_def("only")
    everything = evaluation(job.execute_in_process(instance=project.instance), check)
    with project.vault() as vault:
        (asked,) = [
            of for of in checks_of(vault.catalog.source("case")) if (of.name, of.table) == (check, "sat_case_city")
        ]
        batches = all_batches(vault.warehouse)
        each = [asked.run(vault.warehouse, batch).found for batch in batches]
        together = asked.run_together(vault.warehouse, batches)
    assert [together.found, *each] == found
    assert together.found == everything.metadata["xts/found"].value
    assert "in 3 batches (partitions 'p3', 'p2', 'p1')" in together.summary


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_question_about_several_batches_is_one_statement_that_binds_each_stamp(
    project: Project, dialect: str
) -> None:
    with project.declare(SINGLE).vault() as vault:
        checks = [check for check in checks_of(vault.catalog.source("case")) if check.is_of_keys]
    assert len(checks) == 7
    for check in checks:
        for question in check.questions:
            statement = question.statement(renderer(dialect), True, 3)
            assert len(parse(statement.sql, dialect)) == 1
            assert {f"load_timestamp_{number}" for number in range(3)} <= set(statement.binds)
