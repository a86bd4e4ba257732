"""What fakesnow is silently wrong about, so that a test over it would pass and an account would not.

Each has a lint over every rendered statement, or an assertion of its own; where fakesnow can be asked, its wrongness is
shown, so that a version which mends it is noticed.
"""

from __future__ import annotations

import re

import fakesnow
import pytest
import snowflake.connector
from sqlglot import exp

from xts_pipeline import Vault
from xts_pipeline.metadata import Catalog
from xts_pipeline.staging.tables import CONTROL_TABLES
from xts_pipeline.templates import Renderer
from xts_pipeline_tests import histories as h
from xts_pipeline_tests.parsing import BIND, parse
from xts_pipeline_tests.test_templates import ENTRIES

RENDERED = {
    f"{entry.name} {entry.subject}": entry.statement(Renderer("snowflake")).sql for entry in ENTRIES["snowflake"]
}


def bare(sql: str) -> str:
    """Without comments."""
    return re.sub(r"--[^\n]*", "", sql)


@pytest.fixture
def cursor() -> object:
    with fakesnow.patch():
        yield snowflake.connector.connect(database="d", schema="s").cursor()


def test_rtrim_names_its_characters(cursor: snowflake.connector.cursor.SnowflakeCursor) -> None:
    """fakesnow trims both ends; Snowflake without characters trims more than blanks."""
    assert cursor.execute("select rtrim(' a ', ' ')").fetchall() == [("a",)]
    for name, sql in RENDERED.items():
        for call in re.findall(r"\b[lr]?trim\((.*)", bare(sql)):
            assert re.match(r"\"\w+\", ' '\)", call), name
        assert not re.search(r"\b(l?trim)\(", bare(sql)), name


def test_no_statement_uses_a_session_variable(cursor: snowflake.connector.cursor.SnowflakeCursor) -> None:
    """fakesnow puts in the text of a SET when the variable is used, and not its value when it was set."""
    cursor.execute("create table t (a int)")
    cursor.execute("set m = (select count(*) from t)")
    cursor.execute("insert into t values (1)")
    assert cursor.execute("select $m").fetchall() == [(1,)]  # 0 on Snowflake
    for name, sql in RENDERED.items():
        assert not re.search(r"\$(?!1:)\w", bare(sql)), name
        assert not re.match(r"\s*(un)?set\b", bare(sql), re.IGNORECASE), name


def test_a_date_or_timestamp_is_cast_before_it_becomes_text(
    cursor: snowflake.connector.cursor.SnowflakeCursor,
) -> None:
    """fakesnow drops the format of TO_CHAR on a column whose type it does not know."""
    cursor.execute("create table t (a timestamp_ntz)")
    cursor.execute("insert into t values ('2024-01-02 03:04:05')")
    assert cursor.execute("select to_char(a, 'YYYY-MM-DD') from t").fetchall() != [("2024-01-02",)]
    for name, sql in RENDERED.items():
        for call in re.findall(r"\bto_(?:char|varchar)\((.{0,12})", bare(sql)):
            assert call.startswith(("cast(", "sysdate()")), f"{name}: to_char({call}"


def test_no_ddl_stands_beside_what_a_load_writes() -> None:
    """fakesnow with autocommit on does not commit at DDL; every statement that a transaction runs is DML or a query."""
    for name, sql in RENDERED.items():
        if name.startswith(("load/", "staged/", "control/", "view/", "check/", "monitor/")):
            (statement,) = parse(sql, "snowflake")
            assert isinstance(statement, exp.Insert | exp.Update | exp.Delete | exp.Query), name


def test_no_key_is_enforced_and_every_not_null_is() -> None:
    """The shim drops keys, which DuckDB would enforce; Snowflake takes `primary key` for NOT NULL, and those are."""
    for name, sql in RENDERED.items():
        keys = re.findall(r"primary key \(([^)]*)\)( not enforced)?", sql)
        for columns, not_enforced in keys:
            assert not_enforced, name
            for column in re.findall(r'"(\w+)"', columns):
                assert re.search(rf'^\s*"?{column}"? .*not null', sql, re.IGNORECASE | re.MULTILINE), (name, column)


