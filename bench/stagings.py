"""Staging a Parquet file of eight columns, beside DuckDB reading and hashing the same file."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

from bench.workload import SOURCE, execute, statement
from xts_pipeline import Vault
from xts_pipeline.warehouse.duckdb import bound_memory

SATELLITE = SOURCE["satellites"][0]  # type: ignore[index]
EIGHT = {**SOURCE, "satellites": [{**SATELLITE, "columns": {**SATELLITE["columns"], "balance": "decimal(12, 2)"}}]}


def measure(folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    """Seconds of each way, and how many times the floors staging takes."""
    path = folder / f"staging_{rows}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            connection.execute(statement("states"))
            text = statement("staging_file").replace("$path", f"'{path}'")  # COPY binds no path
            connection.execute(text, {"keys": rows})
    ways: dict[str, Callable[[Path, Path], float]] = {"hashed": _hashed, "written": _written, "staged": _staged}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            seconds[name].append(_in_new_file(folder, path, way))
    staged = median(seconds["staged"])
    return {
        "rows": rows,
        "columns": 8,
        "seconds": seconds,
        "times_reading_and_hashing": staged / median(seconds["hashed"]),
        "times_writing_without_care": staged / median(seconds["written"]),
    }


def _in_new_file(folder: Path, path: Path, way: Callable[[Path, Path], float]) -> float:
    database = folder / "staging.duckdb"
    for file in (database, folder / "staging.duckdb.wal"):
        file.unlink(missing_ok=True)
    took = way(database, path)
    gc.collect()
    database.unlink()
    return took


def _hashed(database: Path, path: Path) -> float:
    return _by_duckdb(database, path, "staging_floor")


def _written(database: Path, path: Path) -> float:
    return _by_duckdb(database, path, "staging_written")


def _by_duckdb(database: Path, path: Path, name: str) -> float:
    with duckdb.connect(str(database)) as connection:
        bound_memory(connection)
        execute(connection, "staging_table", {})
        begun = time.perf_counter()
        execute(connection, name, {"path": str(path)})
        connection.fetchall()
        return time.perf_counter() - begun


def _staged(database: Path, path: Path) -> float:
    with Vault.open([EIGHT], f"duckdb:///{database}") as vault:
        begun = time.perf_counter()
        vault.stage("bench", path, "measured")
        return time.perf_counter() - begun
