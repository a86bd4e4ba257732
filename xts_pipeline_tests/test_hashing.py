"""Hashes are for ever: these vectors were written by hand, and must never change.

`same` compares a hash with the hex literal and with hashlib over the canonical string beside it, so that a reader sees
what was hashed and a change of rule cannot pass by changing both sides.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xts_pipeline.hashing import (
    canonical_text,
    digest,
    hash_key,
    hashdiff,
    joined_text,
    link_hash_key,
    unassigned,
    zero_key,
)


def text(values: list[Any], kind: pa.DataType | None = None, **options: bool) -> list[str | None]:
    result = canonical_text(pa.array(values, kind), **options)
    assert result.type == pa.string()
    return result.to_pylist()


def same(hashes: pa.Array, canonical: str, hexadecimal: str) -> None:
    assert hashlib.new("sha256" if len(hexadecimal) == 64 else "sha1", canonical.encode()).hexdigest() == hexadecimal
    assert [value.hex() for value in hashes.to_pylist()] == [hexadecimal]


# --- fixed vectors -----------------------------------------------------------------------------------------------


def test_hash_key_of_one_column_is_the_hash_of_its_upper_case_text() -> None:
    same(
        hash_key({"customer_id": pa.array(["abc-1 "])}, algorithm="sha256"),
        "ABC-1",
        "173896f9bffa2cadd2e7be97b2ad66afbdc1114b3b097956a33fecf56afdf963",
    )


def test_tenant_and_collision_code_stand_before_the_key_columns_in_that_order() -> None:
    columns = {"b": pa.array([7]), "a": pa.array(["x"])}
    same(
        hash_key(columns, algorithm="sha256", prefix=["tn", "crm"]),
        "TN||CRM||X||7",
        "3b9e20af097f42a263f880cb95fb14f34754c71cd5946c494f343b808f34f650",
    )


def test_hashdiff_keeps_case_and_writes_null_as_two_carets() -> None:
    columns = {"street": pa.array(["Main St  "]), "city": pa.array(["Łódź"]), "postcode": pa.array([None], pa.string())}
    same(
        hashdiff(columns, algorithm="sha256"),
        "Łódź||^^||Main St",
        "2b1f98cf1a98bba7c409449747ccb836798d3a41c89cbf78f721517afd60afac",
    )


def test_hashdiff_of_every_type() -> None:
    columns = {
        "a_flag": pa.array([True]),
        "b_count": pa.array([-42]),
        "c_price": pa.array([Decimal("12.5")], pa.decimal128(10, 2)),
        "d_born": pa.array([dt.date(812, 3, 4)]),
        "e_seen": pa.array([dt.datetime(2026, 1, 4, 5, 6, 7)], pa.timestamp("s")),
        "f_raw": pa.array([b"\x00\xff"]),
        "g_text": pa.array(["a|b"]),
    }
    canonical = r"true||-42||12.50||0812-03-04||2026-01-04T05:06:07.000000||00ff||a\|b"
    same(
        hashdiff(columns, algorithm="sha256"),
        canonical,
        "79511833cac465d629a7160f6db6b6ea63f1d302f7683d6be59edb4b614c01fb",
    )


def test_link_of_a_hub_to_itself_keeps_its_sides() -> None:
    parent, child = {"id": pa.array(["p"])}, {"id": pa.array(["c"])}
    same(
        link_hash_key([parent, child], algorithm="sha256", prefix=["t"]),
        "T||P||C",
        "484fa16d59c13f3fb90ef77954e323ec82f7b3307331656516032d3b3db31e3c",
    )
    same(
        link_hash_key([child, parent], algorithm="sha256", prefix=["t"]),
        "T||C||P",
        "80930f7780e954d64438d8912bc9b1ed4d1ea986c4ba209506653fc011f2e7e1",
    )


def test_sha1_has_20_bytes() -> None:
    hashes = hash_key({"id": pa.array(["a"])}, algorithm="sha1")
    assert hashes.type == pa.binary(20)
    same(hashes, "A", "6dcd4ce23d88e2ee9568ba546c007c63d9131c1b")


def test_zero_key_is_as_long_as_a_digest() -> None:
    assert zero_key("sha256") == bytes(32)
    assert zero_key("sha1") == bytes(20)


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(ValueError, match="md5"):
        zero_key("md5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="md5"):
        digest(pa.array(["a"]), "md5")  # type: ignore[arg-type]


# --- order of columns --------------------------------------------------------------------------------------------


def test_order_of_the_mapping_does_not_matter() -> None:
    columns = {"b": pa.array(["1"]), "A": pa.array(["2"]), "c": pa.array(["3"])}
    backwards = dict(reversed(columns.items()))
    assert hashdiff(columns, algorithm="sha256") == hashdiff(backwards, algorithm="sha256")
    assert hashdiff(columns, algorithm="sha256") == digest(pa.array(["2||1||3"]), "sha256")


def test_names_that_differ_in_case_only_are_sorted_by_the_name_itself() -> None:
    columns = {"a": pa.array(["lower"]), "A": pa.array(["upper"])}
    assert hashdiff(columns, algorithm="sha256") == digest(pa.array(["upper||lower"]), "sha256")


def test_link_sorts_columns_inside_each_hub_only() -> None:
    hubs = [{"z": pa.array(["1"]), "y": pa.array(["2"])}, {"a": pa.array(["3"])}]
    assert link_hash_key(hubs, algorithm="sha256") == digest(pa.array(["2||1||3"]), "sha256")


def test_order_of_the_prefix_matters() -> None:
    columns = {"id": pa.array(["1"])}
    one, other = (hash_key(columns, algorithm="sha256", prefix=prefix) for prefix in (["a", "b"], ["b", "a"]))
    assert one != other


# --- text --------------------------------------------------------------------------------------------------------


def test_composed_and_decomposed_text_are_one() -> None:
    assert text(["Café", "Cafe\u0301"]) == ["Café", "Café"]


def test_trailing_blanks_are_ignored_and_leading_ones_kept() -> None:
    assert text(["  a  ", "é ", " ", "a\t", "a\u00a0"]) == ["  a", "é", "", "a\t", "a\u00a0"]
    assert text([" a ", " é "], business_key=True) == [" A", " É"]


def test_payload_keeps_its_case() -> None:
    assert text(["aB", "ß", "ı"]) == ["aB", "ß", "ı"]


@pytest.mark.parametrize(
    ("given_text", "upper"),
    [
        ("abc", "ABC"),
        ("straße", "STRASSE"),
        ("ı", "I"),
        ("i", "I"),
        ("ŉ", "ʼN"),
        ("ﬁ", "FI"),
        ("ǆ", "Ǆ"),
        ("ς", "Σ"),
        ("\u0390", "\u03aa\u0301"),  # upper-casing leaves I + diaeresis + accent, which NFC composes
        ("cafe\u0301", "CAFÉ"),
    ],
)
def test_business_keys_are_upper_cased_as_python_does(given_text: str, upper: str) -> None:
    assert text([given_text], business_key=True) == [upper]


@pytest.mark.parametrize("letter", "\u019b\u0264\u0277\u027c\ua7d3\ua7d5\uab4b\uab4c")
def test_letters_whose_capital_came_after_unicode_14_stay_as_they_are(letter: str) -> None:
    assert text([f"a{letter}ß"], business_key=True) == [f"A{letter}SS"]


def test_null_stays_null_and_is_not_empty() -> None:
    assert text([None, "", "é", None], pa.string()) == [None, "", "é", None]
    one, other = (hashdiff({"a": pa.array([value], pa.string())}, algorithm="sha256") for value in (None, ""))
    assert one != other


def test_unassigned_code_points_are_found() -> None:
    values = pa.array(["abc", "é", "x\u0378", None, "\ue000", "x\u0378", ""])
    assert unassigned(values).to_pylist() == [False, False, True, False, False, True, False]
    assert unassigned(values.slice(2, 2)).to_pylist() == [True, False]
    assert unassigned(pa.array(["a", None])).to_pylist() == [False, False]
    assert unassigned(pa.chunked_array([["a"], ["\U0003ffff"]])).to_pylist() == [False, True]
    with pytest.raises(TypeError, match="int64"):
        unassigned(pa.array([1]))


# --- other types -------------------------------------------------------------------------------------------------


def test_booleans_and_integers_are_plain() -> None:
    assert text([True, False, None]) == ["true", "false", None]
    assert text([2**63 - 1, -(2**63), 0, None]) == ["9223372036854775807", "-9223372036854775808", "0", None]
    assert text([2**64 - 1], pa.uint64()) == ["18446744073709551615"]
    assert text([-128], pa.int8()) == ["-128"]


def test_decimals_are_written_at_their_scale_without_exponent_or_negative_zero() -> None:
    values = [Decimal(value) for value in ("1", "-1.5", "0.0000000001", "-0.0000000001", "-0", "12345678.9")]
    expected = ["1.0000000000", "-1.5000000000", "0.0000000001", "-0.0000000001", "0.0000000000", "12345678.9000000000"]
    for kind in (pa.decimal128(38, 10), pa.decimal256(50, 10), pa.decimal64(18, 10)):
        assert text([*values, None], kind) == [*expected, None]
    assert text([Decimal("-7")], pa.decimal128(9, 0)) == ["-7"]
    assert text([Decimal("0.12"), Decimal("-0.12")], pa.decimal32(2, 2)) == ["0.12", "-0.12"]
    assert text([Decimal("1200"), Decimal("0")], pa.decimal128(9, -2)) == ["1200", "0"]
    assert text([Decimal("-" + "9" * 76)], pa.decimal256(76, 0)) == ["-" + "9" * 76]


def test_dates_have_four_digit_years() -> None:
    values = [dt.date(1, 1, 1), dt.date(987, 6, 5), dt.date(9999, 12, 31), None]
    for kind in (pa.date32(), pa.date64()):
        assert text(values, kind) == ["0001-01-01", "0987-06-05", "9999-12-31", None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+00:00"])
def test_timestamps_have_microseconds_whatever_their_unit(unit: str, zone: str | None) -> None:
    utc = dt.UTC if zone else None
    values = [dt.datetime(1969, 12, 31, 23, 59, 58, tzinfo=utc), dt.datetime(2026, 1, 4, tzinfo=utc), None]
    expected = ["1969-12-31T23:59:58.000000", "2026-01-04T00:00:00.000000", None]
    assert text(values, pa.timestamp(unit, zone)) == expected


def test_timestamps_before_the_year_1000_are_padded() -> None:
    assert text([dt.datetime(5, 1, 2, 3, 4, 5, 6)]) == ["0005-01-02T03:04:05.000006"]


def test_nanoseconds_are_cut_towards_the_past() -> None:
    expected = ["1970-01-01T00:00:00.000001", "1969-12-31T23:59:59.999999"]
    assert text([1999, -1], pa.timestamp("ns")) == expected


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("s")])
def test_years_outside_1_to_9999_are_refused(kind: pa.DataType) -> None:
    year_10000 = 253_402_300_800 * (1 if kind.unit == "s" else 1_000_000)
    with pytest.raises(ValueError, match="10000"):
        canonical_text(pa.array([year_10000], pa.int64()).cast(kind))
    with pytest.raises(ValueError, match="years"):
        canonical_text(pa.array([-800_000], pa.int32()).cast(pa.date32()))


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(3)])
def test_bytes_are_lower_hex(kind: pa.DataType) -> None:
    assert text([b"\x00\xab\xff", None, b"abc"], kind) == ["00abff", None, "616263"]
    assert canonical_text(pa.array([b"\x00\xab\xff", None, b"abc"], kind)[1:]).to_pylist() == [None, "616263"]


def test_empty_bytes_are_empty_text() -> None:
    assert text([b"", b"a", None, b""]) == ["", "61", None, ""]


def test_floats_have_the_shortest_text_that_round_trips() -> None:
    values = [0.1, -0.0, 1.0, 1e16, 1e-7, float("nan"), float("inf"), float("-inf"), None]
    expected = ["0.1", "0.0", "1.0", "1e+16", "1e-07", "nan", "inf", "-inf", None]
    assert text(values, pa.float64()) == expected
    assert text(values, pa.float32()) == expected


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_float32_text_round_trips(values: list[float]) -> None:
    for value, shown in zip(values, text(values, pa.float32()), strict=True):
        assert shown is not None
        assert struct.pack("f", float(shown)) == struct.pack("f", value + 0.0)
        assert len(shown.replace("-", "").replace(".", "").split("e")[0].strip("0")) <= 9


@pytest.mark.parametrize(
    "values",
    [
        pa.array([], pa.timestamp("us", "Europe/Berlin")),
        pa.array([], pa.time64("us")),
        pa.array([], pa.float16()),
        pa.array([], pa.list_(pa.string())),
        pa.array(["a"]).dictionary_encode(),
    ],
)
def test_a_type_without_a_rule_is_named(values: pa.Array) -> None:
    with pytest.raises(TypeError) as error:
        canonical_text(values)
    assert str(values.type) in str(error.value)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.large_string(), pa.null(), pa.bool_(), pa.int64(), pa.float32(), pa.float64()),
        *(pa.decimal128(9, 2), pa.decimal128(9, -2), pa.date32(), pa.date64(), pa.binary(), pa.binary(2)),
        *(pa.timestamp("ns"), pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
@pytest.mark.parametrize("business_key", [False, True])
def test_empty_and_all_null_arrays_work_for_every_type(kind: pa.DataType, business_key: bool) -> None:
    assert text([], kind, business_key=business_key) == []
    assert text([None, None], kind, business_key=business_key) == [None, None]
    assert canonical_text(pa.chunked_array([], kind)).to_pylist() == []
    assert len(hashdiff({"a": pa.array([], kind)}, algorithm="sha256")) == 0
    assert hashdiff({"a": pa.array([None], kind)}, algorithm="sha256") == digest(pa.array(["^^"]), "sha256")


# --- joining -----------------------------------------------------------------------------------------------------


def test_separators_and_escapes_inside_values_are_escaped() -> None:
    fields = [pa.array(["a|", "a", "^^", None, "", "\\", "a||b"]), pa.array(["b", "|b", None, "^^", "", "|", "é^"])]
    assert joined_text(fields).to_pylist() == [
        r"a\|||b",
        r"a||\|b",
        r"\^\^||^^",
        r"^^||\^\^",
        "||",
        r"\\||\|",
        r"a\|\|b||é\^",
    ]


def test_null_two_carets_and_empty_are_three_values() -> None:
    assert joined_text([pa.array([None, "^^", ""])]).to_pylist() == ["^^", r"\^\^", ""]


def test_fields_that_cannot_be_joined_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        joined_text([])
    with pytest.raises(ValueError, match="length"):
        joined_text([pa.array(["a"]), pa.array(["a", "b"])])
    with pytest.raises(TypeError, match="int64"):
        joined_text([pa.array([1])])


@pytest.mark.parametrize("hubs", [[], [{}], [{"a": pa.array(["1"])}, {}]])
def test_a_key_without_columns_is_refused(hubs: list[dict[str, pa.Array]]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        link_hash_key(hubs, algorithm="sha256", prefix=["t"])
    with pytest.raises(ValueError, match="at least one"):
        hashdiff({}, algorithm="sha256")


def test_a_null_has_no_digest() -> None:
    with pytest.raises(ValueError, match="NULL"):
        digest(pa.array(["a", None]), "sha256")


# --- layouts of arrays -------------------------------------------------------------------------------------------


def test_slices_and_chunks_hash_as_the_whole() -> None:
    columns = {
        "text": pa.array(["a", "é|", None, "c  ", "ß"]),
        "price": pa.array([Decimal("1.10"), None, Decimal("-0.01"), Decimal("3"), Decimal("4")], pa.decimal128(9, 2)),
        "raw": pa.array([b"a", b"", None, b"bc", b"d"]),
        "seen": pa.array([1, 2, None, 4, 5], pa.timestamp("ns", "UTC")),
        "flag": pa.array([True, None, False, True, False]),
        "ratio": pa.array([0.5, -0.0, None, 1e300, 2.0]),
    }
    whole = hashdiff(columns, algorithm="sha256").to_pylist()
    sliced = {name: values.slice(1, 3) for name, values in columns.items()}
    chunked = {name: pa.chunked_array([values[:2], values[2:2], values[2:]]) for name, values in columns.items()}
    assert hashdiff(sliced, algorithm="sha256").to_pylist() == whole[1:4]
    assert hashdiff(chunked, algorithm="sha256").to_pylist() == whole
    assert hash_key(sliced, algorithm="sha1").to_pylist() == hash_key(columns, algorithm="sha1").to_pylist()[1:4]


def test_digest_of_a_slice_starts_at_its_offset() -> None:
    texts = pa.array(["a", "bb", "ccc", ""])
    for array in (texts, texts.cast(pa.large_string())):
        expected = [hashlib.sha256(value).digest() for value in (b"bb", b"ccc")]
        assert digest(array.slice(1, 2), "sha256").to_pylist() == expected


def test_more_rows_than_one_block_and_long_texts_are_hashed() -> None:
    values = [str(number) for number in range(70_000)] + ["x" * 5_000_000]
    expected = [hashlib.sha256(value.encode()).digest() for value in values]
    assert digest(pa.array(values), "sha256").to_pylist() == expected


@pytest.mark.long
def test_joined_text_may_pass_2_gib() -> None:
    long = pa.repeat(pa.scalar("x" * 2**20), 1_100)
    joined = joined_text([long, long])
    assert joined.type == pa.large_string()
    assert joined.nbytes > 2**31
    assert len(joined[1_099].as_py()) == 2 * 2**20 + 2
