"""Local times of a zone made UTC, with the hours a change of the clock skips or repeats."""

from __future__ import annotations

import datetime as dt
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa

Ambiguous = Literal["refuse", "earliest", "latest"]

_US = pa.timestamp("us")
# pandas cannot convert into the years 0 and 10000; no clock is changed on these days
_FIRST_DAY = np.datetime64("0001-01-03", "us")
_LAST_DAY = np.datetime64("9999-12-29", "us")


def localised(values: pa.Array, zone: str, ambiguous: Ambiguous) -> tuple[pa.Array, dict[int, str]]:
    """Convert naive timestamps (us, years 1 to 9999) that are local time in `zone` to naive UTC.

    A time that occurs twice is taken as `ambiguous` says; when that is "refuse", and for a time that the zone skips
    or that lies outside the years 1 to 9999 in UTC, the result is NULL and the reason stands under its index.
    Raises zoneinfo.ZoneInfoNotFoundError when the zone is not known.
    """
    ZoneInfo(zone)
    distinct = values.dictionary_encode()
    times = distinct.dictionary.to_numpy(zero_copy_only=False).astype("M8[us]")
    reasons: dict[int, str] = {}
    edge = (times < _FIRST_DAY) | (times > _LAST_DAY)
    inner = np.where(edge, _FIRST_DAY, times)
    earliest, latest = _both_readings(inner, zone)
    result = latest if ambiguous == "latest" else earliest
    result = result.copy()
    for at in np.flatnonzero(edge):
        result[at], reason = _at_the_edge(times[at].item(), zone)
        if reason:
            reasons[int(at)] = reason
    for at in np.flatnonzero(np.isnat(earliest)):
        reasons[int(at)] = f"{_iso(times[at])} does not exist in {zone} (the clock skips it)"
    if ambiguous == "refuse":
        for at in np.flatnonzero((earliest != latest) & ~np.isnat(earliest)):
            result[at] = np.datetime64("NaT")
            reasons[int(at)] = (
                f"{_iso(times[at])} occurs twice in {zone}; declare `ambiguous_time: earliest` or `latest`"
            )
    utc = pa.array(result, _US).take(distinct.indices)
    if not reasons:
        return utc, {}
    codes = np.asarray(distinct.indices.fill_null(-1))
    bad = np.flatnonzero(np.isin(codes, list(reasons)))
    return utc, {int(at): reasons[int(codes[at])] for at in bad}


def _both_readings(times: np.ndarray, zone: str) -> tuple[np.ndarray, np.ndarray]:
    index = pd.DatetimeIndex(times)
    readings = []
    for summer in (True, False):
        there = index.tz_localize(zone, ambiguous=np.full(len(index), summer), nonexistent="NaT")
        readings.append(there.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[us]"))
    return np.minimum(*readings), np.maximum(*readings)


def _at_the_edge(time: dt.datetime, zone: str) -> tuple[np.datetime64, str | None]:
    try:
        utc = time.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
    except OverflowError:
        return np.datetime64("NaT"), f"{time.isoformat()} in {zone} lies outside the years 1 to 9999 in UTC"
    return np.datetime64(utc.replace(tzinfo=None), "us"), None


def _iso(time: np.datetime64) -> str:
    return pd.Timestamp(time).isoformat()
