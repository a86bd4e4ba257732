"""One value to one type, exactly or not at all: the rules of `typing.fit` in plain Python.

Each parser takes a value (str, int, bool, Decimal, float, date, naive datetime or bytes) and returns it in the
target type, or raises MisfitError with the reason. In text, blanks (U+0020) around the value are ignored.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Context, Decimal

_SHOWN_CHARACTERS = 60
_INT64 = range(-(2**63), 2**63)
_INTEGER = re.compile(r"([+-]?)([0-9]+)(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6})([0-9]*))?)?"
    r"(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2})?)?)?"
)
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_WIDE = Context(prec=200)


class MisfitError(ValueError):
    """A value is not exactly one of the target type; the message says why."""


def shown(value: object) -> str:
    """Return a value as it stands in a reason: text in quotes, all else plain, cut when it is long."""
    if isinstance(value, str):
        return f"'{_cut(value)}'"
    return _cut(_canonical(value) if not isinstance(value, float) else repr(value))


def integer(value: object) -> int:
    """Return a whole number of 64 bits; text may have a sign, leading zeros, and a fraction of zeros."""
    number: int | None = None
    if isinstance(value, str):
        match = _INTEGER.fullmatch(value.strip(" "))
        if match is not None:
            digits = match[2].lstrip("0") or "0"
            number = int(match[1] + digits) if len(digits) < 20 else _INT64.stop
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float | Decimal) and _is_finite(value) and value == int(value):
        number = int(value)
    if number is None:
        raise MisfitError(f"{shown(value)} is not an integer")
    if number not in _INT64:
        raise MisfitError(f"{shown(value)} does not fit a 64-bit integer")
    return number


def boolean(value: object) -> bool:
    """Return a truth value; text may be true, t or 1, false, f or 0, in any case."""
    if isinstance(value, bool):
        return value
    text = value.strip(" ").lower() if isinstance(value, str) and value.isascii() else None
    if text in ("true", "t", "1"):
        return True
    if text in ("false", "f", "0"):
        return False
    raise MisfitError(f"{shown(value)} is not a boolean")


def decimal(value: object, precision: int, scale: int) -> Decimal:
    """Return a decimal at its scale; a float counts as its shortest decimal spelling."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip(" ")):
        number = Decimal(value.strip(" "))
    elif isinstance(value, Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        number = Decimal(value)
    elif isinstance(value, float) and _is_finite(value):
        number = Decimal(repr(value))
    else:
        raise MisfitError(f"{shown(value)} is not a decimal number")
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    significant = text.rstrip("0")
    exponent += len(text) - len(significant)
    if significant and -exponent > scale:
        raise MisfitError(f"{shown(value)} has more than {scale} decimal places")
    if significant and len(significant) + exponent > precision - scale:
        raise MisfitError(f"{shown(value)} has more than {precision - scale} digits before the decimal point")
    return (number if significant else Decimal(0)).quantize(Decimal(1).scaleb(-scale), context=_WIDE)


def double(value: object) -> float:
    """Return the nearest double of a number; an integer must be exactly a double."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise MisfitError(f"{shown(value)} is not a number")
    if isinstance(value, int) and int(float(value)) != value:
        raise MisfitError(f"{shown(value)} is not exactly a 64-bit float")
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip(" ")):
        raise MisfitError(f"{shown(value)} is not a number")
    number = float(value)
    if not _is_finite(number):
        raise MisfitError(f"{shown(value)} does not fit a 64-bit float")
    return number


def date(value: object) -> dt.date:
    """Return a date; text must be YYYY-MM-DD, a timestamp must be midnight."""
    if isinstance(value, dt.datetime):
        if value.time() != dt.time():
            raise MisfitError(f"{shown(value)} has a time of day, it is not a date")
        return value.date()
    match = _DATE.fullmatch(value.strip(" ")) if isinstance(value, str) else None
    if match is None:
        raise MisfitError(f"{shown(value)} is not a date (YYYY-MM-DD)")
    try:
        return dt.date(*map(int, match.groups()))
    except ValueError:
        raise MisfitError(f"{shown(value)} is not a date of the calendar") from None


def naive_timestamp(value: object) -> dt.datetime:
    """Return the timestamp in a text that has neither Z nor offset; a date alone is its midnight."""
    return _timestamp(value, zoned=False)


def zoned_timestamp(value: object) -> dt.datetime:
    """Return the timestamp in a text with Z or offset, as naive UTC."""
    return _timestamp(value, zoned=True)


def _timestamp(value: object, zoned: bool) -> dt.datetime:
    match = _TIMESTAMP.fullmatch(value.strip(" ")) if isinstance(value, str) else None
    if match is None or zoned != bool(match[9] or match[10]):
        raise MisfitError(f"{shown(value)} is not a timestamp (ISO 8601: YYYY-MM-DDTHH:MM:SS)")
    if (match[8] or "").strip("0"):
        raise MisfitError(f"{shown(value)} is finer than a microsecond")
    offset = dt.timedelta(hours=int(match[11] or 0), minutes=int(match[12] or 0))
    try:
        if offset >= dt.timedelta(days=1) or int(match[12] or 0) > 59:
            raise ValueError
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        local = dt.datetime(year, month, day, hour, minute, second, int((match[7] or "").ljust(6, "0")))
    except ValueError:
        raise MisfitError(f"{shown(value)} is not a timestamp of the calendar and the clock") from None
    try:
        return local + offset if match[10] == "-" else local - offset
    except OverflowError:
        raise MisfitError(f"{shown(value)} lies outside the years 1 to 9999 in UTC") from None


def binary(value: object) -> bytes:
    """Return bytes; text must be hexadecimal, two digits a byte."""
    if isinstance(value, bytes):
        return value
    text = value.strip(" ") if isinstance(value, str) else ""
    if not _HEX.fullmatch(text):
        raise MisfitError(f"{shown(value)} is not hexadecimal (two digits a byte)")
    return bytes.fromhex(text)


def text(value: object) -> str:
    """Return the canonical text of a value; floats and bytes have none."""
    if isinstance(value, float):
        raise MisfitError(f"{value!r} is a binary float, which has no exact text; declare float64 or a decimal")
    if isinstance(value, bytes):
        raise MisfitError(f"bytes {shown(value)} are not text; declare binary")
    return _canonical(value)


def _canonical(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def _is_finite(number: float | Decimal) -> bool:
    return number.is_finite() if isinstance(number, Decimal) else float("-inf") < number < float("inf")
