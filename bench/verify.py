"""Whether a history written by SQL is what loads would have made: both are made, and compared row by row."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from bench.workload import BEFORE, Size, build_history, delivery_of_day, loaded, vault_on

TABLES = {
    "hub_customer": "*",
    "sat_xt_hub_customer": "*",
    "sat_customer": "* exclude (dv_sid)",  # numbers follow the order of writing within a load
}


def verify(size: Size) -> None:
    """RuntimeError when a table differs."""
    with tempfile.TemporaryDirectory() as folder:
        made, loads = Path(folder) / "made.duckdb", Path(folder) / "loads.duckdb"
        build_history(made, size)
        with duckdb.connect(str(loads)) as connection:
            vault = vault_on(connection)
            vault.load("bench", delivery_of_day(size, 0).slice(0, 0), "tables", BEFORE)
            for day in range(size.days):
                vault.load("bench", delivery_of_day(size, day), f"day {day}", loaded(day))
            connection.execute(f"attach '{made}' as made (read_only)")
            for table, columns in TABLES.items():
                one, other = f"select {columns} from loads.vault.{table}", f"select {columns} from made.vault.{table}"
                (differing,) = connection.execute(
                    f"select count(*) from (({one} except all {other}) union all ({other} except all {one}))"
                ).fetchone() or (0,)
                if differing:
                    raise RuntimeError(f"{table}: {differing} rows differ between loads and what the bench wrote")
