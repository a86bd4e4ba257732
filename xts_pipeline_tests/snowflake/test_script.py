"""The worksheet script: pasted and run from top to bottom, it does what a load does."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from xts_pipeline import Vault
from xts_pipeline.cli import main
from xts_pipeline.orchestration.snowflake_resource import connecting
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline_tests.snowflake.parity import rows_of

SOURCE = {
    "source": "crm",
    "record_source": "CRM",
    "applied_timestamp": "day",
    "tenant_id": "it's \\ a|b",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [
        {"name": "sat_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}},
    ],
    "types": {"day": "timestamp"},
    "delivery": {"kind": "table", "table": "raw.customers"},
}
DELIVERIES = [
    [("a", "Bern", 1), ("b", "Chur", 1)],
    [("a", "Bern", 5), ("b", "Chur", 5), ("c", "Zug", 5)],
    [("a", "Basel", 3), ("c", "Zug", 3)],
]
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")


def deliver(warehouse: SnowflakeWarehouse, rows: list[tuple[str, str, int]]) -> None:
    with warehouse.session() as session:
        session.execute("create schema if not exists raw")
        session.execute("create or replace table raw.customers (customer_id varchar, city varchar, day timestamp_ntz)")
        for customer, city, day in rows:
            values = {"customer": customer, "city": city, "day": dt.datetime(2024, 1, day)}
            session.execute("insert into raw.customers values (%(customer)s, %(city)s, %(day)s)", values)


def statements(script: str) -> list[str]:
    """The statements of a script; what is between /* and */ is left out, as a worksheet does."""
    bare = re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL)
    return [part for part in bare.split(";\n") if re.sub(r"--[^\n]*", "", part).strip()]


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "crm.yaml"
    file.write_text(yaml.safe_dump(SOURCE))
    arguments = ["render", "--dialect", "snowflake", "--satellite", "sat_city", "--sources", str(file)]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_script_needs_no_values_and_no_session_variables(script: str) -> None:
    assert "%(" not in script
    assert not re.search(r"^\s*set\s|\$[a-z]", script, re.MULTILINE | re.IGNORECASE)
    parts = [
        "create table",
        "load timestamp",
        "late_rows",
        "insert into",
        "sat_xt_hub_customer",
        "hub_customer",
        "union all",
    ]
    assert all(part in script.lower() for part in parts)
    assert len(re.findall(r"^insert into \"VAULT\".\"SAT_CITY\"", script, re.MULTILINE)) == 3  # ghost and both loads


def test_pasted_and_run_it_does_what_a_load_does(script: str, patched: SnowflakeWarehouse) -> None:
    verdicts = []
    for rows in DELIVERIES:
        deliver(patched, rows)
        with patched.session() as session:
            for statement in statements(script)[1:]:  # the first sets the session, which the pipeline does at login
                cursor = session.execute(statement)
                if "-- SWITCH:" in statement:
                    names = [column[0].lower() for column in cursor.description]
                    verdicts.append(dict(zip(names, cursor.fetchall()[0], strict=True)))
                if "dv_hashdiff_of_xts" in statement:
                    assert not cursor.fetchall(), "the timeline of satellite and XTS differ"
    assert [int(verdict["late_rows"]) for verdict in verdicts] == [0, 0, 2]
    pasted = Vault.open([SOURCE], patched)
    tables = ("hub_customer", "sat_xt_hub_customer", "sat_city")
    found = {table: bare(rows_of(pasted, table)) for table in tables}

    with Vault.open([SOURCE], other_database(patched)) as vault:
        for rows in DELIVERIES:
            deliver(vault.warehouse, rows)  # type: ignore[arg-type]
            vault.load("crm")
        expected = {table: bare(rows_of(vault, table)) for table in tables}
    assert found == expected
    assert len(found["sat_city"]) == 1 + 3 + 3


def other_database(warehouse: SnowflakeWarehouse) -> SnowflakeWarehouse:
    settings = warehouse.settings.model_copy(update={"database": warehouse.settings.database + "_2"})
    return SnowflakeWarehouse(settings, connecting(settings))


def bare(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows without their load timestamps, which are the clock's."""
    today = f"{dt.datetime.now(dt.UTC):%Y-}"
    return sorted(
        tuple("loaded" if value.startswith(today) and MOMENT.match(value) else value for value in row) for row in rows
    )
