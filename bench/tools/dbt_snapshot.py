"""dbt snapshot through dbt-duckdb: the in-sequence batch on top of a history. Prints JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from dbt.cli.main import dbtRunner

from bench.tools.history import SQL, closed_versions, deliver, floor

PROJECT = Path(__file__).parent / "dbt"
CLOSED = """
    insert into main.customer_snapshot
        (customer_id, applied, name, street, city, postcode, tier,
        dbt_scd_id, dbt_updated_at, dbt_valid_from, dbt_valid_to)
    select customer_id, valid_from, name, street, city, postcode, tier, md5(customer_id || valid_from), valid_from,
        valid_from, valid_to
    from ({versions})
"""


def main(keys: int, days: int, batch: int) -> None:
    """Build the history, take the batch, and print seconds."""
    with tempfile.TemporaryDirectory() as folder:
        project, file = Path(folder) / "dbt", Path(folder) / "bench.duckdb"
        shutil.copytree(PROJECT, project)
        os.environ["BENCH_FILE"] = str(file)
        deliver(file, keys, days - 1)
        _snapshot(project)
        with duckdb.connect(str(file)) as connection:
            connection.execute((SQL / "states.sql").read_text())
            connection.execute(CLOSED.format(versions=closed_versions(keys, days)))
            connection.execute("checkpoint")
        deliver(file, keys, days - 1, changed_keys=batch)
        written = floor(file)
        whole, node = _snapshot(project)
        with duckdb.connect(str(file)) as connection:
            (rows,) = connection.execute("select count(*) from main.customer_snapshot").fetchone() or (0,)
        found = {"whole": whole, "statements": node, "floor": written, "rows": rows, "duckdb": duckdb.__version__}
        print(json.dumps(found))


def _snapshot(project: Path) -> tuple[float, float]:
    """Seconds of the whole invocation, and of the snapshot's own statements."""
    begun = time.perf_counter()
    arguments = ["--quiet", "snapshot", "--project-dir", str(project), "--profiles-dir", str(project)]
    result = dbtRunner().invoke(arguments)
    if not result.success:
        raise RuntimeError(result.exception or "dbt snapshot failed")
    whole = time.perf_counter() - begun
    ran = json.loads((project / "target" / "run_results.json").read_text())
    return whole, ran["results"][0]["execution_time"]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
