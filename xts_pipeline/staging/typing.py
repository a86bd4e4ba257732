"""Fits delivered columns to their declared types: what a value cannot be exactly, it is not made into.

Each route from one kind of column to a type has two paths that agree: a vectorised one that settles the plain
values, and the parsers of `values.py`, run once for each distinct value that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xts_pipeline.staging import values as parse
from xts_pipeline.staging.local_time import Ambiguous, localised

_US = pa.timestamp("us")
# fast paths: shapes that Arrow reads exactly as the parsers do
_DAY = r"[1-8][0-9]{3}-(?:(?:0[13-9]|1[0-2])-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13578]|1[02])-31)"
_INSTANT = _DAY + r"[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_OFFSET = r"[+-](?:0[0-9]|1[0-3]):[0-5][0-9]"
_HAS_OFFSET = r"[0-9][T ][0-9:.]+(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?) *$"
_DAYS = (-719_162, 2_932_896)  # 0001-01-01 and 9999-12-31, days from 1970


@dataclass(frozen=True)
class Fitted:
    """A column in its target type: NULL at every misfit, and the reason of each misfit by its index."""

    values: pa.Array
    misfits: Mapping[int, str]


def fit(
    values: pa.Array | pa.ChunkedArray,
    target: pa.DataType,
    *,
    zone: str = "UTC",
    ambiguous: Ambiguous = "refuse",
) -> Fitted:
    """Fit a column to string, int64, bool, decimal128, date32, timestamp("us"), float64 or binary.

    Nothing is rounded, cut or guessed; a value that is not exactly one of the target type is a misfit (only float64
    takes the nearest double of text and decimals). Timestamps come out UTC without zone: a zoned value is converted,
    a naive one (and a date) is local time in `zone`, an IANA name; a local time that occurs twice is taken as
    `ambiguous` says. Raises TypeError when the column is of a type that no value can be fitted from (nested, time,
    duration), or the target is not one of the above.
    """
    plain = _plain(values)
    if pa.types.is_null(plain.type):
        return Fitted(pa.nulls(len(plain), target), {})
    kind = _kind(plain.type)
    if target == _US:
        return _to_timestamp(plain, kind, zone, ambiguous)
    if pa.types.is_string(target):
        return _to_string(plain, kind, zone, ambiguous)
    if pa.types.is_date32(target):
        return _to_date(plain, kind)
    if pa.types.is_decimal128(target):
        return _to_decimal(plain, kind, target)
    for known, route in _ROUTES:
        if target == known:
            return route(plain, kind)
    raise TypeError(f"columns cannot be declared as {target}")


def infer(values: pa.Array | pa.ChunkedArray) -> pa.DataType | None:
    """Return the target type a typed column has when none is declared; None when it holds no value at all.

    Raises TypeError, with the reason, for types that are not stored (nested, time, duration).
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return None
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_decimal(kind):
        if kind.precision > 38:
            raise TypeError(f"{kind} has more than the 38 digits that are stored; declare a type")
        return pa.decimal128(kind.precision, kind.scale) if kind.scale >= 0 else pa.decimal128(38, 0)
    return _INFERRED[_kind(kind)]


Kind = Literal["text", "int", "bool", "decimal", "float", "date", "timestamp", "binary"]

_INFERRED: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "float": pa.float64(),
    "date": pa.date32(),
    "timestamp": _US,
    "binary": pa.binary(),
}


def _kind(kind: pa.DataType) -> Kind:
    is_ = pa.types
    tests: tuple[tuple[Kind, bool], ...] = (
        ("text", is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind)),
        ("int", is_.is_integer(kind)),
        ("bool", is_.is_boolean(kind)),
        ("decimal", is_.is_decimal(kind)),
        ("float", is_.is_floating(kind)),
        ("date", is_.is_date(kind)),
        ("timestamp", is_.is_timestamp(kind)),
        ("binary", is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind)),
        ("binary", is_.is_fixed_size_binary(kind)),
    )
    for name, found in tests:
        if found:
            return name
    raise TypeError(f"values of type {kind} cannot be stored; deliver text, numbers, booleans, bytes or timestamps")


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    for wide, plain in (
        (pa.types.is_large_string, pa.string()),
        (pa.types.is_string_view, pa.string()),
        (pa.types.is_large_binary, pa.binary()),
        (pa.types.is_binary_view, pa.binary()),
        (pa.types.is_fixed_size_binary, pa.binary()),
        (pa.types.is_float16, pa.float64()),
        (pa.types.is_float32, pa.float64()),
        (pa.types.is_date64, pa.date32()),
    ):
        if wide(array.type):
            return array.cast(plain)
    return array


