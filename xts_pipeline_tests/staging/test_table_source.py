"""A `kind: table` source: SQL stages and hashes what is in the warehouse, and Python holds it to the canonical rule."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.errors import DeclarationError, DeliveryError
from xts_pipeline.warehouse import DuckDBWarehouse

COLUMNS = {
    "city": "text",
    "age": "integer",
    "credit": "decimal(12, 3)",
    "active": "boolean",
    "born": "date",
    "seen": "timestamp",
    "photo": "binary",
}
SOURCE: dict[str, Any] = {
    "source": "crm",
    "record_source": "CRM",
    "applied_timestamp": "day",
    "tenant_id": "a|b",
    "collision_code": "é ",
    "hubs": [
        {"hub": "customer", "business_key": {"customer_id": "text", "Branch": "integer"}},
        {"hub": "account", "business_key": {"account_id": "text"}},
    ],
    "links": [{"link": "customer_account", "hubs": ["customer", "account"]}],
    "satellites": [
        {"name": "sat_person", "parent": {"hub": "customer"}, "columns": COLUMNS},
        {"name": "sat_share", "parent": {"link": "customer_account"}, "columns": {"share": "decimal(5, 0)"}},
    ],
    "types": {"day": "timestamp"},
}
TABLE = {"delivery": {"kind": "table", "table": "raw.customers", "partition_column": "extract"}}
ROWS = [
    (
        "k1 ",
        1,
        "a",
        "Zürich ",
        3,
        Decimal("1.500"),
        True,
        dt.date(1970, 1, 2),
        dt.datetime(2020, 1, 2, 3, 4, 5, 6),
        b"\x00\xff",
        Decimal(7),
    ),
    ("ab|^\\c", 2, "b", None, None, None, None, None, None, None, None),
    (
        " lead",
        -3,
        "c",
        "a\\|^b|| ^^",
        -(2**62),
        Decimal("-0.001"),
        False,
        dt.date(1, 1, 1),
        dt.datetime(9999, 12, 31),
        b"",
        Decimal(-5),
    ),
    ("Z9", 4, "d", "", 0, Decimal("0.000"), True, dt.date(9999, 12, 31), dt.datetime(1, 1, 1), b"abc", Decimal(0)),
]
NAMES = ["customer_id", "Branch", "account_id", *COLUMNS, "share"]


def delivered(rows: list[tuple[Any, ...]] = ROWS, day: str = "2024-01-05") -> pd.DataFrame:
    return pd.DataFrame([(*row, dt.datetime.fromisoformat(day)) for row in rows], columns=[*NAMES, "day"])


def raw_table(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("create schema raw")
    connection.execute("""
        create table raw.customers (
            customer_id varchar, "Branch" bigint, account_id varchar, city varchar, age bigint, credit decimal(18, 5),
            active boolean, born date, seen timestamp, photo blob, share decimal(9, 2), day timestamp, extract varchar
        )
    """)
    add(connection, ROWS, "2024-01-05", "one")


def add(connection: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]], day: str, extract: str) -> None:
    places = ", ".join(["?"] * (len(NAMES) + 2))
    connection.executemany(f"insert into raw.customers values ({places})", [(*row, day, extract) for row in rows])


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect(":memory:")
    raw_table(opened)
    return opened


def staged(vault: Vault) -> list[tuple[Any, ...]]:
    frame = vault.query("select * from staged.crm__rows order by customer_id")
    kept = sorted(column for column in frame.columns if column not in {"dv_batch_id", "dv_row_number"})
    return [tuple(str(value) for value in row) for row in frame[kept].itertuples(index=False)]


def test_a_table_is_staged_with_the_hashes_that_python_makes(connection: duckdb.DuckDBPyConnection) -> None:
    with (
        Vault.open([{**SOURCE, **TABLE}], DuckDBWarehouse(connection)) as vault,
        Vault.open([SOURCE], "duckdb:///:memory:") as by_file,
    ):
        result = vault.load("crm", partition="one")
        by_file.load("crm", delivered(), "one")
        assert result.rows_staged == 4
        assert staged(vault) == staged(by_file)
        for table in ("hub_customer", "hub_account", "lnk_customer_account", "sat_person", "sat_share"):
            assert len(vault.query(f"select * from {table}")) == len(by_file.query(f"select * from {table}"))


def test_the_same_rows_are_a_replay_in_whatever_order_and_others_a_correction(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    with Vault.open([{**SOURCE, **TABLE}], DuckDBWarehouse(connection)) as vault:
        first = vault.load("crm", partition="one")
        connection.execute("create table raw.kept as select * from raw.customers order by customer_id desc")
        connection.execute("delete from raw.customers")
        connection.execute("insert into raw.customers select * from raw.kept")
        assert vault.load("crm", partition="one").replayed
        connection.execute("update raw.customers set city = 'Chur' where customer_id = 'Z9'")
        corrected = vault.load("crm", partition="one")
        assert (corrected.replayed, corrected.satellites["sat_person"].inserted) == (False, 1)
        add(connection, [("Z9", 4, "d", "Bern", *ROWS[3][4:])], "2024-01-03", "two")
        late = vault.load("crm", partition="two").satellites["sat_person"]
        assert (late.branch, late.inserted, late.violations) == ("assisted", 1, 1)
        assert first.batch_id != corrected.batch_id


@pytest.mark.parametrize(
    ("update", "told"),
    [
        ("customer_id = 'Zoë'", "business key customer_id holds more than ASCII.*: 1 rows"),
        ("customer_id = null", "a part of the business key Branch, customer_id is missing: 1 rows"),
        ("account_id = null", "no business key for hub account in account_id: 1 rows"),
        ("credit = 1.00049", "credit does not fit decimal\\(12,3\\) exactly: 1 rows"),
        ("share = 0.5", "share does not fit decimal\\(5,0\\) exactly: 1 rows"),
        ("born = 'infinity'", "born lies outside the years 1 to 9999: 1 rows"),
        ("seen = '10000-01-01'", "seen lies outside the years 1 to 9999: 1 rows"),
        ("day = '-infinity'", "day lies outside the years 1 to 9999: 1 rows"),
        ("day = null", "no applied timestamp in day: 1 rows"),
    ],
)
def test_rows_at_fault_stop_the_batch_before_anything_is_written(
    connection: duckdb.DuckDBPyConnection, update: str, told: str
) -> None:
    connection.execute(f"update raw.customers set {update} where customer_id = 'Z9'")
    with Vault.open([{**SOURCE, **TABLE}], DuckDBWarehouse(connection)) as vault:
        with pytest.raises(DeliveryError, match=told):
            vault.load("crm", partition="one")
        assert not len(vault.query("select * from control.load_batch"))


def test_text_that_is_not_normalised_is_found_by_the_sample(connection: duckdb.DuckDBPyConnection) -> None:
    """SQL takes text to be in NFC; `e` with a combining accent hashes otherwise in Python."""
    connection.execute("update raw.customers set city = 'Zoe' || chr(776) where customer_id = 'Z9'")
    with (
        Vault.open([{**SOURCE, **TABLE}], DuckDBWarehouse(connection)) as vault,
        pytest.raises(DeliveryError, match=r"dv_hashdiff_sat_person made in SQL differs.*NFC"),
    ):
        vault.load("crm", partition="one")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"types": {}, "satellites": [{**SOURCE["satellites"][0], "columns": ["city"]}], "links": []},
            "declare those of city",
        ),
        ({"timezone": "Europe/Zurich"}, "timezone UTC and on_error stop"),
        ({"on_error": "quarantine"}, "timezone UTC and on_error stop"),
        ({"satellites": [{**SOURCE["satellites"][0], "columns": {"age": "double"}}]}, "no canonical text in SQL"),
    ],
)
def test_what_sql_alone_cannot_stage_is_refused(
    connection: duckdb.DuckDBPyConnection, changes: dict[str, Any], told: str
) -> None:
    with (
        Vault.open([{**SOURCE, **TABLE, **changes}], DuckDBWarehouse(connection)) as vault,
        pytest.raises(DeliveryError, match=told),
    ):
        vault.load("crm", partition="one")


def test_a_partition_must_be_named_where_the_table_holds_several(connection: duckdb.DuckDBPyConnection) -> None:
    with (
        Vault.open([{**SOURCE, **TABLE}], DuckDBWarehouse(connection)) as vault,
        pytest.raises(DeliveryError, match="name a partition"),
    ):
        vault.load("crm")


@pytest.mark.parametrize(
    ("delivery", "told"),
    [
        ({"kind": "table", "table": "raw.customers; drop table x"}, "is no table"),
        ({"kind": "table", "path": "x.csv"}, "kind: table goes with table"),
        ({"table": "raw.customers", "path": "x.csv"}, "name a path, or a url with a query, or a table"),
        ({"path": "x.csv", "partition_column": "day"}, "a column of the table that is named"),
    ],
)
def test_a_declaration_names_one_kind_of_delivery(delivery: dict[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=told):
        Vault.open([{**SOURCE, "delivery": delivery}], f"duckdb:///{tmp_path / 'v.duckdb'}")
