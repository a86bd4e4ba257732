"""The statements of `sql/`: names are checked, values are bound, and both dialects take every one of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2
import pytest
import sqlglot
from jinja2 import nodes
from sqlglot import exp

from xts_pipeline import templates
from xts_pipeline.metadata import Catalog, ColumnType
from xts_pipeline.templates import DIALECTS, SQL_FOLDER, Places, Renderer, TemplateError, template_names
from xts_pipeline.views import as_of_context
from xts_pipeline_tests.crash import SOURCE as BANK

CATALOG = Catalog.read([BANK])
MODEL = CATALOG.source("bank")
SATELLITE = MODEL.satellite("sat_holding")
LINK = MODEL.links[0]
CONTEXT: dict[str, Any] = {
    "source": MODEL,
    "satellite": SATELLITE,
    "hub": MODEL.hubs[0],
    "link": LINK,
    "parent": LINK.parent,
    "table": "hub_customer",
    "algorithm": "sha256",
    "schema": "vault",
    "column": "share",
    "type": ColumnType("decimal", 10, 2),
    "columns": (("share", ColumnType("integer")),),
    "tie_break": "share",
    "limit": 10,
    "one_row_a_key": False,
    "recent_facts": False,
}
OF_ITS_OWN: dict[str, dict[str, Any]] = {
    "staged/contradictions": {"columns": ("share",)},
    "view/as_of": as_of_context(MODEL, SATELLITE),
}


ONE_ROW_A_KEY = ["load/satellite_assisted", "load/satellite_normal", "load/xts"]


def rendered(name: str, dialect: str) -> str:
    name, _, one_row_a_key = name.partition(", ")
    changed = {"one_row_a_key": True, "recent_facts": True} if one_row_a_key else {}
    return Renderer(dialect).render(name, **{**CONTEXT, **OF_ITS_OWN.get(name, {}), **changed}).sql


STATEMENTS = [name for name in template_names() if not name.startswith(("check/", "monitor/"))]
STATEMENTS += [f"{name}, one row a key" for name in ONE_ROW_A_KEY]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_template_renders_to_exactly_one_statement_in_both_dialects(name: str, dialect: str) -> None:
    if name == "ddl/satellite_sequence" and dialect == "snowflake":
        pytest.skip("Snowflake numbers rows by an identity column")
    sql = re.sub(r"%\((\w+)\)s", r":\1", rendered(name, dialect))
    parsed = [statement for statement in sqlglot.parse(sql, read=dialect) if statement is not None]
    assert len(parsed) == 1
    assert not isinstance(parsed[0], exp.Command), f"{name} is opaque to the parser"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", [name for name in STATEMENTS if name.startswith("load/")])
def test_a_loader_template_holds_only_insert_and_select(name: str, dialect: str) -> None:
    sql = re.sub(r"%\((\w+)\)s", r":\1", rendered(name, dialect))
    (statement,) = sqlglot.parse(sql, read=dialect)
    assert isinstance(statement, exp.Insert | exp.Select)
    assert not list(statement.find_all(exp.Update, exp.Delete, exp.Drop, exp.TruncateTable, exp.Alter, exp.Create))


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name.startswith("load/")])
def test_every_insert_lists_its_columns(name: str) -> None:
    (statement,) = sqlglot.parse(rendered(name, "duckdb"), read="duckdb")
    for insert in statement.find_all(exp.Insert):
        assert isinstance(insert.this, exp.Schema), f"{name} inserts without a column list"


def test_nothing_but_the_control_and_staged_schemas_is_ever_updated_or_purged() -> None:
    for name in STATEMENTS:
        (statement,) = sqlglot.parse(rendered(name, "duckdb"), read="duckdb")
        if isinstance(statement, exp.Update | exp.Delete):
            assert statement.find(exp.Table).db in {"control", "staged"}, name  # type: ignore[union-attr]


@pytest.mark.parametrize("file", sorted(SQL_FOLDER.rglob("*.sql.j2")), ids=lambda file: file.name)
def test_a_file_begins_with_a_comment_that_says_what_it_does(file: Path) -> None:
    assert file.read_text().startswith(("-- ", "{# "))


@pytest.mark.parametrize("file", sorted(SQL_FOLDER.glob("load/*.sql.j2")), ids=lambda file: file.name)
def test_a_loader_says_which_rows_it_touches(file: Path) -> None:
    head = file.read_text().split("\ninsert")[0].split("\nwith")[0].split("\nselect")[0]
    assert re.search(r"[Ii]nserts|Reads only", head)


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of templates of its own."""
    (tmp_path / "dialect").mkdir()
    (tmp_path / "dialect/duckdb.sql.j2").write_text("")
    monkeypatch.setattr(templates, "SQL_FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "context", "told"),
    [
        ("select {{ value }}", {"value": "x"}, "went into a statement through no filter"),
        ("select {{ nobody | identifier }}", {}, "'nobody' is undefined"),
        ("select {{ name | identifier }}", {"name": 'a"; drop table x; --'}, "is no identifier"),
        ("select {{ name | vault }}", {"name": "a.b"}, "is no identifier"),
        ("select {{ name | identifier }}", {"name": ""}, "is no identifier"),
        ("select {{ name | bind }}", {"name": "a b"}, "is no name of a value"),
        ("limit {{ n | digits }}", {"n": "1; drop"}, "is no whole number"),
    ],
)
def test_what_goes_between_braces_is_a_checked_name_or_a_bound_value(
    sandbox: Path, text: str, context: dict[str, object], told: str
) -> None:
    (sandbox / "t.sql.j2").write_text(text)
    with pytest.raises(TemplateError, match=re.escape(told)):
        Renderer("duckdb").render("t", **context)


@pytest.mark.parametrize("file", sorted(SQL_FOLDER.rglob("*.sql.j2")), ids=lambda file: file.name)
def test_braces_hold_a_filter_or_a_macro_of_the_dialect(file: Path) -> None:
    filters = {"identifier", "vault", "staged", "control", "schema", "bind", "digits"}
    for output in jinja2.Environment().parse(file.read_text()).find_all(nodes.Output):
        for child in output.nodes:
            is_macro = isinstance(child, nodes.Call) and isinstance(child.node, nodes.Getattr | nodes.Name)
            is_filter = isinstance(child, nodes.Filter) and child.name in filters
            assert isinstance(child, nodes.TemplateData) or is_macro or is_filter, f"line {child.lineno}"


def test_a_statement_knows_the_values_it_needs() -> None:
    statement = Renderer("duckdb").render("load/satellite_counts", satellite=SATELLITE)
    assert statement.binds == {"load_timestamp"}
    assert "$load_timestamp" in statement.sql
    assert "%(load_timestamp)s" in Renderer("snowflake").render("load/satellite_counts", satellite=SATELLITE).sql


def test_names_are_qualified_by_schema_and_by_database_where_one_is_given() -> None:
    places = Places(database="vault", vault="dv")
    assert (
        '"vault"."dv"."sat_holding"'
        in Renderer("duckdb", places).render("load/satellite_counts", satellite=SATELLITE).sql
    )
    assert '"VAULT"."SAT_HOLDING"' in Renderer("snowflake").render("load/satellite_counts", satellite=SATELLITE).sql


def test_dialects_have_the_same_macros() -> None:
    macros = [
        set(re.findall(r"{% macro (\w+)\(", (SQL_FOLDER / f"dialect/{dialect}.sql.j2").read_text()))
        for dialect in DIALECTS
    ]
    assert macros[0] == macros[1]
