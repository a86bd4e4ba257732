"""Which delivered column is which declared one, and what type each has."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from xts_pipeline.errors import DeliveryError
from xts_pipeline.metadata import ColumnType, SourceModel
from xts_pipeline.metadata.types import MAX_PRECISION, TEXT
from xts_pipeline.staging.readers import Delivery
from xts_pipeline.staging.typing import infer

# Python's decimals have no scale of their own: that of the first rows would be too narrow for the next ones
_WITHOUT_SCALE = {"DataFrame", "SQL query"}
SCALE_LEFT_OPEN = 9


@dataclass(frozen=True)
class Matched:
    """Declared column: delivered column; and the delivered ones nobody declared, which are kept out."""

    delivered: Mapping[str, str]
    undeclared: tuple[str, ...]


def match_columns(source: SourceModel, delivery: Delivery) -> Matched:
    """Find every declared column in a delivery, by its name in any case; DeliveryError names those that are missing."""
    by_lower = {name.lower(): name for name in delivery.columns}
    found = {column: by_lower[column.lower()] for column in source.columns if column.lower() in by_lower}
    if missing := [column for column in source.columns if column not in found]:
        undeclared = [name for name in delivery.columns if name not in found.values()]
        hints = {column: difflib.get_close_matches(column, undeclared, n=1) for column in missing}
        named = ", ".join(f"{column} (is it {hint[0]}?)" if hint else column for column, hint in hints.items())
        raise DeliveryError(
            f"source {source.name}, {delivery.name}: column {named} is missing; the delivery has "
            f"{', '.join(delivery.columns) or 'no columns'}. Nothing was written."
        )
    return Matched(found, tuple(name for name in delivery.columns if name not in found.values()))


def settle_types(
    source: SourceModel, delivery: Delivery, matched: Matched, first: pa.Table, remembered: Mapping[str, ColumnType]
) -> dict[str, ColumnType]:
    """The type of every staged column: declared, else remembered, else inferred from the first rows.

    A file of text (CSV) is not guessed at: its undeclared columns are text. A column that is all NULL has no type yet
    and becomes text. DeliveryError for a type no column may have, and for binary floats nobody declared.
    """
    types: dict[str, ColumnType] = {}
    for column in source.staged_columns:
        settled = source.declared_types.get(column) or remembered.get(column)
        types[column] = settled or _inferred(source, delivery, column, first.column(matched.delivered[column]))
        if column == source.declaration.tie_break and settled is None and not delivery.typed:
            raise DeliveryError(
                f"source {source.name}, {delivery.name}: tie_break: {column} would be compared as text, by which 9 is "
                f"greater than 10: declare its type, `types: {{{column}: integer}}` for one. Nothing was written."
            )
        if types[column].kind == "double" and column not in source.declared_types:
            _refuse_float(source, delivery, column)
    return types


def _inferred(source: SourceModel, delivery: Delivery, column: str, values: pa.ChunkedArray) -> ColumnType:
    if column in delivery.fractions:
        return ColumnType("double")
    if not delivery.typed:
        return TEXT
    try:
        arrow = infer(values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values)
        inferred = TEXT if arrow is None else ColumnType.of_arrow(arrow)
    except (TypeError, ValueError) as error:
        raise DeliveryError(f"source {source.name}, {delivery.name}, column {column}: {error}") from error
    if inferred.kind == "decimal" and delivery.name in _WITHOUT_SCALE:
        return ColumnType("decimal", MAX_PRECISION, max(inferred.scale, SCALE_LEFT_OPEN))
    return inferred


def _refuse_float(source: SourceModel, delivery: Delivery, column: str) -> None:
    in_key = any(column in hub.source_columns for hub in source.hubs)
    in_satellite = any(column in satellite.columns for satellite in source.satellites)
    if in_key or in_satellite:
        raise DeliveryError(
            f"source {source.name}, {delivery.name}: column {column} holds binary floats, whose text and so whose "
            f"hash is not exact: declare its type, `{column}: decimal(18, 4)` for one"
            + ("." if in_key else f", or `{column}: double` if you mean it.")
        )
