"""Parquet: read batch by batch, types as the file has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers.arrow_columns import plain_table
from xts_pipeline.staging.readers.delivery import Chunk, Delivery, checked_columns
from xts_pipeline.staging.readers.text_file import existing_file

_MAGIC = b"PAR1"


def open_parquet_file(path: Path, chunk_rows: int) -> Delivery:
    """Open a Parquet file; nested columns are delivered as they are.

    Raises DeliveryError when the file is missing, empty, not Parquet or cut off, or has doubtful column names.
    """
    with existing_file(path).open("rb") as raw:
        if raw.read(4) != _MAGIC:
            raise DeliveryError(f"{path}: this is not a Parquet file, whatever its name says; deliver it again")
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    columns = checked_columns(str(path), names)
    return Delivery(str(path), columns, typed=True, chunks=partial(_chunks, path, chunk_rows))


def _damaged(path: Path, error: Exception) -> DeliveryError:
    return DeliveryError(f"{path}: the Parquet file is damaged or cut off ({error}); transfer it again")


def _chunks(path: Path, chunk_rows: int) -> Iterator[Chunk]:
    number = 1
    for batch in _batches(path, chunk_rows):
        table = plain_table(str(path), pa.Table.from_batches([batch]), number)
        numbers = pa.array(np.arange(number, number + table.num_rows, dtype=np.int64))
        number += table.num_rows
        yield Chunk(table, numbers, ())


def _batches(path: Path, chunk_rows: int) -> Iterator[pa.RecordBatch]:
    try:
        # buffered, not pre-buffered: a row group of any size is read page by page
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            yield from file.iter_batches(batch_size=chunk_rows)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
