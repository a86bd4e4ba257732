"""The statements of `sql/`: names are checked, values are bound, and both dialects take every one of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes
from sqlglot import exp

from xts_pipeline import templates
from xts_pipeline.cli.statements import CONTROL_NOT_OF, CONTROL_OF_ROWS, Entry, statements_of
from xts_pipeline.metadata import Catalog
from xts_pipeline.templates import DIALECTS, SQL_FOLDER, Places, Renderer, TemplateError, template_names
from xts_pipeline_tests.crash import SOURCE as BANK
from xts_pipeline_tests.parsing import parse

MODEL = Catalog.read([{**BANK, "tie_break": "share"}]).source("bank")
SATELLITE = MODEL.satellite("sat_holding")
ENTRIES = {dialect: statements_of(MODEL, {}, dialect) for dialect in DIALECTS}
STATEMENTS = template_names()
OF_ONE_DIALECT = (
    "grants/",
    "transfer/",
    "script/",
    "doctor/",
    *CONTROL_NOT_OF["duckdb"],
    "ddl/control_lock",
    "ddl/control_pending",
    "ddl/control_step_query",
)
OF_DUCKDB = {"ddl/control_target_table", *CONTROL_OF_ROWS}
# what sqlglot cannot read it takes for an opaque command: roles, grants on future objects, and SHOW
OPAQUE = {"grants/on_objects", "grants/role", "grants/role_to_role", "grants/schema", "grants/schema_owner"}
OPAQUE |= {"doctor/parameters", "doctor/privileges"}


def entries(name: str, dialect: str) -> list[Entry]:
    """A statement for each table that it is about; skips what a dialect has not."""
    found = [entry for entry in ENTRIES[dialect] if entry.name == name]
    if not found:
        of_snowflake = name.startswith(OF_ONE_DIALECT)
        assert of_snowflake if dialect == "duckdb" else name in OF_DUCKDB, f"{name} is not listed"
        pytest.skip(f"{dialect} has no use for it")
    # what a load renders when the SWITCH's counts allow it
    narrowed = {"one_row_a_key": True, "recent_facts": True, "nothing_later": True}
    found += [replace(of, context={**of.context, **narrowed}) for of in found if "one_row_a_key" in of.context]
    return found


def rendered(name: str, dialect: str) -> list[str]:
    return [entry.statement(Renderer(dialect)).sql for entry in entries(name, dialect)]


def parsed(name: str, dialect: str) -> list[exp.Expr]:
    """The statements of a template, each parsed to exactly one."""
    found = []
    for sql in rendered(name, dialect):
        statements = parse(sql, dialect)
        assert len(statements) == 1, name
        found += statements
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", STATEMENTS)
def test_a_template_renders_to_exactly_one_statement_in_both_dialects(name: str, dialect: str) -> None:
    for statement in parsed(name, dialect):
        assert isinstance(statement, exp.Command) == (name in OPAQUE), f"{name}: {type(statement)}"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", [name for name in STATEMENTS if name.startswith("load/")])
def test_a_loader_template_holds_only_select_insert_and_a_merge_that_inserts(name: str, dialect: str) -> None:
    """What the loader role may do in the vault's schema. There is no MERGE at all, which may need more than INSERT."""
    for statement in parsed(name, dialect):
        assert isinstance(statement, exp.Insert | exp.Select)
        forbidden = (exp.Update, exp.Delete, exp.Drop, exp.TruncateTable, exp.Alter, exp.Create, exp.Merge, exp.Command)
        assert not list(statement.find_all(*forbidden))


@pytest.mark.parametrize("name", [name for name in STATEMENTS if name.startswith("load/")])
def test_every_insert_lists_its_columns(name: str) -> None:
    for statement in parsed(name, "duckdb"):
        for insert in statement.find_all(exp.Insert):
            assert isinstance(insert.this, exp.Schema), f"{name} inserts without a column list"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_but_the_control_and_staged_schemas_is_ever_updated_or_purged(dialect: str) -> None:
    for entry in ENTRIES[dialect]:
        (statement,) = parse(entry.statement(Renderer(dialect)).sql, dialect)
        if isinstance(statement, exp.Update | exp.Delete | exp.Merge | exp.TruncateTable | exp.Copy):
            assert statement.find(exp.Table).db.lower() in {"control", "staged"}, entry.name  # type: ignore[union-attr]


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
    filters = {"identifier", "vault", "staged", "control", "schema", "bind", "digits", "path", "keywords", "foreign"}
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
