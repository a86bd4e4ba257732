"""Deliveries from memory: what pandas did to the values is undone where it is certain, refused where it is not."""

import datetime as dt
import uuid
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers import MalformedRow, open_delivery

BERLIN = ZoneInfo("Europe/Berlin")
NOON = dt.datetime(2026, 1, 1, 12)


def objects(*values: object) -> pd.Series:
    return pd.Series(list(values), dtype=object)


def column(series: object) -> tuple[pa.DataType, list[object]]:
    (chunk,) = open_delivery(pd.DataFrame({"x": series})).chunks()
    return chunk.table.schema.field("x").type, chunk.table["x"].to_pylist()


def refusal(data: object) -> str:
    with pytest.raises(DeliveryError) as caught:
        list(open_delivery(data).chunks())
    return str(caught.value)


@pytest.mark.parametrize(
    ("series", "kind", "expected"),
    [
        (pd.Series([1, 2]), pa.int64(), [1, 2]),
        (pd.Series([1, None, 3]), pa.int64(), [1, None, 3]),
        (pd.Series([1.0, 2.0]), pa.float64(), [1.0, 2.0]),
        (pd.Series([1.5, None]), pa.float64(), [1.5, None]),
        (pd.Series([2.0**53, None]), pa.float64(), [2.0**53, None]),
        (pd.Series([np.inf, None]), pa.float64(), [np.inf, None]),
        (pd.Series([np.nan, np.nan]), pa.null(), [None, None]),
        (pd.Series([1, None], dtype="Int64"), pa.int64(), [1, None]),
        (pd.Series([1, 2], dtype="uint64"), pa.uint64(), [1, 2]),
        (pd.Series([True, None], dtype="boolean"), pa.bool_(), [True, None]),
        (pd.Series([1.0, None], dtype="Float64"), pa.float64(), [1.0, None]),
        (pd.Series([1.0, np.nan], dtype="float32"), pa.float32(), [1.0, None]),
        (pd.Series(["a", None, ""]), pa.string(), ["a", None, ""]),
        (pd.Series(["a", None], dtype="category"), pa.string(), ["a", None]),
        (pd.Series([1, None, 2], dtype="category"), pa.int64(), [1, None, 2]),
        (pd.Series([NOON, None]), pa.timestamp("us"), [NOON, None]),
        (pd.Series([1, 0, 1], dtype=pd.SparseDtype("int64", 0)), pa.int64(), [1, 0, 1]),
        (pd.Series([1, None], dtype=pd.ArrowDtype(pa.decimal128(5, 1))), pa.decimal128(5, 1), [Decimal(1), None]),
        (objects(1, None, np.int32(3), np.nan, pd.NA), pa.int64(), [1, None, 3, None, None]),
        (objects(1, 2**63), pa.decimal128(38, 0), [Decimal(1), Decimal(2**63)]),
        (objects(1, 10**38), pa.string(), ["1", str(10**38)]),
        (objects(True, None, np.False_), pa.bool_(), [True, None, False]),
        (objects(1.5, None), pa.float64(), [1.5, None]),
        (objects(1, 1.5), pa.float64(), [1.0, 1.5]),
        (objects(Decimal("1.50"), None, 12), pa.decimal128(4, 2), [Decimal("1.50"), None, Decimal("12.00")]),
        (objects(Decimal("1E+3"), Decimal("NaN")), pa.decimal128(4, 0), [Decimal(1000), None]),
        (objects(Decimal("1e-30"), Decimal("1e30")), pa.string(), [f"{Decimal('1e-30'):f}", "1" + "0" * 30]),
        (objects(Decimal("Infinity")), pa.string(), ["Infinity"]),
        (objects(b"\xff", None), pa.binary(), [b"\xff", None]),
        (objects(dt.date(2026, 1, 1), None), pa.date32(), [dt.date(2026, 1, 1), None]),
        (objects(NOON, pd.NaT), pa.timestamp("us"), [NOON, None]),
        (objects(dt.datetime(9999, 12, 31)), pa.timestamp("us"), [dt.datetime(9999, 12, 31)]),
        (objects(uuid.UUID(int=1)), pa.string(), ["00000000-0000-0000-0000-000000000001"]),
        (objects(None, np.nan), pa.null(), [None, None]),
        (
            objects(1, "a", True, Decimal("1E+2"), dt.date(2026, 1, 1), NOON, 2.5, None),
            pa.string(),
            ["1", "a", "true", "100", "2026-01-01", "2026-01-01T12:00:00", "2.5", None],
        ),
    ],
)
def test_a_column_becomes_one_arrow_type(series: pd.Series, kind: pa.DataType, expected: list[object]) -> None:
    assert column(series) == (kind, expected)


