"""Reading a satellite as of a valid time and a knowledge time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pandas as pd

from xts_pipeline.errors import XtsError
from xts_pipeline.metadata import Hub, Link, Satellite, SourceModel
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse import Warehouse


class TimestampError(XtsError, ValueError):
    """A timestamp argument cannot be read."""


def as_utc(value: datetime | str | None, name: str) -> datetime | None:
    """A timestamp argument as UTC without zone, at microseconds; one without zone is UTC. None stays None.

    TimestampError for anything that is no timestamp, or finer than a microsecond.
    """
    if value is None:
        return None
    try:
        stamp = pd.Timestamp(value)
    except (ValueError, TypeError) as error:
        raise TimestampError(f"{name}: {value!r} is no timestamp: write one like 2026-01-04 06:00:00") from error
    if stamp is pd.NaT or stamp.nanosecond:
        raise TimestampError(f"{name}: {value!r} is no timestamp at microseconds")
    plain: datetime = stamp.to_pydatetime()
    return plain.astimezone(UTC).replace(tzinfo=None) if plain.tzinfo else plain


def as_of_statement(warehouse: Warehouse, source: SourceModel, satellite: Satellite) -> Statement:
    """The statement behind `Vault.as_of`; binds `valid_at` and `known_at`."""
    link = next((link for link in source.links if link.parent == satellite.parent), None)
    hubs = tuple((f"hub_{index}", hub) for index, hub in enumerate(_hubs(source, satellite, link)))
    business_keys = _business_keys(hubs)
    taken = {shown for _, shown, _ in business_keys}
    columns = tuple(
        (column, f"{satellite.name}_{column}" if column in taken else column) for column in satellite.columns
    )
    return warehouse.renderer.render(
        "view/as_of", satellite=satellite, link=link, hubs=hubs, business_keys=business_keys, columns=columns
    )


def _hubs(source: SourceModel, satellite: Satellite, link: Link | None) -> tuple[Hub, ...]:
    if link is not None:
        return link.hubs
    return tuple(hub for hub in source.hubs if hub.staged_hash_key == satellite.staged_hash_key)


def _business_keys(hubs: tuple[tuple[str, Hub], ...]) -> tuple[tuple[str, str, str], ...]:
    """(alias of the hub, name shown, column), with the hub's or role's name in front where two hubs share a column."""
    columns = [column for _, hub in hubs for column in hub.columns]
    return tuple(
        (alias, f"{hub.reference}_{column}" if columns.count(column) > 1 else column, column)
        for alias, hub in hubs
        for column in hub.columns
    )


def as_of(
    warehouse: Warehouse, source: SourceModel, satellite: Satellite, valid_at: datetime, known_at: datetime
) -> pd.DataFrame:
    """One row a key: its business key, the satellite's columns, and the vault's own columns of the row that answers."""
    statement = as_of_statement(warehouse, source, satellite)
    values: dict[str, Any] = {"valid_at": valid_at, "known_at": known_at}
    return warehouse.frame(statement, values)
