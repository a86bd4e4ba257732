"""Staged rows on their way to Snowflake: as files through a stage, or from a table that is there already."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xts_pipeline import Vault
from xts_pipeline.errors import IntegrityError
from xts_pipeline.templates import Statement, renderer
from xts_pipeline.warehouse import snowflake_files
from xts_pipeline.warehouse.snowflake import SnowflakeTransaction, SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_files import Shipment
from xts_pipeline_tests import histories as h
from xts_pipeline_tests.snowflake.parity import assert_equal
from xts_pipeline_tests.staging import test_table_source as table_source

TEXTS = [
    "\\N",
    "NULL",
    "",
    " lead",
    "trail ",
    "a'b",
    'say "x"',
    "a\\b",
    "50%",
    "line\nbreak",
    "tab\t",
    "Zürich ☃ 𝄞",
    "^^||",
]
SOURCE = {
    "source": "all",
    "record_source": "ALL",
    "applied_timestamp": "day",
    "hubs": [{"hub": "thing", "business_key": {"Thing_Id": "text"}}],
    "satellites": [
        {
            "name": "sat_thing",
            "parent": {"hub": "thing"},
            "columns": {"Words": "text", "amount": "decimal(38, 10)", "size": "integer", "ratio": "double"}
            | {"flag": "boolean", "born": "date", "seen": "timestamp", "raw": "binary"},
        }
    ],
}
LIVE = pytest.param("live", marks=pytest.mark.live)


def things() -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = [
        (f"k{place}", text, Decimal("1.5"), place, 0.1, True, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), b"\x00\xff")
        for place, text in enumerate(TEXTS)
    ]
    rows.append(("nothing", None, None, None, None, None, None, None, None))
    most = Decimal("9999999999999999999999999999.9999999999")
    rows.append(("most", "x", most, 2**63 - 1, 1e308, False, dt.date(9999, 12, 31), dt.datetime.max, bytes(range(256))))
    least = Decimal("-9999999999999999999999999999.9999999999")
    rows.append(("least", "x", least, -(2**63), -5e-324, True, dt.date(1, 1, 1), dt.datetime(1, 1, 1), b""))
    columns = ["Thing_Id", "Words", "amount", "size", "ratio", "flag", "born", "seen", "raw"]
    return pd.DataFrame(rows, columns=columns, dtype=object).assign(day=dt.datetime(2024, 1, 1, 2, 3, 4, 5))


@pytest.mark.parametrize("warehouse", ["patched", LIVE], indirect=True)
def test_every_type_arrives_as_it_was_and_names_keep_their_spelling(warehouse: SnowflakeWarehouse) -> None:
    with Vault.open([SOURCE], warehouse) as vault, Vault.open([SOURCE], "duckdb:///:memory:") as duckdb:
        for opened in (vault, duckdb):
            opened.load("all", things(), "one", load_timestamp=h.day(1000))
        left, right = (opened.as_of("sat_thing", valid_at="2025-01-01") for opened in (vault, duckdb))
        assert list(left.columns) == list(right.columns)
        left, right = (frame.sort_values("Thing_Id").reset_index(drop=True) for frame in (left, right))
        for column in left.columns:
            assert [repr(value) for value in left[column]] == [repr(value) for value in right[column]], column
        statement = warehouse.renderer.render("monitor/row_count", table="sat_thing")
        with warehouse.transaction() as transaction:
            assert transaction.rows(statement, {"load_timestamp": h.day(1000)}) == [{"row_count": len(things()) + 1}]


def test_every_type_arrives_over_http_too(over_http: SnowflakeWarehouse) -> None:
    """The connector's own reader of results; numbers and years at their ends are left to the patched mode, since
    fakesnow's server sends timestamps as nanoseconds."""
    rows = things().iloc[: len(TEXTS) + 1]
    source = {**SOURCE, "satellites": [{**SOURCE["satellites"][0], "name": "sat_thing"}]}  # type: ignore[dict-item]
    with Vault.open([source], over_http) as vault, Vault.open([source], "duckdb:///:memory:") as duckdb:
        for opened in (vault, duckdb):
            opened.load("all", rows, "one", load_timestamp=h.day(1000))
        left, right = (opened.as_of("sat_thing", valid_at="2025-01-01") for opened in (vault, duckdb))
        left, right = (frame.sort_values("Thing_Id").reset_index(drop=True) for frame in (left, right))
        for column in ("Thing_Id", "Words", "amount", "size", "flag", "seen", "raw", "dv_hashkey_hub_thing"):
            assert [repr(value) for value in left[column]] == [repr(value) for value in right[column]], column


