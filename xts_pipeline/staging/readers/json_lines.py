"""JSON lines: one object a line; a first pass settles one type a column, so that chunks never differ in type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers.delivery import (
    Chunk,
    Delivery,
    MalformedRow,
    Wanted,
    checked_columns,
    is_wanted,
    shortened,
)
from xts_pipeline.staging.readers.text_file import existing_file, lines_of, open_text

_LONGEST_LINE = 64 << 20
_INT64 = range(-(2**63), 2**63)
_DIGITS_38 = 10**38
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Fraction(str):
    """The exact text of a JSON number that has a fraction or an exponent."""

    __slots__ = ()


@dataclass(frozen=True)
class _Line:
    """One line: its row number, the keys and values of its object, and why it is malformed (None when it is not)."""

    number: int
    text: str
    values: dict[str, object]
    reason: str | None


def open_json_lines(path: Path, chunk_rows: int, wanted: Wanted = None) -> Delivery:
    """Open a JSON lines file, plain or gzip; `columns` is every key found, in order of appearance.

    A missing key is NULL. A column of whole numbers is int64 (decimal128(38,0) beyond its range), of true and false
    bool, of text or a mixture string, of numbers with a fraction string with its name in `Delivery.fractions`.
    A line that is no JSON object, has a key twice or a nested value is a MalformedRow; blank lines are no rows. Where
    `wanted` names the columns that will be loaded (lower case), the others are kept out, nested or not.
    Raises DeliveryError when the file is missing, empty, no text, or one JSON array instead of lines.
    """
    kinds: dict[str, set[str]] = {}
    for line in _lines(existing_file(path), wanted):
        for key, value in line.values.items():
            found = kinds.setdefault(key, set())
            if line.reason is None and value is not None and is_wanted(key, wanted):
                found.add(_kind(value))
    if not kinds:
        _refuse_array(path)
    columns = checked_columns(str(path), list(kinds))
    schema = pa.schema([(column, _settled(kinds[column])) for column in columns if is_wanted(column, wanted)])
    fractions = frozenset(c for c in columns if "fraction" in kinds[c] and not kinds[c] & {"bool", "text"})
    chunks = partial(_chunks, path, schema, chunk_rows, wanted)
    return Delivery(str(path), columns, typed=True, chunks=chunks, fractions=fractions)


def _refuse_array(path: Path) -> None:
    with open_text(path) as stream:
        first = stream.read(1 << 16).lstrip()[:1]
    if first == b"[":
        raise DeliveryError(f"{path}: this is one JSON array; write one object a line (JSON lines) instead")


def _settled(kinds: set[str]) -> pa.DataType:
    if not kinds:
        return pa.null()
    if kinds == {"bool"}:
        return pa.bool_()
    if kinds == {"int"}:
        return pa.int64()
    return pa.decimal128(38, 0) if kinds <= {"int", "wide"} else pa.string()


def _kind(value: object) -> str:
    if isinstance(value, _Fraction):
        return "fraction"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "bool"
    assert isinstance(value, int)
    if value in _INT64:
        return "int"
    return "wide" if abs(value) < _DIGITS_38 else "huge"


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _lines(path: Path, wanted: Wanted) -> Iterator[_Line]:
    number = 0
    with open_text(path) as stream, lines_of(stream) as lines:
        while raw := lines.readline(_LONGEST_LINE):
            if len(raw) == _LONGEST_LINE:
                raise DeliveryError(
                    f"{path}: row {number + 1} is longer than {_LONGEST_LINE >> 20} MiB; write one object a line"
                )
            if text := raw.decode("utf-8").strip():
                number += 1
                yield _parsed(number, text, wanted)


class _NotARowError(ValueError):
    """Why a line is no row."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _NotARowError(f"key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return values


def _refused_constant(constant: str) -> object:
    raise _NotARowError(f"{constant} is not JSON")


_decode = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_Fraction, parse_constant=_refused_constant).decode


def _parsed(number: int, text: str, wanted: Wanted) -> _Line:
    try:
        values = _decode(text)
    except _NotARowError as error:
        return _Line(number, text, {}, str(error))
    except RecursionError:
        return _Line(number, text, {}, "not JSON that can be read: nested too deep")
    except ValueError as error:
        return _Line(number, text, {}, f"not JSON ({error})")
    if not isinstance(values, dict):
        return _Line(number, text, {}, "not a JSON object")
    if "\\u" in text and any(_SURROGATE.search(key) for key in values):
        return _Line(number, text, {}, "a key holds half a character (a lone surrogate)")
    return _Line(number, text, values, _fault(values, wanted, escaped="\\u" in text))


def _fault(values: dict[str, object], wanted: Wanted, escaped: bool) -> str | None:
    for key, value in values.items():
        if not is_wanted(key, wanted):
            continue
        if isinstance(value, dict | list):
            return f"nested value in column {key!r}"
        if escaped and isinstance(value, str) and _SURROGATE.search(value):
            return f"column {key!r} holds half a character (a lone surrogate)"
    return None


def _chunks(path: Path, schema: pa.Schema, chunk_rows: int, wanted: Wanted) -> Iterator[Chunk]:
    rows: list[_Line] = []
    malformed: list[MalformedRow] = []
    for line in _lines(path, wanted):
        if line.reason is None:
            rows.append(line)
        else:
            malformed.append(MalformedRow(line.number, shortened(line.text), line.reason))
        if len(rows) + len(malformed) >= chunk_rows:
            yield _chunk(path, schema, rows, malformed)
            rows, malformed = [], []
    if rows or malformed:
        yield _chunk(path, schema, rows, malformed)


def _chunk(path: Path, schema: pa.Schema, rows: list[_Line], malformed: list[MalformedRow]) -> Chunk:
    arrays = []
    try:
        for field in schema:
            values = [row.values.get(field.name) for row in rows]
            if pa.types.is_string(field.type):
                arrays.append(pa.array([_text(value) for value in values], pa.string()))
            else:
                arrays.append(pa.array(values, field.type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DeliveryError(f"{path}: the file changed while it was read; deliver it again") from error
    table = pa.Table.from_arrays(arrays, schema=schema)
    return Chunk(table, pa.array([row.number for row in rows], pa.int64()), tuple(malformed))