def _by_value(values: pa.Array, settled: pa.Array, parser: Callable[[object], object]) -> Fitted:
    """Complete `settled` (the target column, NULL where the fast path left a value open) with a parser."""
    open_rows = pc.and_(values.is_valid(), settled.is_null())
    if not pc.any(open_rows).as_py():
        return Fitted(settled, {})
    rows = np.flatnonzero(open_rows.to_numpy(zero_copy_only=False))
    distinct = values.take(pa.array(rows)).dictionary_encode()
    parsed: list[object] = []
    reasons: dict[int, str] = {}
    for code, value in enumerate(distinct.dictionary.to_pylist()):
        try:
            parsed.append(parser(value))
        except parse.MisfitError as misfit:
            parsed.append(None)
            reasons[code] = str(misfit)
    codes = distinct.indices.to_numpy()
    late = pa.array(parsed, settled.type).take(distinct.indices)
    complete = pc.replace_with_mask(settled, open_rows, late)
    bad = np.flatnonzero(np.isin(codes, list(reasons))) if reasons else ()
    return Fitted(complete, {int(rows[at]): reasons[int(codes[at])] for at in bad})


def _open(values: pa.Array, target: pa.DataType) -> pa.Array:
    return pa.nulls(len(values), target)


def _cast(values: pa.Array, *steps: pa.DataType) -> pa.Array:
    """Cast all values safely; when a single one does not survive exactly, leave all to the parser."""
    try:
        result = values
        for step in steps:
            result = result.cast(step)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _open(values, steps[-1])
    return result


def _cast_shape(values: pa.Array, shape: str, target: pa.DataType) -> pa.Array:
    """Cast the texts of one shape and leave the others NULL."""
    return pc.if_else(pc.match_substring_regex(values, f"^(?:{shape})$"), values, None).cast(target)


def _to_int(values: pa.Array, kind: Kind) -> Fitted:
    if kind == "text":
        settled = _cast_shape(values, "-?[0-9]{1,18}", pa.int64())
    elif kind in ("int", "float") or (kind == "decimal" and _rescales_safely(values.type, 0)):
        settled = _cast(values, pa.int64())
    else:
        settled = _open(values, pa.int64())
    return _by_value(values, settled, parse.integer)


def _to_bool(values: pa.Array, kind: Kind) -> Fitted:
    settled = values if kind == "bool" else _open(values, pa.bool_())
    return _by_value(values, settled, parse.boolean)


def _to_decimal(values: pa.Array, kind: Kind, target: pa.DataType) -> Fitted:
    whole, scale = target.precision - target.scale, target.scale
    settled = _open(values, target)
    if kind == "text" and whole > 0 and scale >= 0:
        fraction = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
        settled = _cast_shape(values, f"-?[0-9]{{1,{whole}}}{fraction}", target)
    elif kind == "decimal" and _rescales_safely(values.type, scale):
        settled = _cast(values, target)
    elif kind == "int" and 0 <= scale <= 18:
        settled = _cast(values, pa.decimal128(20 + scale, scale), target)
    return _by_value(values, settled, partial(parse.decimal, precision=target.precision, scale=scale))


def _rescales_safely(source: pa.DataType, scale: int) -> bool:
    """Whether Arrow's safe cast is safe: it does not notice when a larger scale overflows 128 bits."""
    return bool(pa.types.is_decimal128(source) and source.scale >= 0 and source.precision + scale - source.scale <= 38)


