"""CSV in UTF-8, every value text; an unquoted empty value is NULL, a quoted one is empty text."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers.delivery import Chunk, Delivery, MalformedRow, checked_columns, shortened
from xts_pipeline.staging.readers.text_file import existing_file, lines_of, open_text

_BLOCK_BYTES = 16 << 20
_MALFORMED_AT_ONCE = 1_000_000
# a row that no file holds, added behind the last one: when it is not seen again, a quote was left open
_END_MARK = "\0end of file"


def open_csv_file(path: Path, chunk_rows: int, delimiter: str = ",") -> Delivery:
    """Open a CSV file, plain or gzip, whose first row that is not blank is the header; blank lines are no rows.

    Every column is delivered as text. A row with another number of fields than the header is a MalformedRow.
    Raises DeliveryError when the file is missing, empty, no CSV, or its header cannot serve as column names.
    """
    columns = _header(existing_file(path), delimiter)
    return Delivery(str(path), columns, typed=False, chunks=partial(_chunks, path, columns, chunk_rows, delimiter))


def _header(path: Path, delimiter: str) -> tuple[str, ...]:
    with open_text(path) as stream:
        text = io.TextIOWrapper(lines_of(stream), "utf-8", newline="")
        try:
            names = next((record for record in csv.reader(text, delimiter=delimiter) if record), None)
        except csv.Error as error:
            raise DeliveryError(f"{path}: the header cannot be read ({error}); is this a CSV file?") from error
    if names is None:
        raise DeliveryError(f"{path}: the file has no header, only blank lines; deliver it again")
    _refuse_other_delimiter(path, names, delimiter)
    return checked_columns(str(path), names)


def _refuse_other_delimiter(path: Path, names: list[str], delimiter: str) -> None:
    """A header that is one name with another separator in it was separated by that one."""
    other = next((each for each in ";\t|," if each != delimiter and len(names) == 1 and each in names[0]), None)
    if other is not None:
        raise DeliveryError(
            f"{path}: the header is one column, {shortened(names[0])!r}: its values are separated by {other!r}, not by "
            f"{delimiter!r}; declare `delimiter: {other!r}` below `delivery`"
        )


class _Malformed:
    """The malformed rows that pyarrow has met and that no chunk has taken yet."""

    def __init__(self) -> None:
        self.rows: deque[MalformedRow] = deque()
        self.end_seen = False

    def keep(self, row: pyarrow.csv.InvalidRow) -> str:
        """Note one row; pyarrow counts the header as row 1 and blank lines not at all."""
        if row.text.startswith(_END_MARK):
            self.end_seen = True
            return "skip"
        if len(self.rows) >= _MALFORMED_AT_ONCE:
            return "error"
        reason = f"{row.actual_columns} fields, the header has {row.expected_columns}"
        self.rows.append(MalformedRow(row.number - 1, shortened(row.text), reason))
        return "skip"

    def numbers_for(self, first: int, count: int) -> tuple[pa.Array, tuple[MalformedRow, ...], int]:
        """Number `count` good rows from `first` on; also the malformed rows passed, and the number after them."""
        parts: list[np.ndarray] = []
        passed: list[MalformedRow] = []
        while count > 0:
            if self.rows and self.rows[0].row_number == first:
                passed.append(self.rows.popleft())
                first += 1
                continue
            take = min(count, self.rows[0].row_number - first) if self.rows else count
            parts.append(np.arange(first, first + take, dtype=np.int64))
            first += take
            count -= take
        return pa.array(np.concatenate(parts)), tuple(passed), first


def _chunks(path: Path, columns: tuple[str, ...], chunk_rows: int, delimiter: str) -> Iterator[Chunk]:
    malformed = _Malformed()
    number = 1
    tail = f"\n{_END_MARK}{delimiter * len(columns)}\n".encode()
    with open_text(path, tail) as stream:
        for batch in _batches(path, stream, columns, malformed, delimiter):
            for start in range(0, batch.num_rows, chunk_rows):
                rows = batch.slice(start, chunk_rows)
                numbers, passed, number = malformed.numbers_for(number, rows.num_rows)
                yield Chunk(pa.Table.from_batches([rows]), numbers, passed)
    if not malformed.end_seen:
        raise DeliveryError(
            f"{path}: a quoted value at about row {max(number - 1, 1)} is never closed; is the file cut off?"
        )
    if malformed.rows:
        nothing = pa.schema([(column, pa.string()) for column in columns]).empty_table()
        yield Chunk(nothing, pa.array([], pa.int64()), tuple(malformed.rows))


def _batches(
    path: Path, stream: object, columns: tuple[str, ...], malformed: _Malformed, delimiter: str
) -> Iterator[pa.RecordBatch]:
    try:
        reader = pyarrow.csv.open_csv(
            stream,
            # row numbers of malformed rows are only known to a single thread
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=malformed.keep
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False,  # the stream has checked it
                column_types=dict.fromkeys(columns, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        if tuple(reader.schema.names) != columns:
            raise DeliveryError(f"{path}: the header cannot be read without doubt; check the quotes in its names")
        yield from reader
    except pa.ArrowInvalid as error:
        raise DeliveryError(f"{path}: {_explained(error, malformed)}") from error


def _explained(error: pa.ArrowInvalid, malformed: _Malformed) -> str:
    if len(malformed.rows) >= _MALFORMED_AT_ONCE:
        return (
            f"over {_MALFORMED_AT_ONCE:,} malformed rows, the first is row {malformed.rows[0].row_number} "
            f"({malformed.rows[0].reason}); is the delimiter right?"
        )
    if "straddling" in str(error):
        return f"a row is longer than {_BLOCK_BYTES >> 20} MiB; most likely a quoted value is never closed"
    return f"not readable as CSV ({error}); deliver it again"
