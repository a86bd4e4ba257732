"""Results as pandas, the same for every engine: nothing rounded on the way."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa


def to_frame(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as pandas.

    Decimals as `decimal.Decimal`, dates as `datetime.date`, bytes as `bytes`, whole numbers and booleans with NULLs in
    pandas' nullable types, timestamps as datetime64[us] (UTC).
    """
    frame: pd.DataFrame = table.to_pandas()
    for position, field in enumerate(table.schema):
        values = table.column(position)
        if not values.null_count:
            continue
        if pa.types.is_integer(field.type):
            frame.isetitem(position, pd.array(values.to_pylist(), dtype="Int64"))
        elif pa.types.is_boolean(field.type):
            frame.isetitem(position, pd.array(values.to_pylist(), dtype="boolean"))
    return frame


def table_of(fields: Sequence[pa.Field], rows: Sequence[Sequence[object]]) -> pa.Table:
    """Rows of Python values as an Arrow table of the given columns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [pa.array(values, field.type) for field, values in zip(fields, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(fields)))
