"""Arrow columns made plain: encodings that say nothing about the values are undone, text is checked."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from xts_pipeline.errors import DeliveryError


def plain_column(delivery: str, column: str, values: pa.ChunkedArray, first_row: int) -> pa.ChunkedArray:
    """Return the column without dictionary, run-end, large or view encoding; other types are kept.

    `first_row` is the number of the column's first row, for messages. Raises DeliveryError when text is not valid
    UTF-8.
    """
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_large_string(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.string())
    elif pa.types.is_large_binary(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.binary())
    if pa.types.is_string(values.type):
        _check_utf8(delivery, column, values, first_row)
    return values


def plain_table(delivery: str, table: pa.Table, first_row: int) -> pa.Table:
    """Return the table with every column made plain; raises DeliveryError when text is not valid UTF-8."""
    columns = [plain_column(delivery, name, table[name], first_row) for name in table.column_names]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _check_utf8(delivery: str, column: str, values: pa.ChunkedArray, first_row: int) -> None:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        row = next((at for at, value in enumerate(values.cast(pa.binary())) if not _is_utf8(value.as_py())), 0)
        raise DeliveryError(
            f"{delivery}: column {column!r} is not valid UTF-8 in row {first_row + row}; export it as UTF-8 text"
        ) from error


def _is_utf8(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
