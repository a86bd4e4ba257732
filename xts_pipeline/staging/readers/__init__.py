"""Readers: anything that can be delivered, opened as a Delivery whose rows come in chunks of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa

from xts_pipeline.errors import DeliveryError
from xts_pipeline.staging.readers.csv_file import open_csv_file
from xts_pipeline.staging.readers.delivery import (
    CHUNK_ROWS,
    Chunk,
    Delivery,
    MalformedRow,
    TableDelivery,
    Wanted,
)
from xts_pipeline.staging.readers.frame import open_frame, open_table
from xts_pipeline.staging.readers.json_lines import open_json_lines
from xts_pipeline.staging.readers.parquet_file import open_parquet_file
from xts_pipeline.staging.readers.sql_query import open_sql

__all__ = ["Chunk", "Delivery", "MalformedRow", "TableDelivery", "open_delivery", "open_sql"]

_READERS: dict[str, Callable[[Path, int, Wanted], Delivery]] = {
    "parquet": lambda path, chunk_rows, _: open_parquet_file(path, chunk_rows),
    "jsonl": open_json_lines,
    "ndjson": open_json_lines,
    "json": open_json_lines,
}
_FORMATS = ("csv", *_READERS)
_ENDINGS = "a file (.csv, .csv.gz, .parquet, .jsonl, .ndjson, .json, .jsonl.gz, .ndjson.gz, .json.gz)"


def open_delivery(
    data: object,
    *,
    format: str | None = None,
    delimiter: str = ",",
    wanted: Wanted = None,
    chunk_rows: int = CHUNK_ROWS,
) -> Delivery:
    """Open a path (str or Path), a pandas DataFrame, or an Arrow table or record batch.

    `format` ("csv", "parquet", "jsonl", "ndjson" or "json") is for files whose name does not tell it, `delimiter` for
    CSV files that are not separated by commas; no chunk holds more than `chunk_rows` rows. `wanted` names the columns
    that will be loaded, in lower case: what the others hold is no matter. Raises DeliveryError when
    the data is of no such kind, or cannot be opened as it is.
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, not {chunk_rows}")
    if isinstance(data, str | Path):
        path = Path(data)
        form = _format_of(path, format)
        if form == "csv":
            return open_csv_file(path, chunk_rows, delimiter)
        return _READERS[form](path, chunk_rows, wanted)
    if isinstance(data, pd.DataFrame):
        return open_frame(data, chunk_rows, wanted)
    if isinstance(data, pa.Table | pa.RecordBatch):
        return open_table(data, chunk_rows)
    raise DeliveryError(
        f"cannot load a {type(data).__module__}.{type(data).__qualname__}; give {_ENDINGS}, "
        "a pandas DataFrame, or an Arrow table"
    )


def _format_of(path: Path, declared: str | None) -> str:
    if declared is not None:
        if declared not in _FORMATS:
            raise DeliveryError(f"{path}: format {declared!r} is not known; use one of {', '.join(_FORMATS)}")
        return declared
    name = path.name.lower().removesuffix(".gz")
    ending = name.rpartition(".")[2]
    if "." not in name or ending not in _FORMATS or (ending == "parquet" and path.suffix.lower() == ".gz"):
        raise DeliveryError(
            f"{path}: the name does not tell the format; give {_ENDINGS}, or say the format: "
            "`format` of the source's delivery"
        )
    return ending
