"""Reading a satellite as of a valid time and a knowledge time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from xts_pipeline.errors import XtsError
from xts_pipeline.metadata import Hub, Link, Parent, Satellite, SourceModel
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse import Warehouse

CORRECTED_KEYS_SHOWN = 5


_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.]\d{1,9})?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?)?", re.IGNORECASE
)


class TimestampError(XtsError, ValueError):
    """A timestamp argument cannot be read."""


def as_utc(value: datetime | str | None, name: str) -> datetime | None:
    """A timestamp argument as UTC without zone, at microseconds; one without zone is UTC. None stays None.

    TimestampError for anything that is no timestamp, or finer than a microsecond.
    """
    if value is None:
        return None
    if isinstance(value, str) and not _ISO.fullmatch(value.strip()):
        raise TimestampError(f"{name}: {value!r} is no timestamp: write one like 2026-01-04 or 2026-01-04 06:00:00")
    try:
        stamp = pd.Timestamp(value)
    except (ValueError, TypeError) as error:
        raise TimestampError(f"{name}: {value!r} is no timestamp: write one like 2026-01-04 06:00:00") from error
    if pd.isna(stamp) or stamp.nanosecond:
        raise TimestampError(f"{name}: {value!r} is no timestamp at microseconds")
    plain: datetime = stamp.to_pydatetime()
    try:
        return plain.astimezone(UTC).replace(tzinfo=None) if plain.tzinfo else plain
    except OverflowError as error:
        raise TimestampError(f"{name}: {value!r} lies outside the years 1 to 9999 in UTC") from error


@dataclass(frozen=True)
class BusinessKeys:
    """Where the business keys of a hub or link are read: the hubs to join, through the link where there is one."""

    link: Link | None
    hubs: tuple[tuple[str, Hub], ...]  # (alias, hub)
    columns: tuple[tuple[str, str, str], ...]  # (alias of the hub, name shown, column)


def business_keys_of(source: SourceModel, parent: Parent) -> BusinessKeys:
    """The business keys behind a parent's hash key, each under a name that no other has."""
    link = next((link for link in source.links if link.parent == parent), None)
    hubs = link.hubs if link else tuple(hub for hub in source.hubs if hub.parent == parent)[:1]
    joined = tuple((f"hub_{index}", hub) for index, hub in enumerate(hubs))
    names = [column for hub in hubs for column in hub.columns]
    columns = tuple(
        (alias, f"{hub.reference}_{column}" if names.count(column) > 1 else column, column)
        for alias, hub in joined
        for column in hub.columns
    )
    return BusinessKeys(link, joined, columns)


def as_of_context(source: SourceModel, satellite: Satellite) -> dict[str, Any]:
    """What `view/as_of` is rendered with."""
    keys = business_keys_of(source, satellite.parent)
    taken = {shown for _, shown, _ in keys.columns}
    columns = tuple(
        (column, f"{satellite.name}_{column}" if column in taken else column) for column in satellite.columns
    )
    return {
        "satellite": satellite,
        "link": keys.link,
        "hubs": keys.hubs,
        "business_keys": keys.columns,
        "columns": columns,
    }


def corrected_context(source: SourceModel, satellite: Satellite) -> dict[str, Any]:
    """What `monitor/corrected_states` is rendered with."""
    return {
        "satellite": satellite,
        "keys": business_keys_of(source, satellite.parent),
        "columns": as_of_context(source, satellite)["columns"],
        "keys_shown": CORRECTED_KEYS_SHOWN,
    }


def as_of_statement(warehouse: Warehouse, source: SourceModel, satellite: Satellite) -> Statement:
    """The statement behind `Vault.as_of`; binds `valid_at` and `known_at`."""
    return warehouse.renderer.render("view/as_of", **as_of_context(source, satellite))


def as_of(
    warehouse: Warehouse, source: SourceModel, satellite: Satellite, valid_at: datetime, known_at: datetime
) -> pd.DataFrame:
    """One row a key: its business key, the satellite's columns, and the vault's own columns of the row that answers."""
    statement = as_of_statement(warehouse, source, satellite)
    values: dict[str, Any] = {"valid_at": valid_at, "known_at": known_at}
    return warehouse.frame(statement, values)
