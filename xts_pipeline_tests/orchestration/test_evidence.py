"""What a materialization shows beside its figures: lineage of columns, the SQL that ran, what was corrected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import dagster as dg
import pytest

from xts_pipeline.orchestration import correction, evidence
from xts_pipeline.orchestration.correction import table_of_key
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse.duckdb import DuckDBTransaction
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project, metadata_of

BANK: dict[str, Any] = {
    "source": "bank",
    "record_source": "BANK",
    "applied_timestamp": "day",
    "hubs": [
        {"hub": "customer", "business_key": {"id": "text"}, "source_columns": {"id": "customer"}},
        {"hub": "customer", "role": "referrer", "business_key": {"id": "text"}, "source_columns": {"id": "referrer"}},
    ],
    "links": [{"link": "referral", "hubs": ["customer", "referrer"]}],
    "satellites": [{"name": "sat_fee", "parent": {"link": "referral"}, "columns": {"fee": "integer"}}],
}


def lineage_of(result: dg.ExecuteInProcessResult, asset: str) -> dict[str, list[str]]:
    lineage = metadata_of(result, asset)["dagster/column_lineage"]
    assert {dep.asset_key.to_user_string() for deps in lineage.deps_by_column.values() for dep in deps} == {
        f"staged/{result.job_def.name.removeprefix('load_')}"
    }
    return {column: [dep.column_name for dep in deps] for column, deps in lineage.deps_by_column.items()}


def test_columns_come_from_the_columns_of_the_delivery(project: Project) -> None:
    header = ("customer", "referrer", "day", "fee")
    project.declare(BANK, header, d1=[("a", "b", "2026-01-01", 1)])
    result = project.run("bank", "d1")
    assert lineage_of(result, "sat_fee") == {"fee": ["fee"]}
    assert lineage_of(result, "bank/hub_customer") == {"id": ["customer", "referrer"]}
    assert lineage_of(result, "bank/lnk_referral") == {
        "dv_hashkey_hub_customer": ["customer"],
        "dv_hashkey_hub_customer_referrer": ["referrer"],
    }


def test_the_statement_that_ran_is_that_of_the_branch(project: Project) -> None:
    project.declare(CASE, **FOUR)
    normal = metadata_of(project.run("case", "d2"), "sat_case_city")["xts/statement"]
    assisted = metadata_of(project.run("case", "d4"), "sat_case_city")["xts/statement"]
    assert "load/satellite_normal" in normal
    assert "load/satellite_assisted" in assisted
    assert assisted.count("```") == 2
    assert "insert into" in assisted
    assert "BRISBANE" not in assisted


def test_the_statement_that_is_told_is_the_one_that_ran(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """In all its forms: of a source's first batch, of one after it, of one that begins before all others."""
    ran: list[str] = []
    run = DuckDBTransaction.run

    def noting(transaction: DuckDBTransaction, statement: Statement, values: Mapping[str, object]) -> int:
        if statement.name.startswith("load/satellite_") and "sat_case_city" in statement.sql:
            ran.append(statement.sql.strip())
        return run(transaction, statement, values)

    monkeypatch.setattr(DuckDBTransaction, "run", noting)
    deliveries = {**FOUR, "d0": [(3, "2020-12-31", "CAIRNS", "calm"), (3, "2021-01-01", "CAIRNS", "calm")]}
    project.declare(CASE, **deliveries).register("case", *sorted(deliveries))
    told = []
    for partition in ("d2", "d3", "d4", "d0"):
        told.append(metadata_of(project.run("case", partition), "sat_case_city")["xts/statement"])
    assert len(ran) == len(told)
    for statement, shown in zip(ran, told, strict=True):
        assert statement in shown
    assert ["recent_states as (" in statement for statement in ran] == [False, True, False, False]


def test_every_table_says_what_its_steps_cost(project: Project) -> None:
    project.declare(CASE, **FOUR)
    result = project.run("case", "d2")
    for asset in ("case/xts_switch", "case/sat_xt_hub_customer", "sat_case_city", "case/hub_customer"):
        told = metadata_of(result, asset)
        assert told["xts/milliseconds"] >= 0, asset
        assert told["xts/rows_scanned"] >= 1, asset
        assert told["xts/rows_written"] == told.get("xts/inserted", 0) + told.get("xts/copied", 0), asset


def test_a_long_statement_is_cut(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "STATEMENT_SHOWN", 100)
    project.declare(CASE, **FOUR)
    statement = metadata_of(project.run("case", "d1"), "sat_case_city")["xts/statement"]
    assert len(statement) < 250
    assert "more\n```" in statement


def test_an_assisted_load_shows_the_keys_it_corrected_before_and_after(project: Project) -> None:
    project.declare(CASE, **FOUR)
    for partition in ("d1", "d2", "d3"):
        assert "xts/timeline" not in metadata_of(project.run("case", partition), "sat_case_city")
    assert metadata_of(project.run("case", "d4"), "sat_case_city")["xts/timeline"].splitlines() == [
        "**id 1**",
        "",
        "| valid from | known before | known after | written |",
        "| --- | --- | --- | --- |",
        "| 2021-01-01 | SYDNEY | SYDNEY |  |",
        "| 2021-01-02 | SYDNEY | BRISBANE | insert |",
        "| 2021-01-03 | SYDNEY | SYDNEY | copy |",
        "| 2021-01-04 | HOBART | HOBART |  |",
    ]


def test_a_correction_of_a_known_point_shows_both_states(project: Project) -> None:
    project.declare(CASE, **FOUR)
    project.run("case", "d1")
    project.deliver("case", "fix", [(2, "2021-01-01", "CAIRNS", "calm")])
    shown = metadata_of(project.run("case", "fix"), "sat_case_city")["xts/timeline"]
    assert "**id 2**" in shown
    assert "| 2021-01-01 | PERTH | CAIRNS | insert |" in shown


def test_a_table_stays_small_and_whole_whatever_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correction, "POINTS_SHOWN", 1)
    stamp = datetime(2026, 1, 5)
    rows = [
        {
            "id": None,
            "dv_applied_timestamp": datetime(2026, 1, day, 6),
            "dv_load_timestamp": stamp,
            "dv_xts_event": "insert",
            "note": "a|b\n" + "x" * 100,
            "dv_hashkey": b"\x01",
        }
        for day in (1, 2, 3)
    ]
    lines = table_of_key(rows, ["id"], ["note"], stamp).splitlines()
    assert lines[0] == "**01**"
    assert lines[4].startswith("| 2026-01-01 06:00:00 | – | a\\|b xxx")
    assert len(lines[4]) < 120
    assert lines[5] == "| and 2 more | | | |"
