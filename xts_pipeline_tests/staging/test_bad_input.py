"""Bad input stops the batch before any table is written, and the error names source, file, column, rows and count."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from xts_pipeline import Vault
from xts_pipeline.errors import ContradictionError, DeliveryError, NotStagedError
from xts_pipeline.ledger import newest_batch

SOURCE: dict[str, Any] = {
    "source": "shop",
    "record_source": "SHOP",
    "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [
        {
            "name": "sat_customer",
            "parent": {"hub": "customer"},
            "columns": {"age": "integer", "city": "text", "limit": "decimal(8,2)"},
        }
    ],
}
HEADER = "customer_id,day,age,city,limit\n"
GOOD = HEADER + "1,2026-01-01,30,Bern,10.50\n2,2026-01-01,,Basel,\n"


def open_vault(**changes: object) -> Vault:
    return Vault.open([{**SOURCE, **changes}], "duckdb:///:memory:")


def csv(tmp_path: Path, text: str, name: str = "2026-01-01.csv") -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def everything(vault: Vault) -> dict[str, int]:
    """Rows of every table there is, control tables included."""
    tables = vault.query("select table_schema || '.' || table_name as name from information_schema.tables order by all")
    return {name: int(vault.query(f"select count(*) as n from {name}")["n"][0]) for name in tables["name"]}


def assert_stopped(vault: Vault, data: object, *told: str, error: type[Exception] = DeliveryError, **kw: Any) -> None:
    before = everything(vault)
    with pytest.raises(error) as raised:
        vault.load("shop", data, **kw)
    message = str(raised.value)
    for part in ("source shop", *told):
        assert part in message, message
    assert everything(vault) == before


BAD_ROWS = {
    "a value that does not fit its type": (
        "1,2026-01-01,thirty,Bern,1\n2,2026-01-01,31,Bern,1\n3,2026-01-01,x,Bern,1\n",
        ("column age", "does not fit integer, 2 rows", "row 1", "thirty", "row 3"),
    ),
    "a number with more digits than declared": (
        "1,2026-01-01,1,Bern,1.005\n",
        ("column limit", "decimal(8,2)", "row 1"),
    ),
    "a NULL business key": (",2026-01-01,1,Bern,1\n", ("column customer_id", "no business key", "1 row", "row 1")),
    "a NULL applied timestamp": ("1,,1,Bern,1\n", ("column day", "no applied timestamp", "row 1")),
    "an applied timestamp that is none": ("1,2026-13-01,1,Bern,1\n", ("column day", "2026-13-01", "row 1")),
    "text with an unassigned code point": ("1,2026-01-01,1,B\u0378rn,1\n", ("column city", "not assigned", "\\u0378")),
    "a line with too many fields": ("1,2026-01-01,1,Bern,1,7\n", ("row 1", "not a row of the file")),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_stops_the_batch(name: str, tmp_path: Path) -> None:
    rows, told = BAD_ROWS[name]
    with open_vault() as vault:
        assert_stopped(vault, csv(tmp_path, HEADER + rows), "2026-01-01.csv", *told)
        vault.load("shop", csv(tmp_path, GOOD))
        assert_stopped(vault, csv(tmp_path, HEADER + rows), *told)


@pytest.mark.parametrize("name", BAD_ROWS)
def test_a_bad_row_is_quarantined_and_the_rest_loads(name: str, tmp_path: Path) -> None:
    rows, _ = BAD_ROWS[name]
    bad = len({line for line in rows.splitlines() if "31" not in line})
    with open_vault(on_error="quarantine") as vault:
        result = vault.load("shop", csv(tmp_path, HEADER + rows + "9,2026-01-01,1,Chur,1\n"))
        assert result.rows_rejected == bad
        assert vault.as_of("sat_customer").query("customer_id == '9'")["city"].tolist() == ["Chur"]
        rejected = vault.query("select * from control.rejected_row order by row_number")
        assert rejected["batch_id"].tolist() == [result.batch_id] * bad
        assert rejected["reason"].str.len().min() > 0
        held = json.loads(rejected["row_json"][0])
        assert held["line"] == rows.strip() if "line" in held else held["city"] is not None


def test_quarantined_rows_are_part_of_the_fingerprint_and_a_replay_rejects_nothing_again(tmp_path: Path) -> None:
    rows = "1,2026-01-01,x,Bern,1\n9,2026-01-01,1,Chur,1\n"
    with open_vault(on_error="quarantine") as vault:
        for replayed in (False, True):
            assert vault.load("shop", csv(tmp_path, HEADER + rows), partition="d").replayed is replayed
            assert len(vault.query("select * from control.rejected_row")) == 1
        mended = rows.replace("x,Bern", "5,Bern")
        assert (
            vault.load("shop", csv(tmp_path, HEADER + mended), partition="d").satellites["sat_customer"].inserted == 1
        )


def test_a_missing_column_names_what_is_there_and_what_it_may_be(tmp_path: Path) -> None:
    with open_vault() as vault:
        text = GOOD.replace("city", "ciity")
        assert_stopped(vault, csv(tmp_path, text), "column city (is it ciity?) is missing", "2026-01-01.csv")


def test_an_undeclared_column_is_kept_out_and_reported(tmp_path: Path) -> None:
    text = HEADER.strip() + ",shoe_size\n1,2026-01-01,30,Bern,10.50,44\n"
    with open_vault() as vault:
        result = vault.load("shop", csv(tmp_path, text))
        assert result.undeclared_columns == ("shoe_size",)
        assert "shoe_size" not in vault.query("select * from sat_customer").columns


def test_two_states_of_one_key_at_one_time_are_a_contradiction_that_names_key_and_rows() -> None:
    rows = pd.DataFrame(
        {"customer_id": ["1", "2", "1"], "day": "2026-01-01", "age": [1, 2, 3], "city": "B", "limit": 1}
    )
    with open_vault() as vault:
        assert_stopped(
            vault,
            rows,
            "sat_customer",
            "2 rows contradict",
            "customer_id='1'",
            "row 1",
            "row 3",
            error=ContradictionError,
        )
    with open_vault(on_error="quarantine") as vault:
        assert vault.load("shop", rows).rows_rejected == 2
        assert vault.as_of("sat_customer")["customer_id"].tolist() == ["2"]
        assert vault.query("select row_number from control.rejected_row order by 1")["row_number"].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("tie_break", "ages", "winner"),
    [
        ([1, 2, 3], [10, 20, 30], 30),
        ([3, 2, 1], [10, 20, 30], 10),
        ([2, 1, 2], [10, 20, 10], 10),  # the greatest value twice, but beside one state
        ([2, 1, 2], [10, 20, 30], None),
        ([None, 1, 2], [10, 20, 30], None),
    ],
)
def test_a_tie_break_chooses_unless_it_is_equal_or_null(
    tie_break: list[int | None], ages: list[int], winner: int | None
) -> None:
    rows = pd.DataFrame({"customer_id": "1", "day": "2026-01-01", "age": ages, "city": "B", "limit": 1})
    rows["version"] = pd.array(tie_break, dtype="Int64")
    with open_vault(tie_break="version") as vault:
        if winner is None:
            assert_stopped(vault, rows, "tie_break: version is equal or NULL", error=ContradictionError)
        else:
            vault.load("shop", rows)
            assert vault.as_of("sat_customer")["age"].tolist() == [winner]
            assert len(vault.query("select * from sat_xt_hub_customer")) == 1  # losers never reach the XTS


def test_a_null_business_key_may_hang_on_the_zero_key() -> None:
    rows = pd.DataFrame({"customer_id": [None, "1"], "day": "2026-01-01", "age": 1, "city": "B", "limit": 1})
    with open_vault(null_business_key="zero_key") as vault:
        vault.load("shop", rows)
        hub = vault.query("select dv_hashkey_hub_customer as key, customer_id from hub_customer order by customer_id")
        assert bytes(hub["key"][1]) == bytes(32)
        assert pd.isna(hub["customer_id"][1])
        assert len(vault.as_of("sat_customer")) == 2
        assert vault.query("select count(*) as n from sat_customer where dv_sid = 0")["n"][0] == 1


def test_a_part_of_a_composite_key_that_is_missing_is_refused_even_with_the_zero_key() -> None:
    hub = {"hub": "customer", "business_key": {"country": "text", "customer_id": "text"}}
    rows = pd.DataFrame(
        {"customer_id": ["1"], "country": [None], "day": "2026-01-01", "age": 1, "city": "B", "limit": 1}
    )
    rows["country"] = rows["country"].astype("str")
    with open_vault(hubs=[hub], null_business_key="zero_key") as vault:
        assert_stopped(vault, rows, "a part of the business key of hub customer is missing")


NOT_WHAT_ITS_NAME_SAYS = {
    "2026-01-01.parquet": b"customer_id,day\n1,2026-01-01\n",
    "2026-01-01.csv.gz": b"customer_id,day\n1,2026-01-01\n",
    "truncated.csv.gz": gzip.compress(GOOD.encode() * 2000)[:-40],
    "2026-01-01.csv": b"PAR1\x00\x00\x15\x04PAR1",
    "latin.csv": (HEADER + "1,2026-01-01,1,Z\xfcrich,1\n").encode("latin-1"),
    "empty.csv": b"",
    "table.xlsx": b"PK",
}


@pytest.mark.parametrize("name", NOT_WHAT_ITS_NAME_SAYS)
def test_a_file_that_is_not_what_its_name_says_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(NOT_WHAT_ITS_NAME_SAYS[name])
    with open_vault() as vault:
        before = everything(vault)
        with pytest.raises(DeliveryError, match=name):
            vault.load("shop", file)
        assert everything(vault) == before


def test_text_that_is_no_unicode_is_refused() -> None:
    rows = pd.DataFrame(
        {"customer_id": ["1"], "day": "2026-01-01", "age": 1, "city": ["\ud800"], "limit": 1}, dtype=object
    )
    with open_vault() as vault:
        assert_stopped(vault, rows, "city", "row 1")


@pytest.mark.parametrize("key", ["a,b", "a/b", "a...b", "a\nb", "", " a", "x" * 300])
def test_a_partition_key_that_dagster_cannot_carry_is_refused(key: str, tmp_path: Path) -> None:
    with open_vault() as vault:
        assert_stopped(vault, csv(tmp_path, GOOD), "partition key", partition=key)


def test_a_partition_that_is_not_staged_names_the_staging_asset() -> None:
    with open_vault() as vault, pytest.raises(NotStagedError, match=r"2026-01-09.*materialize the asset staged/shop"):
        newest_batch(vault.warehouse, "shop", "2026-01-09")


def test_a_binary_float_in_a_hashdiff_must_be_declared() -> None:
    satellite = {"name": "sat_customer", "parent": {"hub": "customer"}, "columns": ["score"]}
    rows = pd.DataFrame({"customer_id": ["1"], "day": "2026-01-01", "score": [0.1]})
    with open_vault(satellites=[satellite]) as vault:
        assert_stopped(vault, rows, "column score holds binary floats", "`score: double`")
    with open_vault(satellites=[{**satellite, "columns": {"score": "double"}}]) as vault:
        assert vault.load("shop", rows).satellites["sat_customer"].inserted == 1


def test_types_are_inferred_once_and_then_remembered() -> None:
    satellite = {"name": "sat_customer", "parent": {"hub": "customer"}, "columns": ["age", "note"]}

    def rows(age: object, note: object) -> pd.DataFrame:
        return pd.DataFrame({"customer_id": ["1"], "day": ["2026-01-01"], "age": [age], "note": [note]})

    with open_vault(satellites=[satellite]) as vault:
        vault.load("shop", rows(30, None))  # note has no type yet: text
        assert vault.load("shop", rows("30", None)).satellites["sat_customer"].inserted == 0
        vault.load("shop", rows(None, 7))
        (state,) = vault.as_of("sat_customer").to_dict("records")
        assert (pd.isna(state["age"]), state["note"]) == (True, "7")
        types = vault.query(
            "select column_name, column_type from control.table_column where table_name = 'sat_customer'"
        )
        assert dict(types.itertuples(index=False)) == {"age": "integer", "note": "text"}
        assert_stopped(vault, rows("thirty", None), "column age", "'thirty' is not an integer")


def test_a_column_that_is_all_null_keeps_its_type(tmp_path: Path) -> None:
    table = pa.table({"customer_id": ["1"], "day": ["2026-01-01"], "age": [5], "city": ["B"], "limit": ["1"]})
    with open_vault() as vault:
        vault.load("shop", table)
        nulls = table.set_column(2, "age", pa.nulls(1)).set_column(1, "day", pa.array(["2026-01-02"]))
        vault.load("shop", nulls)
        vault.load("shop", table.set_column(1, "day", pa.array(["2026-01-03"])))
        ages = vault.query("select age from sat_customer where dv_sid <> 0 order by dv_applied_timestamp")["age"]
        assert [None if pd.isna(age) else int(age) for age in ages] == [5, None, 5]


def test_a_declared_type_that_differs_from_the_first_batch_is_refused(tmp_path: Path) -> None:
    columns = {"age": "text", "city": "text", "limit": "decimal(8,2)"}
    with open_vault() as vault:
        vault.load("shop", csv(tmp_path, GOOD))
        satellite = {**SOURCE["satellites"][0], "columns": columns}
        changed = Vault.open([{**SOURCE, "satellites": [satellite]}], vault.warehouse)
        with pytest.raises(
            ValueError, match="column age of shop is integer since its first batch and would be text now"
        ):
            changed.load("shop", csv(tmp_path, GOOD))


def test_a_batch_in_quarantine_is_a_replay_in_any_order_of_its_rows(tmp_path: Path) -> None:
    rows = ["1,2026-01-01,x,Bern,1", "2,2026-01-01,y,Bern,1", "9,2026-01-01,1,Chur,1", "9,2026-01-02,1,Chur,1,extra"]
    with open_vault(on_error="quarantine") as vault:
        for replayed, order in ((False, rows), (True, rows[::-1])):
            text = HEADER + "\n".join(order) + "\n"
            assert vault.load("shop", csv(tmp_path, text), partition="d").replayed is replayed


def test_a_declaration_in_another_order_or_with_its_inferred_types_makes_no_new_batch() -> None:
    columns = SOURCE["satellites"][0]["columns"]
    rows = pd.DataFrame({"customer_id": ["1"], "day": "2026-01-01", "age": 1, "city": "B", "limit": "1"})
    with open_vault() as vault:
        vault.load("shop", rows, partition="d")
        satellite = {**SOURCE["satellites"][0], "columns": dict(reversed(columns.items()))}
        again = Vault.open([{**SOURCE, "satellites": [satellite], "types": {"day": "date"}}], vault.warehouse)
        assert again.load("shop", rows, partition="d").replayed


def test_what_a_row_overruled_speaks_again_when_that_row_is_rejected() -> None:
    """Row 2 wins the tie of the account and then contradicts row 3 on the customer: row 1 is what is left of it."""
    hubs = [*SOURCE["hubs"], {"hub": "account", "business_key": {"account_id": "text"}}]
    satellites = [
        {"name": "sat_account", "parent": {"hub": "account"}, "columns": {"limit": "text"}},
        {"name": "sat_customer", "parent": {"hub": "customer"}, "columns": {"city": "text"}},
    ]
    rows = pd.DataFrame(
        [("1", "a", "low", "Bern", 1), ("2", "a", "high", "Bern", 2), ("2", "b", "mid", "Chur", 2)],
        columns=["customer_id", "account_id", "limit", "city", "version"],
    )
    rows["day"] = "2026-01-01"
    with open_vault(hubs=hubs, satellites=satellites, tie_break="version", on_error="quarantine") as vault:
        assert vault.load("shop", rows).rows_rejected == 2
        assert vault.as_of("sat_account")[["account_id", "limit"]].values.tolist() == [["a", "low"]]


def test_a_tie_break_of_text_from_a_csv_file_needs_a_type(tmp_path: Path) -> None:
    text = HEADER.strip() + ",seq\n1,2026-01-01,1,Bern,1,9\n1,2026-01-01,1,Chur,1,10\n"
    with open_vault(tie_break="seq") as vault:
        assert_stopped(vault, csv(tmp_path, text), "tie_break: seq would be compared as text")
    with open_vault(tie_break="seq", types={"seq": "integer"}) as vault:
        vault.load("shop", csv(tmp_path, text))
        assert vault.as_of("sat_customer")["city"].tolist() == ["Chur"]


@pytest.mark.parametrize(
    "kind", [pa.time32("s"), pa.duration("s"), pa.list_(pa.int64()), pa.struct([("a", pa.int64())])]
)
def test_a_declared_column_of_a_kind_that_cannot_be_loaded_is_named(kind: pa.DataType) -> None:
    table = pa.table(
        {"customer_id": ["1"], "day": ["2026-01-01"], "age": pa.nulls(1, kind), "city": ["B"], "limit": ["1"]}
    )
    with open_vault() as vault:
        assert_stopped(vault, table, "column age was delivered as")


def test_nested_values_that_nobody_declared_are_kept_out(tmp_path: Path) -> None:
    row = {"customer_id": "1", "day": "2026-01-01", "age": 1, "city": "B", "limit": "1", "tags": {"a": [1]}}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n")
    for data in (file, pd.DataFrame([row])):
        with open_vault() as vault:
            result = vault.load("shop", data)
            assert (result.rows_staged, result.undeclared_columns) == (1, ("tags",))


def test_a_date_that_python_has_no_word_for_is_quarantined_all_the_same() -> None:
    far = pa.array([10**18], pa.timestamp("us"))
    table = pa.table({"customer_id": ["1"], "day": far, "age": [1], "city": ["B"], "limit": ["1"], "other": far})
    with open_vault(on_error="quarantine") as vault:
        assert vault.load("shop", table.slice(0, 1)).rows_rejected == 1


def test_decimals_of_a_frame_leave_room_for_those_that_come_later() -> None:
    satellite = {"name": "sat_customer", "parent": {"hub": "customer"}, "columns": ["limit"]}
    with open_vault(satellites=[satellite]) as vault:
        for day, limit in (("2026-01-01", "1.5"), ("2026-01-02", "12.25"), ("2026-01-03", "12.250")):
            vault.load("shop", pd.DataFrame({"customer_id": ["1"], "day": [day], "limit": [Decimal(limit)]}))
        stored = vault.query('select "limit" from sat_customer where dv_sid <> 0 order by dv_applied_timestamp')
        assert stored["limit"].tolist() == [Decimal("1.5"), Decimal("12.25")]


def test_a_key_that_does_not_fit_is_one_fault_and_not_a_missing_key_too(tmp_path: Path) -> None:
    hubs = [{"hub": "customer", "business_key": {"customer_id": "integer", "branch": "integer"}}]
    text = "customer_id,branch,day,age,city,limit\n"
    rows = ("nine,1", "nine,one", ",1", ",", "9,1")
    file = csv(tmp_path, text + "".join(f"{keys},2026-01-01,30,Bern,1\n" for keys in rows))
    with open_vault(hubs=hubs) as vault, pytest.raises(DeliveryError) as refused:
        vault.load("shop", file)
    told = str(refused.value)
    assert "column customer_id: does not fit integer, 2 rows (row 1: 'nine'" in told
    assert "column branch: does not fit integer, 1 row (row 2: 'one'" in told
    assert "a part of the business key of hub customer is missing, 1 row (row 3" in told
    assert "no business key for hub customer, 1 row (row 4" in told