def test_zoned_timestamps_keep_their_instant_and_mixed_zones_become_utc() -> None:
    kind, values = column(pd.Series([NOON.replace(tzinfo=BERLIN)]))
    assert str(kind.tz) == "Europe/Berlin"
    assert values == [NOON.replace(tzinfo=BERLIN)]
    kind, values = column(objects(NOON.replace(tzinfo=BERLIN), NOON.replace(tzinfo=dt.UTC)))
    assert kind == pa.timestamp("us", "UTC")
    assert values == [dt.datetime(2026, 1, 1, 11, tzinfo=dt.UTC), dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)]


def test_nanoseconds_in_objects_are_not_lost() -> None:
    kind, values = column(objects(pd.Timestamp("2026-01-01T00:00:00.000000001"), None))
    assert kind == pa.timestamp("ns")
    assert values[0] == pd.Timestamp("2026-01-01T00:00:00.000000001")


def test_a_row_with_half_a_character_is_malformed_and_left_out() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "name": objects("a", "b\ud800", "c")})
    first, second = open_delivery(frame, chunk_rows=2).chunks()
    assert first.table.to_pylist() == [{"id": 1, "name": "a"}]
    assert first.row_numbers.to_pylist() == [1]
    (row,) = first.malformed
    assert isinstance(row, MalformedRow)
    assert (row.row_number, row.reason) == (2, "column 'name' holds half a character (a lone surrogate)")
    assert "id=2" in row.text
    assert second.row_numbers.to_pylist() == [3]
    assert second.malformed == ()


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1,), 1j, object(), dt.time(1), dt.timedelta(1)])
def test_objects_that_are_no_plain_value_are_refused_with_column_and_row(value: object) -> None:
    message = refusal(pd.DataFrame({"x": objects(None, value)}))
    assert message.startswith(f"DataFrame: column 'x' holds a {type(value).__name__} in row 2; only text, numbers")


def test_column_types_without_plain_values_are_refused() -> None:
    assert "column 'x' of type complex128 cannot be loaded" in refusal(pd.DataFrame({"x": [1j]}))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([1, "a"], "column 1 is named 1 (int); column names must be text"),
        (["a", ("b", "c")], "column 2 is named ('b', 'c') (tuple)"),
        (["a", "a"], "column 'a' occurs twice"),
        (["a", "A"], "column 'A' occurs twice (also as 'a'"),
        (["a", " "], "column 2 has no name"),
    ],
)
def test_doubtful_column_names_are_refused(columns: list[object], expected: str) -> None:
    assert expected in refusal(pd.DataFrame([[1, 2]], columns=pd.Index(columns, dtype=object)))


def test_the_index_is_ignored_and_rows_are_numbered_in_order() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3]}, index=[7, 7, 9])
    chunks = list(open_delivery(frame, chunk_rows=2).chunks())
    assert [chunk.row_numbers.to_pylist() for chunk in chunks] == [[1, 2], [3]]
    assert [chunk.table.column_names for chunk in chunks] == [["x"], ["x"]]


def test_an_empty_frame_is_a_delivery_without_rows() -> None:
    delivery = open_delivery(pd.DataFrame({"x": []}))
    assert (delivery.name, delivery.columns, delivery.typed) == ("DataFrame", ("x",), True)
    assert list(delivery.chunks()) == []


def test_arrow_tables_and_batches_are_delivered_as_they_are() -> None:
    table = pa.table(
        {"x": pa.array(["a", "b", "a"]).dictionary_encode(), "y": pa.array(["c", None, "e"], pa.large_string())}
    )
    for data in (table, table.to_batches()[0]):
        delivery = open_delivery(data, chunk_rows=2)
        assert (delivery.name, delivery.columns) == ("Arrow table", ("x", "y"))
        chunks = list(delivery.chunks())
        assert [chunk.row_numbers.to_pylist() for chunk in chunks] == [[1, 2], [3]]
        assert chunks[0].table.schema.types == [pa.string(), pa.string()]
        assert pa.concat_tables([chunk.table for chunk in chunks]).to_pylist() == table.to_pylist()
    assert list(open_delivery(table.slice(0, 0)).chunks()) == []


def test_arrow_text_that_is_not_utf8_is_refused() -> None:
    for kind in (pa.string(), pa.large_string()):
        wide = pa.binary() if kind == pa.string() else pa.large_binary()
        message = refusal(pa.table({"x": pa.array([b"ok", b"\xff"], wide).view(kind)}))
        assert message == "Arrow table: column 'x' is not valid UTF-8 in row 2; export it as UTF-8 text"


def test_arrow_columns_of_one_name_are_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    assert "Arrow table: column 'x' occurs twice" in refusal(table)
