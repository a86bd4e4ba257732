"""The vectorised hashes equal a plain reference in Python, value by value."""

from __future__ import annotations

import datetime as dt
import hashlib
import unicodedata
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xts_pipeline.hashing import _MANY, Algorithm, digest, hash_key, hashdiff, joined_text, unassigned
from xts_pipeline_tests.test_hashing import text

TEXTS = st.one_of(
    st.none(),
    st.text(alphabet="ab|^\\ ", max_size=6),
    st.text(alphabet="aßıŉ\u0301\u0345 éÉ\u0390ﬁ", max_size=6),
    st.text(max_size=6),
)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[TEXTS] * width), min_size=1, max_size=30))


def reference_text(value: str | None, business_key: bool) -> str | None:
    if value is None:
        return None
    value = unicodedata.normalize("NFC", value)
    if business_key:
        value = unicodedata.normalize("NFC", value.upper())
    return value.rstrip(" ")


def reference_hash(row: tuple[str | None, ...], business_key: bool) -> bytes:
    fields = []
    for value in row:
        canonical = reference_text(value, business_key)
        if canonical is None:
            fields.append("^^")
        else:
            fields.append(canonical.replace("\\", "\\\\").replace("|", "\\|").replace("^", "\\^"))
    return hashlib.sha256("||".join(fields).encode()).digest()


def columns_of(rows: list[tuple[str | None, ...]]) -> dict[str, pa.Array]:
    return {f"c{number}": pa.array(values, pa.string()) for number, values in enumerate(zip(*rows, strict=True))}


@given(ROWS)
def test_hashes_equal_a_plain_reference_row_by_row(rows: list[tuple[str | None, ...]]) -> None:
    columns = columns_of(rows)
    assert hashdiff(columns, algorithm="sha256").to_pylist() == [reference_hash(row, False) for row in rows]
    assert hash_key(columns, algorithm="sha256").to_pylist() == [reference_hash(row, True) for row in rows]


@given(ROWS)
def test_different_rows_never_have_one_text(rows: list[tuple[str | None, ...]]) -> None:
    joined = joined_text(list(columns_of(rows).values())).to_pylist()
    assert len(set(joined)) == len(set(rows))


@given(TEXTS)
def test_canonical_text_is_its_own_canonical_text(value: str | None) -> None:
    once = text([value], pa.string(), business_key=True)
    assert text(once, pa.string(), business_key=True) == once


@given(st.lists(st.one_of(st.none(), st.text(max_size=4))))
def test_unassigned_equals_a_plain_reference(values: list[str | None]) -> None:
    expected = [any(unicodedata.category(char) == "Cn" for char in value or "") for value in values]
    assert unassigned(pa.array(values, pa.string())).to_pylist() == expected


@given(st.lists(st.one_of(st.none(), st.decimals(-(10**8), 10**8, places=7, allow_nan=False))))
def test_decimals_equal_pythons_fixed_notation(values: list[Decimal | None]) -> None:
    expected = [None if value is None else f"{value if value else abs(value):.7f}" for value in values]
    assert text(values, pa.decimal128(20, 7)) == expected


@given(st.lists(st.one_of(st.none(), st.datetimes())))
def test_timestamps_equal_isoformat(values: list[dt.datetime | None]) -> None:
    expected = [None if value is None else value.isoformat(timespec="microseconds") for value in values]
    assert text(values, pa.timestamp("us")) == expected


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
@given(st.lists(st.text(max_size=20), min_size=1, max_size=20), st.integers(0, 3))
def test_many_digests_are_those_of_hashlib_byte_for_byte(algorithm: Algorithm, texts: list[str], skipped: int) -> None:
    """Any text, NUL and beyond the BMP included; in the order of the texts, from wherever the array begins."""
    many = (texts * (_MANY // len(texts) + 2))[: _MANY + 2 + skipped]
    expected = [hashlib.new(algorithm, text.encode()).digest() for text in many[skipped:]]
    assert digest(pa.array(many, pa.large_string())[skipped:], algorithm).to_pylist() == expected


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
def test_very_many_digests_come_in_the_order_of_their_texts(algorithm: Algorithm) -> None:
    """More than one thread takes at a time, so that an order that is not kept shows."""
    texts = [f"{number}|é" for number in range(300_000)]
    digests = digest(pa.array(texts), algorithm)
    for number in (0, 1, 122_879, 122_880, 245_759, 245_760, 299_999):
        assert digests[number].as_py() == hashlib.new(algorithm, texts[number].encode()).digest()
    assert len(set(digests.to_pylist())) == len(texts)
