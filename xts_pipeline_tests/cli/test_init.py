"""`xts init`: tables before the first load."""

from __future__ import annotations

from xts_pipeline_tests.cli.conftest import Project


def test_init_makes_every_table_whose_types_are_known_and_says_which_are_not(project: Project) -> None:
    untyped = [{"name": "sat_city", "parent": {"hub": "customer"}, "columns": ["city"]}]
    project.declare(satellites=untyped, links=[])
    (told,) = project.json("init")["sources"]
    assert (told["made"], "no type is declared for" in told["told"]) == (False, True)
    project.declare(satellites=[{**untyped[0], "columns": {"city": "text"}}], links=[])
    (told,) = project.json("init")["sources"]
    assert (told["made"], told["told"]) == (True, "sat_city")
    assert project.xts("init").exit_code == 0
    assert project.json("status")


def test_duckdb_has_no_roles_to_grant(project: Project) -> None:
    refused = project.xts("init", "--grants")
    assert (refused.exit_code, "DuckDB has no roles" in refused.stderr) == (2, True)
