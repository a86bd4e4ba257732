"""A file of ten million rows is loaded in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

ROWS = 10_000_000
LOAD = """
import resource, sys
from xts_pipeline import Vault

source = {
    "source": "big", "record_source": "BIG", "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [
        {"name": "sat_big", "parent": {"hub": "customer"}, "columns": {"age": "integer", "city": "text"}}
    ],
}
with Vault.open([source], f"duckdb:///{sys.argv[2]}") as vault:
    print(vault.load("big", sys.argv[1]).satellites["sat_big"].inserted)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.long
def test_ten_million_rows_are_loaded_in_less_than_two_gigabytes(tmp_path: Path) -> None:
    file = tmp_path / "big.csv"
    step = 1_000_000
    with pa.OSFile(str(file), "wb") as out:
        writer = None
        for first in range(0, ROWS, step):
            ids = np.arange(first, first + step)
            table = pa.table(
                {
                    "customer_id": pa.array(ids).cast(pa.string()),
                    "day": pa.repeat(pa.scalar("2026-01-01"), step),
                    "age": pa.array(ids % 90),
                    "city": pa.array(ids % 1000).cast(pa.string()),
                }
            )
            writer = writer or pyarrow.csv.CSVWriter(out, table.schema)
            writer.write_table(table)
        writer.close()
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(file), str(tmp_path / "big.duckdb")],
        capture_output=True,
        text=True,
        check=True,
    )
    inserted, megabytes = map(int, done.stdout.split())
    assert inserted == ROWS
    assert megabytes < 2_000
