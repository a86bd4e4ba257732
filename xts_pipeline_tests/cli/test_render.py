"""`xts render` and `xts fields`: every statement, every field, and no warehouse."""

from __future__ import annotations

import pytest

from xts_pipeline.cli.statements import CONTROL_NOT_OF, CONTROL_OF_ROWS
from xts_pipeline.staging.tables import CONTROL_TABLES_APART, CONTROL_TABLES_OF_ROWS
from xts_pipeline.templates import template_names
from xts_pipeline_tests.cli.conftest import Project
from xts_pipeline_tests.parsing import parse

OF_DUCKDB = {
    *CONTROL_OF_ROWS,
    *(f"ddl/control_{table}" for table in CONTROL_TABLES_OF_ROWS),
}


def of_snowflake() -> set[str]:
    """What DuckDB has no use for: roles, files, worksheets, locks, and what is written where DDL commits."""
    folders = ("grants/", "transfer/", "script/", "doctor/")
    apart = {*CONTROL_NOT_OF["duckdb"], "ddl/control_lock"}
    apart |= {f"ddl/control_{table}" for table in CONTROL_TABLES_APART}
    return apart | {name for name in template_names() if name.startswith(folders)}


@pytest.mark.parametrize("dialect", ["duckdb", "snowflake"])
def test_every_statement_is_listed_and_printed(project: Project, dialect: str) -> None:
    project.declare(tie_break="credit")
    listed = {of["statement"] for of in project.json("render", "--dialect", dialect)["statements"]}
    assert set(template_names()) - listed == (OF_DUCKDB if dialect == "snowflake" else of_snowflake())
    for name in sorted(listed):
        for statement in project.json("render", name, "--dialect", dialect)["statements"]:
            assert len(parse(statement["sql"], dialect)) == 1, (name, statement["about"])
            assert all(bind in statement["sql"] for bind in statement["binds"])
    assert not project.folder.joinpath("warehouse.duckdb").exists()


def test_a_statement_of_a_satellite_is_printed_with_its_binds(project: Project) -> None:
    result = project.xts("render", "--satellite", "sat_city", "switch")
    assert result.exit_code == 0
    assert result.stdout.startswith("-- load/switch for sat_city; binds batch_id")
    assert "$load_timestamp" in result.stdout
    assert "sat_limit" not in result.stdout
    snowflake = project.xts("render", "--satellite", "sat_city", "load/xts", "--dialect", "snowflake").stdout
    assert "%(load_timestamp)s" in snowflake
    assert '"VAULT"."SAT_XT_HUB_CUSTOMER"' in snowflake


def test_the_statements_of_a_link_satellite_are_those_of_its_link_and_hubs(project: Project) -> None:
    listed = {of["statement"]: of["about"] for of in project.json("render", "--satellite", "sat_limit")["statements"]}
    assert listed["load/link"] == ["lnk_customer_account"]
    assert listed["load/hub"] == ["hub_customer", "hub_account"]
    assert listed["load/satellite_assisted"] == ["sat_limit"]
    assert "load/link" not in {
        of["statement"] for of in project.json("render", "--satellite", "sat_city")["statements"]
    }


def test_a_type_that_is_not_declared_is_text_until_the_warehouse_remembers_one(project: Project) -> None:
    satellite = {"name": "sat_city", "parent": {"hub": "customer"}, "columns": ["city", "credit"]}
    project.declare(satellites=[satellite], links=[])
    assert '"credit" varchar' in project.xts("render", "ddl/satellite").stdout
    project.write("01.jsonl", '{"customer_id":1,"account_id":2,"city":"B","credit":7,"extract_date":"2026-01-01"}\n')
    assert project.xts("load", "crm", "01.jsonl").exit_code == 0
    assert '"credit" bigint' in project.xts("render", "ddl/satellite").stdout


def test_a_statement_that_is_none_ends_with_2(project: Project) -> None:
    assert project.xts("render", "nothing").exit_code == 2
    ambiguous = project.xts("render", "hub")
    assert (ambiguous.exit_code, "ddl/hub, load/hub" in ambiguous.stderr) == (2, True)
    assert project.xts("render", "--satellite", "sat_none", "switch").exit_code == 2
    assert project.xts("render", "--dialect", "oracle").exit_code == 2


def test_fields_lists_every_field_with_its_meaning(project: Project) -> None:
    fields = {of["field"]: of for of in project.json("fields")["fields"]}
    assert fields["source"]["required"] is True
    assert fields["satellites[].xts_assisted"]["default"] == "true"
    assert fields["hubs[].business_key"]["type"] == "list, or mapping to type"
    assert fields["types"]["type"] == "mapping to type"
    assert all(of["description"] for of in fields.values())
    printed = project.xts("fields")
    assert (printed.exit_code, "satellites[].parent.hub" in printed.stdout) == (0, True)


def test_the_command_tells_its_version_and_its_commands(project: Project) -> None:
    assert project.xts("--version").exit_code == 0
    listed = project.xts("--help").stdout
    assert all(
        name in listed for name in ("load", "status", "violations", "render", "check", "abandon", "as-of", "fields")
    )
    assert project.xts("nonsense").exit_code == 2