def test_binaries_are_cast_from_hexadecimal_text_and_ordered_nowhere_by_identity() -> None:
    for name, sql in RENDERED.items():
        assert not re.search(r"order by[^)]*dv_sid", bare(sql), re.IGNORECASE), name
        for call in re.findall(r"to_binary\([^)]*\)+", bare(sql)):
            assert "'HEX'" in bare(sql), (name, call)


def test_no_percent_sign_stands_in_a_statement_but_in_a_bind() -> None:
    """The connector puts values in with Python's % operator."""
    for name, sql in RENDERED.items():
        assert "%" not in BIND.sub("", sql), name


LONG = "x" * 250
LIMITED = {
    "source": "s" * 200,
    "record_source": "r" * 255,
    "tenant_id": "t" * 255,
    "collision_code": "c" * 255,
    "applied_timestamp": "applied",
    "on_error": "quarantine",
    "hubs": [{"hub": "h" * 150, "role": "o" * 100, "business_key": {"k" * 200: "text"}}],
    "satellites": [
        {
            "name": f"sat_{'n' * 200}",
            "parent": {"hub": "o" * 100},
            "columns": {f"column_{place:03d}_{'v' * 100}": "integer" for place in range(60)},
        }
    ],
}


def test_nothing_is_longer_than_the_column_it_is_written_to() -> None:
    """fakesnow checks no lengths. The longest names a declaration may have, and rows with everything wrong, are loaded
    into DuckDB, and held against the lengths that Snowflake's DDL declares."""
    import pandas as pd

    catalog = Catalog.read([LIMITED])
    model = catalog.source(LIMITED["source"])  # type: ignore[arg-type]
    columns = list(LIMITED["satellites"][0]["columns"])  # type: ignore[index]
    good = {"k" * 200: "a", "applied": h.day(1), **dict.fromkeys(columns, "1")}
    bad = {**good, "k" * 200: "b", **dict.fromkeys(columns, "z" * 500)}
    with Vault.open([LIMITED], "duckdb:///:memory:") as vault:
        vault.load(model.name, pd.DataFrame([good, bad]), "p" * 255, root_run="u" * 36)
        limited = declared_lengths(model.name)
        measured = 0
        for (schema, table, column), length in limited.items():
            found = vault.query(f'select max(length("{column}")) as longest from {schema}."{table}"')["longest"][0]
            if not pd.isna(found):
                measured += 1
                assert found <= length, f"{schema}.{table}.{column}: {found} characters in {length}"
    assert measured > 30


def declared_lengths(source: str) -> dict[tuple[str, str, str], int]:
    """(schema, table, column): length, of every column that Snowflake's DDL limits, names as DuckDB has them."""
    from xts_pipeline.cli.statements import statements_of

    model = Catalog.read([LIMITED]).source(source)
    lengths = {}
    for entry in statements_of(model, {}, "snowflake"):
        if not entry.name.startswith("ddl/") or entry.name.endswith(("pending_statement", "step_query")):
            continue
        (statement,) = parse(entry.statement(Renderer("snowflake")).sql, "snowflake")
        for column in statement.find_all(exp.ColumnDef):  # type: ignore[union-attr]
            kind = column.args["kind"]
            if kind.this == exp.DataType.Type.VARCHAR and kind.expressions:
                table = statement.find(exp.Table)  # type: ignore[union-attr]
                place = (table.db.lower(), table.name.lower(), column.name.lower())
                lengths[place] = int(kind.expressions[0].name)
    assert {table for schema, table, _ in lengths if schema == "control"} >= set(CONTROL_TABLES) - {"clock"}
    return lengths
