"""SQL deliveries on SQLite and DuckDB, and no secret in any message."""

import datetime as dt
import sqlite3
import traceback
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers import open_sql

SECRET = "p@ss/w:rd'42"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    path = tmp_path / "source.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table customer (id integer, name text)")
        connection.executemany("insert into customer values (?, ?)", [(n, f"name {n}") for n in range(1, 6)])
    return f"sqlite:///{path}"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XTS_TEST_SECRET", SECRET)
    return SECRET


def refusal(url: str, query: str = "select 1 as x", **parameters: object) -> str:
    with pytest.raises(DeliveryError) as caught:
        list(open_sql(url, query, parameters).chunks())
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def test_rows_come_in_chunks_with_bound_parameters(sqlite_url: str) -> None:
    query = "select id, name from customer where id > :low order by id"
    delivery = open_sql(sqlite_url, query, {"low": 1}, chunk_rows=3)
    assert (delivery.name, delivery.columns, delivery.typed) == ("SQL query", ("id", "name"), True)
    for _ in range(2):
        chunks = list(delivery.chunks())
        assert [chunk.row_numbers.to_pylist() for chunk in chunks] == [[1, 2, 3], [4]]
        assert [chunk.table["id"].to_pylist() for chunk in chunks] == [[2, 3, 4], [5]]
        assert chunks[0].table.schema.types == [pa.int64(), pa.string()]


def test_a_parameter_is_a_value_and_never_sql(sqlite_url: str) -> None:
    delivery = open_sql(sqlite_url, "select name from customer where name = :name", {"name": "' or 1=1 --"})
    assert list(delivery.chunks()) == []


def test_duckdb_types_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "source.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "create table t as select 1::bigint as i, 1.50::decimal(10, 2) as p, date '2026-01-01' as d,"
            " timestamp '2026-01-01 12:00:00.000001' as at, true as b, 'abc'::blob as raw, 0.5::double as f,"
            " null::varchar as nothing"
        )
    (chunk,) = open_sql(f"duckdb:///{path}", "select * from t", {}).chunks()
    assert chunk.table.to_pylist() == [
        {
            "i": 1,
            "p": Decimal("1.50"),
            "d": dt.date(2026, 1, 1),
            "at": dt.datetime(2026, 1, 1, 12, 0, 0, 1),
            "b": True,
            "raw": b"abc",
            "f": 0.5,
            "nothing": None,
        }
    ]
    assert chunk.table.schema.field("nothing").type == pa.null()


def test_variables_are_filled_from_the_environment(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTS_TEST_PATH", sqlite_url.removeprefix("sqlite:///"))
    monkeypatch.setenv("XTS_TEST_URL", sqlite_url)
    for url in ("sqlite:///${XTS_TEST_PATH}", "${XTS_TEST_URL}"):
        (chunk,) = open_sql(url, "select count(*) as n from customer", {}).chunks()
        assert chunk.table.to_pylist() == [{"n": 5}]


def test_a_missing_variable_is_named() -> None:
    message = refusal("sqlite:///${XTS_TEST_NOT_SET}")
    assert message == "SQL query: its URL needs the environment variable XTS_TEST_NOT_SET, which is not set"


@pytest.mark.parametrize(
    "url",
    [
        f"sqlite://user:{SECRET.replace('@', '%40').replace('/', '%2F')}@/x.db",
        "sqlite:///x.db?password=hunter2",
        "duckdb:///md:db?motherduck_token=hunter2",
        "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3Dhunter2",
    ],
)
def test_a_secret_in_clear_is_refused_with_what_to_write_instead(url: str) -> None:
    message = refusal(url)
    assert "in clear in the URL" in message
    assert "write ${NAME} there and set the environment variable NAME" in message
    assert "hunter2" not in message


def test_a_text_that_is_no_url_is_refused_without_showing_it(secret: str) -> None:
    assert "is not a SQLAlchemy URL" in refusal("user:${XTS_TEST_SECRET}")
    assert "hunter2" not in refusal("hunter2")


def test_messages_of_the_database_never_show_a_secret(secret: str, tmp_path: Path) -> None:
    # SQLite names no path in its message, DuckDB does
    message = refusal(f"duckdb:///{tmp_path}/missing/${{XTS_TEST_SECRET}}.duckdb")
    assert "${XTS_TEST_SECRET}" in message
    assert "the database refused it" in message
    refusal("nodialect://user:${XTS_TEST_SECRET}@host/db")
    refusal("sqlite://user:${XTS_TEST_SECRET}@host/db")


def test_a_whole_url_from_the_environment_never_shows_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XTS_TEST_URL", "sqlite://user:hunter2@host/db")
    assert "hunter2" not in refusal("${XTS_TEST_URL}")


def test_what_is_wrong_with_the_query_is_said(sqlite_url: str) -> None:
    assert "no such table: nowhere" in refusal(sqlite_url, "select * from nowhere")
    assert "low" in refusal(sqlite_url, "select * from customer where id > :low")
    assert "does not return rows" in refusal(sqlite_url, "update customer set name = 'x'")
    assert "column 'id' occurs twice" in refusal(sqlite_url, "select id, id from customer")


def test_a_driver_that_is_not_installed_is_named() -> None:
    with pytest.raises(DeliveryError, match=r"the driver that oracle\+cx_oracle needs is not installed"):
        open_sql("oracle+cx_oracle://somebody@example/db", "select 1", {})


def test_values_that_cannot_be_loaded_name_their_column_and_row(tmp_path: Path) -> None:
    message = refusal("duckdb:///:memory:", "select case when i = 3 then [i] end as x from range(5) t(i) order by i")
    assert "SQL query: column 'x' holds a list in row 4" in message
