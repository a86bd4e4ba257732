"""Python objects, as pandas and database drivers hand them over, made one Arrow column."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa

from xts_pipeline.errors import DeliveryError

_SURROGATE = re.compile("[\ud800-\udfff]")
_EXACT_IN_FLOAT = 2**53


@dataclass(frozen=True)
class Column:
    """An Arrow column, and the positions in it (NULL there) whose value cannot be kept, with the reason."""

    values: pa.Array
    faults: dict[int, str]


def column_of(delivery: str, column: str, values: Sequence[object], first_row: int = 1) -> Column:
    """Make one Arrow column of Python values; None, NaN, NaT and NA are NULL.

    One kind of value gives its Arrow type (zoned timestamps become UTC; ints beyond int64 and decimals decimal128;
    UUIDs text). Mixed kinds give string, each value in its plain text, but int with Decimal decimal128, and int with
    float float64 where that is exact. Text with a lone surrogate, and a zoned timestamp that has no UTC, are faults.
    Raises DeliveryError, naming the column and the row, for any other Python object.
    """
    plain = [None if _is_null(value) else _unwrapped(value) for value in values]
    kinds = set()
    for position, value in enumerate(plain):
        if value is not None:
            kind = _kind(value)
            if kind is None:
                raise DeliveryError(
                    f"{delivery}: column {column!r} holds a {type(value).__name__} in row {first_row + position}; "
                    "only text, numbers, booleans, bytes, dates and timestamps can be loaded"
                )
            kinds.add(kind)
    try:
        return _built(plain, kinds)
    except (pa.ArrowException, OverflowError) as error:
        raise DeliveryError(f"{delivery}: column {column!r} cannot be read ({error})") from error


def _is_null(value: object) -> bool:
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(value != value)


def _unwrapped(value: object) -> object:
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    return str(value) if isinstance(value, uuid.UUID) else value


def _kind(value: object) -> str | None:
    if isinstance(value, dt.datetime):
        return "naive" if value.tzinfo is None else "zoned"
    for kind, python in _KINDS:
        if isinstance(value, python):
            return kind
    return None


_KINDS: tuple[tuple[str, type], ...] = (
    ("text", str),
    ("bool", bool),
    ("int", int),
    ("float", float),
    ("decimal", Decimal),
    ("bytes", bytes),
    ("date", dt.date),
)


def _built(values: list[object], kinds: set[str]) -> Column:
    if not kinds:
        return Column(pa.nulls(len(values)), {})
    if kinds == {"text"}:
        return _texts(values)
    if kinds <= {"int", "decimal"}:
        return _numbers(values, kinds)
    if kinds == {"int", "float"} and all(abs(v) <= _EXACT_IN_FLOAT for v in values if isinstance(v, int)):
        return Column(pa.array([None if v is None else float(v) for v in values], pa.float64()), {})  # type: ignore[arg-type]
    if kinds in ({"naive"}, {"zoned"}):
        return _timestamps(values, "UTC" if kinds == {"zoned"} else None)
    if len(kinds) == 1:
        return Column(pa.array(values, _SINGLE[next(iter(kinds))]), {})
    return _texts([None if value is None else _plain_text(value) for value in values])


_SINGLE = {"bool": pa.bool_(), "float": pa.float64(), "bytes": pa.binary(), "date": pa.date32()}


def _texts(values: Sequence[object]) -> Column:
    try:
        return Column(pa.array(values, pa.string()), {})
    except UnicodeEncodeError:
        faults = {
            position: "holds half a character (a lone surrogate)"
            for position, value in enumerate(values)
            if isinstance(value, str) and _SURROGATE.search(value)
        }
        kept = [None if position in faults else value for position, value in enumerate(values)]
        return Column(pa.array(kept, pa.string()), faults)


def _numbers(values: list[object], kinds: set[str]) -> Column:
    if kinds == {"int"} and all(-(2**63) <= v < 2**63 for v in values if isinstance(v, int)):
        return Column(pa.array(values, pa.int64()), {})
    scale = whole = 0
    for value in values:
        if value is None:
            continue
        _, digits, exponent = Decimal(value).as_tuple()  # type: ignore[arg-type]
        if not isinstance(exponent, int):  # infinity
            return _texts([None if v is None else _plain_text(v) for v in values])
        scale = max(scale, -exponent)
        whole = max(whole, len(digits) + exponent)
    if whole + scale > 38:
        return _texts([None if v is None else _plain_text(v) for v in values])
    precision = 38 if kinds == {"int"} else max(whole + scale, 1)
    decimals = [None if v is None else Decimal(v) for v in values]  # type: ignore[arg-type]
    return Column(pa.array(decimals, pa.decimal128(precision, scale)), {})


def _timestamps(values: list[object], zone: str | None) -> Column:
    faults: dict[int, str] = {}
    kept: list[object] = []
    for position, value in enumerate(values):
        try:
            kept.append(value.astimezone(dt.UTC) if zone and isinstance(value, dt.datetime) else value)
        except (OverflowError, ValueError):
            faults[position] = f"{value} has no UTC between the years 1 and 9999"
            kept.append(None)
    fine = any(isinstance(value, pd.Timestamp) and value.nanosecond for value in kept)
    return Column(pa.array(kept, pa.timestamp("ns" if fine else "us", tz=zone)), faults)


def _plain_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, dt.date) else str(value)