def _to_float(values: pa.Array, kind: Kind) -> Fitted:
    settled = _open(values, pa.float64())
    if kind == "text":
        settled = _cast_shape(values, r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", pa.float64())
    elif kind in ("int", "float"):
        settled = _cast(values, pa.float64())
    return _by_value(values, settled, parse.double)


def _to_binary(values: pa.Array, kind: Kind) -> Fitted:
    settled = values if kind == "binary" else _open(values, pa.binary())
    return _by_value(values, settled, parse.binary)


def _to_date(values: pa.Array, kind: Kind) -> Fitted:
    if kind == "text":
        return _by_value(values, _cast_shape(values, _DAY, pa.date32()), parse.date)
    if kind == "date":
        return _within_years(values, values, pa.int32(), *_DAYS)
    if kind != "timestamp":
        return _by_value(values, _open(values, pa.date32()), parse.date)
    instants = _microseconds(values)
    days = instants.values.cast(pa.date32(), safe=False)
    midnight = pc.equal(days.cast(_US), instants.values)
    settled = pc.if_else(midnight, days, None)
    dates = _by_value(instants.values, settled, parse.date)
    return Fitted(dates.values, {**instants.misfits, **dates.misfits})


def _to_timestamp(values: pa.Array, kind: Kind, zone: str, ambiguous: Ambiguous) -> Fitted:
    if kind == "text":
        return _text_to_timestamp(values, zone, ambiguous)
    if kind == "timestamp":
        instants = _microseconds(values)
        return instants if values.type.tz else _in_utc(instants, zone, ambiguous)
    if kind == "date":
        days = _to_date(values, kind)
        return _in_utc(Fitted(days.values.cast(_US), days.misfits), zone, ambiguous)
    return _by_value(values, _open(values, _US), parse.naive_timestamp)


def _text_to_timestamp(values: pa.Array, zone: str, ambiguous: Ambiguous) -> Fitted:
    zoned = pc.match_substring_regex(values, _HAS_OFFSET)
    local = pc.if_else(zoned, None, values)
    naive = _by_value(local, _cast_shape(local, _INSTANT, _US), parse.naive_timestamp)
    naive = _in_utc(naive, zone, ambiguous)
    if not pc.any(zoned).as_py():
        return naive
    elsewhere = pc.if_else(zoned, values, None)
    utc = pa.timestamp("us", tz="UTC")
    in_z = _cast_shape(pc.utf8_rtrim(elsewhere, "Z"), _INSTANT, _US)
    # a value with neither Z nor offset cannot be in `elsewhere`, one with an offset keeps it
    settled = pc.coalesce(in_z, _cast_shape(elsewhere, _INSTANT + _OFFSET, utc).cast(pa.int64()).cast(_US))
    return _joined(naive, _by_value(elsewhere, settled, parse.zoned_timestamp))


def _to_string(values: pa.Array, kind: Kind, zone: str, ambiguous: Ambiguous) -> Fitted:
    if kind == "text":
        return Fitted(values, {})
    if kind in ("int", "bool"):
        return Fitted(values.cast(pa.string()), {})
    if kind == "date":
        days = _to_date(values, kind)
        return Fitted(days.values.cast(pa.string()), days.misfits)
    if kind == "timestamp":
        instants = _to_timestamp(values, kind, zone, ambiguous)
        text = pc.replace_substring(instants.values.cast(pa.string()), " ", "T")
        return Fitted(text, instants.misfits)
    return _by_value(values, _open(values, pa.string()), parse.text)


_ROUTES: tuple[tuple[pa.DataType, Callable[[pa.Array, Kind], Fitted]], ...] = (
    (pa.int64(), _to_int),
    (pa.bool_(), _to_bool),
    (pa.float64(), _to_float),
    (pa.binary(), _to_binary),
)


def _within_years(values: pa.Array, settled: pa.Array, number: pa.DataType, first: int, last: int) -> Fitted:
    """Refuse what lies outside the years 1 to 9999; `number` is the integer type behind the values."""
    numbers = values.cast(number)
    inside = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    outside = np.flatnonzero(pc.fill_null(pc.invert(inside), False).to_numpy(zero_copy_only=False))
    if not len(outside):
        return Fitted(settled, {})
    reason = "the date lies outside the years 1 to 9999"
    return Fitted(pc.if_else(inside, settled, None), {int(at): reason for at in outside})


def _microseconds(values: pa.Array) -> Fitted:
    """Timestamps of any unit as naive microseconds (UTC when they were zoned), misfits taken out."""
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[values.type.unit]
    ticks = values.cast(pa.int64())
    first, last = _DAYS[0] * 86_400 * per_second, (_DAYS[1] + 1) * 86_400 * per_second - 1
    if values.type.unit == "ns":  # int64 nanoseconds end long before year 1 and year 9999
        whole = pc.divide(ticks, 1_000)
        exact = pc.equal(pc.multiply(whole, 1_000), ticks)
        rest = np.flatnonzero(pc.fill_null(pc.invert(exact), False).to_numpy(zero_copy_only=False))
        reason = "the timestamp has nanoseconds; only whole microseconds are stored"
        return Fitted(pc.if_else(exact, whole, None).cast(_US), {int(at): reason for at in rest})
    bounded = _within_years(ticks, ticks, pa.int64(), first, last)
    return Fitted(pc.multiply(bounded.values, 1_000_000 // per_second).cast(_US), bounded.misfits)


def _in_utc(local: Fitted, zone: str, ambiguous: Ambiguous) -> Fitted:
    """Take naive local times in a zone; UTC is left as it is."""
    if zone == "UTC":
        return local
    instants, reasons = localised(local.values, zone, ambiguous)
    return Fitted(instants, {**local.misfits, **reasons})


def _joined(first: Fitted, second: Fitted) -> Fitted:
    """Combine two fits of one column, each NULL where the other has the value."""
    return Fitted(pc.coalesce(first.values, second.values), {**first.misfits, **second.misfits})
