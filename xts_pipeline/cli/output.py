"""How the command prints: tables for people, JSON for machines."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import click
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 200  # columns, when the output is no terminal


def console(*, stderr: bool = False) -> Console:
    """A console on the output of this moment."""
    opened = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not opened.is_terminal:
        opened.width = PIPED_WIDTH
    return opened


def say(text: str = "", style: str = "") -> None:
    """Print a line, nothing in it taken for markup."""
    console().print(Text(text, style=style), soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print rows under their column names; numbers stand to the right."""
    kept = [list(row) for row in rows]
    table = Table(
        box=box.SIMPLE_HEAD,
        title=title or None,
        title_justify="left",
        title_style="bold",
        show_edge=False,
        pad_edge=False,
    )
    for index, column in enumerate(columns):
        values = [row[index] for row in kept if row[index] is not None]
        numbers = bool(values) and all(_is_number(value) for value in values)
        table.add_column(Text(column), justify="right" if numbers else "left", overflow="fold")
    for row in kept:
        table.add_row(*(value if isinstance(value, Text) else Text(shown(value)) for value in row))
    output = console()
    output.print(table)
    output.print()


def shown(value: object) -> str:
    """A value as a person reads it: NULL as nothing, midnight as a date, bytes as hex."""
    if _is_missing(value):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        plain = value.isoformat(sep=" ")
        return plain.removesuffix(" 00:00:00") if value.time() == time() else plain
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value)


def shown_partition(batch: Mapping[str, Any]) -> str:
    """The key of a batch's partition; a batch that was loaded without one is its own."""
    return "(its own)" if batch["partition_key"] == batch["batch_id"] else str(batch["partition_key"])


def short_hash(value: object) -> str:
    """The first digits of a hash, enough to tell keys apart on a screen."""
    text = shown(value)
    return f"{text[:10]}…" if len(text) > 12 else text


def print_json(document: object, *, err: bool = False) -> None:
    """Print one JSON document: timestamps ISO with Z, decimals as text, hashes as hex, other bytes as base64."""
    click.echo(json.dumps(plain(document), indent=2, ensure_ascii=False), err=err)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(of) for name, of in value.items()}
    if isinstance(value, list | tuple):
        return [plain(of) for of in value]
    return _plain_scalar(value)


def _plain_scalar(value: Any) -> Any:
    if _is_missing(value) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds") + "Z"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, str | bool | int | float):
        return value
    return value.item() if hasattr(value, "item") else str(value)


def frame_rows(frame: pd.DataFrame, hashes: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The rows of a frame with plain Python values; the columns of `hashes` as hex."""
    as_hex = set(hashes)
    rows = []
    for record in frame.astype(object).to_dict("records"):
        row = {str(name): None if _is_missing(value) else value for name, value in record.items()}
        row = {name: of.to_pydatetime() if isinstance(of, pd.Timestamp) else of for name, of in row.items()}
        rows.append({name: bytes(of).hex() if name in as_hex and of is not None else of for name, of in row.items()})
    return rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_missing(value: object) -> bool:
    """NULL in any of pandas' forms; text columns have NaN."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