def test_files_are_cut_at_their_size_and_hold_no_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that a client appends are known to come out corrupted: they travel as hexadecimal text."""
    put: list[pa.Table] = []

    def note(statement: Statement) -> None:
        file = statement.sql.split("'")[1].removeprefix("file://")
        put.append(pq.read_table(file))

    shipment = Shipment(renderer("snowflake"), "staged", "x__rows", note, file_bytes=20_000, threads=4)
    rows = pa.table({"hash": pa.array([bytes([n % 256]) * 32 for n in range(2000)], pa.binary(32)), "n": range(2000)})
    for _ in range(5):
        shipment.append(rows)
    statement = shipment.statement()
    shipment.close()
    assert len(put) > 1
    assert sum(file.num_rows for file in put) == shipment.rows == 10_000
    assert {str(field.type) for file in put for field in file.schema} == {"string", "int64"}
    assert put[0].column("HASH")[1].as_py() == "01" * 32
    assert "to_binary($1:\"HASH\"::varchar, 'HEX')" in statement.sql
    assert "null_if = ()" in statement.sql


def test_rows_that_do_not_arrive_stop_the_batch(patched: SnowflakeWarehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snowflake_files.Shipment, "rows", property(lambda _: 999, lambda *_: None), raising=False)
    with Vault.open([h.SOURCE], patched) as vault:
        frame = pd.DataFrame([("a", h.day(1), "X", "Y")], columns=["customer_id", "applied", "city", "name"])
        with pytest.raises(IntegrityError, match="999 rows were sent and 1 arrived"):
            vault.load("crm", frame)
        assert not len(vault.query("select * from staged.crm__rows"))


def test_bad_rows_go_to_quarantine_and_ties_are_broken(patched: SnowflakeWarehouse) -> None:
    source = {**h.SOURCE, "on_error": "quarantine", "tie_break": "name", "types": {"applied": "timestamp"}}
    rows = [("a", h.day(1), "X", "1"), ("a", h.day(1), "Y", "2"), ("b", "never", "X", "1"), (None, h.day(1), "X", "1")]
    frame = pd.DataFrame(rows, columns=["customer_id", "applied", "city", "name"])
    with Vault.open([source], patched) as vault, Vault.open([source], "duckdb:///:memory:") as duckdb:
        for opened in (vault, duckdb):
            result = opened.load("crm", frame.astype({"applied": str}), "one", load_timestamp=h.day(1000))
            assert (result.rows_staged, result.rows_rejected) == (2, 2)
        assert vault.query("select city from sat_city where dv_sid <> 0")["city"].tolist() == ["Y"]
        rejected = "select row_number, reason, row_json from control.rejected_row order by row_number"
        assert vault.query(rejected).to_dict("list") == duckdb.query(rejected).to_dict("list")


def test_ddl_is_refused_inside_a_transaction(patched: SnowflakeWarehouse) -> None:
    """It would commit the load half done; fakesnow does not commit it, and would hide that."""
    with (
        pytest.raises(IntegrityError, match="ddl/schema is DDL, which commits"),
        patched.transaction() as transaction,
    ):
        transaction.run(patched.renderer.render("ddl/schema", schema="vault"), {})


def test_a_transaction_that_only_reads_never_begins_one(
    patched: SnowflakeWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []
    monkeypatch.setattr(SnowflakeTransaction, "_begin", lambda itself: begun.append(1))
    with Vault.open([h.SOURCE], patched) as vault:
        begun.clear()
        assert vault.closed_until is None
    assert not begun


@pytest.mark.parametrize("warehouse", ["patched", LIVE], indirect=True)
def test_a_table_that_is_there_is_staged_by_sql_as_python_hashes_it(warehouse: SnowflakeWarehouse) -> None:
    rows = table_source.ROWS
    table = f"{warehouse.settings.staged_schema}.raw_customers"
    source = {**table_source.SOURCE, "delivery": {"kind": "table", "table": table, "partition_column": "extract"}}
    with Vault.open([source], warehouse) as vault, Vault.open([table_source.SOURCE], "duckdb:///:memory:") as by_file:
        make_raw(warehouse, table, rows)
        stamp = h.day(1000)
        assert vault.load("crm", partition="one", load_timestamp=stamp).rows_staged == len(rows)
        assert vault.load("crm", partition="one").replayed
        by_file.load("crm", table_source.delivered(), "one", load_timestamp=stamp)
        tables = (
            "hub_customer",
            "hub_account",
            "lnk_customer_account",
            "sat_person",
            "sat_share",
            "sat_xt_hub_customer",
        )
        assert assert_equal(vault, by_file, *tables) > 20


def make_raw(warehouse: SnowflakeWarehouse, table: str, rows: list[tuple[Any, ...]]) -> None:
    with warehouse.session() as session:
        session.execute(f"""
            create table {table} (
                customer_id varchar, branch number(19, 0), account_id varchar, city varchar, age number(19, 0),
                credit number(18, 5), active boolean, born date, seen timestamp_ntz, photo binary, share number(9, 2),
                day timestamp_ntz, extract varchar
            )
        """)
        for row in rows:
            values = {f"v{place}": value for place, value in enumerate((*row, dt.datetime(2024, 1, 5), "one"))}
            places = ", ".join(f"%({name})s" for name in values)
            session.execute(f"insert into {table} values ({places})", values)
