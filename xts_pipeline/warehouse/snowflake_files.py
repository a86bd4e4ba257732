"""Staged rows on their way to Snowflake: Parquet files of a good size, uploaded to an internal stage, then copied in.

All values but truth values and whole numbers travel as text, and bytes as hexadecimal text: bytes that a client appends
are known to come out corrupted, and a file format's own timestamps depend on options of the reader.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xts_pipeline.errors import IntegrityError
from xts_pipeline.hashing import canonical_text
from xts_pipeline.templates import Renderer, Statement

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class FileColumn:
    """A column of the files, and the kind of the table's column that it becomes."""

    name: str
    kind: str
    precision: int = 0
    scale: int = 0


def column_of(field: pa.Field) -> FileColumn:
    """The column that an Arrow field becomes; TypeError for a type that is never staged."""
    types, kind = pa.types, field.type
    if types.is_decimal(kind):
        return FileColumn(field.name, "decimal", kind.precision, kind.scale)
    known = {
        "text": types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind),
        "integer": types.is_integer(kind),
        "boolean": types.is_boolean(kind),
        "double": types.is_floating(kind),
        "date": types.is_date(kind),
        "timestamp": types.is_timestamp(kind) and kind.tz is None,
        "binary": types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind),
    }
    for name, is_it in known.items():
        if is_it:
            return FileColumn(field.name, name)
    raise TypeError(f"column {field.name}: values of type {kind} are never staged")


def travelling(column: FileColumn, values: pa.ChunkedArray) -> pa.Array:
    """The values as they stand in a file."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if column.kind == "text":
        return array.cast(pa.string())
    if column.kind == "timestamp":
        return pc.utf8_replace_slice(canonical_text(array), 10, 11, " ")
    if column.kind in {"binary", "date", "decimal"}:
        return canonical_text(array)
    return array


class Shipment:
    """The files of one table: rows are appended, full files are put in the stage, all are copied in at the end."""

    def __init__(
        self,
        renderer: Renderer,
        schema: str,
        table: str,
        put: Callable[[Statement], None],
        *,
        file_bytes: int,
        threads: int,
    ) -> None:
        self._renderer = renderer
        self._schema, self._table = schema, table
        self._put = put
        self._file_bytes, self._threads = file_bytes, threads
        self._local = tempfile.TemporaryDirectory(prefix="xts_")
        self._folder = f"{table}/{secrets.token_hex(8)}"
        self._columns: tuple[FileColumn, ...] = ()
        self._writer: pq.ParquetWriter | None = None
        self._path = Path()
        self._files = 0
        self.rows = 0

    def append(self, rows: pa.Table) -> None:
        """Write rows to the file at hand, and put it in the stage when it is full."""
        columns = tuple(column_of(field) for field in rows.schema)
        if self._columns and columns != self._columns:
            raise IntegrityError(f"{self._table}: rows of one batch differ in their columns")
        self._columns = columns
        arrays = [travelling(column, rows.column(place)) for place, column in enumerate(columns)]
        table = pa.Table.from_arrays(arrays, [column.name.upper() for column in columns])
        if self._writer is None:
            self._path = Path(self._local.name) / f"rows_{self._files:05d}.parquet"
            self._writer = pq.ParquetWriter(self._path, table.schema, compression="snappy")
        self._writer.write_table(table)
        self.rows += rows.num_rows
        if self._path.stat().st_size >= self._file_bytes:
            self._send()

    def statement(self) -> Statement:
        """Put the last file in the stage; gives the statement that copies all of them into the table."""
        self._send()
        context = {"schema": self._schema, "table": self._table, "columns": self._columns, "folder": self._folder}
        return self._renderer.render("transfer/copy", **context)

    def close(self) -> None:
        """Drop the local files."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._local.cleanup()

    def _send(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._writer = None
        self._files += 1
        file = self._path.as_posix()
        self._put(self._renderer.render("transfer/put", file=file, folder=self._folder, threads=self._threads))
        self._path.unlink()
