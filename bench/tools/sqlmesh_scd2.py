"""SQLMesh SCD type 2 by time: the in-sequence batch on top of a history. Prints JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from sqlmesh import Context

from bench.tools.history import SQL, closed_versions, deliver, floor

PROJECT = Path(__file__).parent / "sqlmesh"
CLOSED = """
    insert into {table} (customer_id, applied, name, street, city, postcode, tier, valid_from, valid_to)
    select customer_id, valid_from, name, street, city, postcode, tier, valid_from, valid_to
    from ({versions})
"""


def main(keys: int, days: int, batch: int) -> None:
    """Build the history, take the batch, and print seconds."""
    with tempfile.TemporaryDirectory() as folder:
        project, file = Path(folder) / "sqlmesh", Path(folder) / "bench.duckdb"
        shutil.copytree(PROJECT, project)
        os.environ["BENCH_FILE"] = str(file)
        deliver(file, keys, days - 1)
        context = Context(paths=str(project))
        context.plan(auto_apply=True, no_prompts=True, execution_time=f"2024-01-{days:02}")
        context.close()
        with duckdb.connect(str(file)) as connection:
            (table,) = connection.execute(
                "select '\"' || schema_name || '\".\"' || table_name || '\"' from duckdb_tables() "
                "where table_name like 'bench__customer__%'"
            ).fetchone() or ("",)
            connection.execute((SQL / "states.sql").read_text())
            connection.execute(CLOSED.format(table=table, versions=closed_versions(keys, days)))
            connection.execute("checkpoint")
        deliver(file, keys, days - 1, changed_keys=batch)
        written = floor(file)
        context = Context(paths=str(project))
        begun = time.perf_counter()
        context.run(execution_time=f"2024-01-{days + 2:02}")
        whole = time.perf_counter() - begun
        context.close()
        with duckdb.connect(str(file)) as connection:
            (rows,) = connection.execute(f"select count(*) from {table}").fetchone() or (0,)
        print(json.dumps({"whole": whole, "floor": written, "rows": rows, "duckdb": duckdb.__version__}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
