"""What is in memory already: a pandas DataFrame, or an Arrow table or record batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers.arrow_columns import plain_column, plain_table
from xts_pipeline.staging.readers.delivery import (
    Chunk,
    Delivery,
    MalformedRow,
    Wanted,
    checked_columns,
    is_wanted,
    shortened,
)
from xts_pipeline.staging.readers.python_values import Column, column_of

_EXACT_IN_FLOAT = 2**53


def open_frame(frame: pd.DataFrame, chunk_rows: int, wanted: Wanted = None) -> Delivery:
    """Open a DataFrame; its index is ignored, NaN is NULL, and each column becomes one Arrow type.

    A float64 column with gaps whose values are all whole is what pandas makes of integers with gaps: it is delivered
    as int64. Columns outside `wanted` are named and not looked at. Raises DeliveryError for column names that are not
    text and for objects that are no plain values.
    """
    name = "DataFrame"
    columns = checked_columns(name, list(frame.columns))
    converted = {
        column: _column(name, column, frame.iloc[:, at])
        for at, column in enumerate(columns)
        if is_wanted(column, wanted)
    }
    return Delivery(name, columns, typed=True, chunks=partial(_frame_chunks, converted, len(frame), chunk_rows))


def open_table(data: pa.Table | pa.RecordBatch, chunk_rows: int) -> Delivery:
    """Open an Arrow table or record batch; dictionaries are decoded, nested columns delivered as they are."""
    name = "Arrow table"
    table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    columns = checked_columns(name, table.column_names)
    return Delivery(name, columns, typed=True, chunks=partial(_table_chunks, name, table, chunk_rows))


def chunk_of(columns: dict[str, Column], first_row: int) -> Chunk:
    """Make a chunk of columns of one length; rows with a fault in any column become malformed rows."""
    reasons: dict[int, str] = {}
    for name, column in columns.items():
        for position, reason in column.faults.items():
            reasons.setdefault(position, f"column {name!r} {reason}")
    table = pa.Table.from_arrays([column.values for column in columns.values()], names=list(columns))
    numbers = np.arange(first_row, first_row + table.num_rows, dtype=np.int64)
    if not reasons:
        return Chunk(table, pa.array(numbers), ())
    malformed = tuple(
        MalformedRow(first_row + position, _row_text(table.slice(position, 1)), reasons[position])
        for position in sorted(reasons)
    )
    good = np.ones(table.num_rows, dtype=bool)
    good[list(reasons)] = False
    return Chunk(table.filter(pa.array(good)), pa.array(numbers[good]), malformed)


def _row_text(row: pa.Table) -> str:
    try:
        return shortened(", ".join(f"{name}={row[name][0]}" for name in row.column_names))
    except (ValueError, OverflowError):  # a date that Python has no object for
        return shortened(str(row.to_string(preview_cols=len(row.column_names))))


def _frame_chunks(columns: dict[str, Column], count: int, chunk_rows: int) -> Iterator[Chunk]:
    for start in range(0, count if columns else 0, chunk_rows):
        yield chunk_of({name: _slice(column, start, chunk_rows) for name, column in columns.items()}, start + 1)


def _slice(column: Column, start: int, length: int) -> Column:
    faults = {at - start: why for at, why in column.faults.items() if start <= at < start + length}
    return Column(column.values.slice(start, length), faults)


def _table_chunks(name: str, table: pa.Table, chunk_rows: int) -> Iterator[Chunk]:
    number = 1
    for batch in table.to_batches(max_chunksize=chunk_rows):
        if batch.num_rows:
            rows = plain_table(name, pa.Table.from_batches([batch]), number)
            yield Chunk(rows, pa.array(np.arange(number, number + batch.num_rows, dtype=np.int64)), ())
            number += batch.num_rows


def _column(delivery: str, name: str, series: pd.Series) -> Column:
    if series.dtype == np.float64 and isinstance(series.dtype, np.dtype):
        return Column(_floats(series.to_numpy()), {})
    if series.dtype == object or isinstance(series.dtype, pd.CategoricalDtype):
        return column_of(delivery, name, series.astype(object).tolist())
    if isinstance(series.dtype, pd.SparseDtype):
        return _column(delivery, name, pd.Series(np.asarray(series)))
    try:
        values = pa.array(series, from_pandas=True)
    except UnicodeEncodeError:
        return column_of(delivery, name, series.astype(object).tolist())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DeliveryError(
            f"{delivery}: column {name!r} of type {series.dtype} cannot be loaded ({error}); convert it to text, "
            "numbers, booleans, bytes, dates or timestamps"
        ) from error
    chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    plain = plain_column(delivery, name, chunked, 1).combine_chunks()
    if pa.types.is_floating(plain.type):
        plain = pc.if_else(pc.is_nan(plain), pa.scalar(None, plain.type), plain)
    return Column(plain, {})


def _floats(values: np.ndarray) -> pa.Array:
    gaps = np.isnan(values)
    if len(values) and gaps.all():
        return pa.nulls(len(values))
    present = values[~gaps]
    if gaps.any() and bool(np.all((np.abs(present) < _EXACT_IN_FLOAT) & (present == np.floor(present)))):
        return pa.array(np.where(gaps, 0, values).astype(np.int64), mask=gaps)
    return pa.array(values, mask=gaps)
