"""When memory runs out on DuckDB, a load spills and comes out right, or it fails; it is never wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.templates import Renderer, template_names
from xts_pipeline.warehouse.duckdb import DuckDBWarehouse
from xts_pipeline_tests import histories as h

KEYS = 60_000
ROWS = """
    select
        dv_xts_event,
        count(*) as found,
        bit_xor(hash(dv_hashkey_hub_customer, dv_applied_timestamp, dv_hashdiff, city)) as content,
        count(distinct dv_sid) as numbers
    from sat_city
    where dv_sid <> 0
    group by dv_xts_event
    order by dv_xts_event
"""


def delivered(day: int, state: str) -> pd.DataFrame:
    keys = [f"customer {number}" for number in range(KEYS)]
    cities = [f"{state} {number} {'street ' * 12}" for number in range(KEYS)]
    return pd.DataFrame({"customer_id": keys, "applied": h.day(day), "city": cities, "name": "N"})


def load_late(path: str, memory: str) -> str:
    """Two days, and then one between them, which puts every state back after it; what the satellite holds.

    What a load needs at least grows with the threads, so that their number is fixed.
    """
    connection = duckdb.connect(path, config={"memory_limit": memory, "threads": 2})
    with Vault.open([h.SOURCE], DuckDBWarehouse(connection)) as vault:
        for day, state in ((1, "A"), (9, "A"), (5, "B")):
            vault.load("crm", delivered(day, state))
        return str(vault.query(ROWS).to_dict("records"))


def loaded(folder: Path, memory: str) -> str | None:
    """In a process of its own, which a fault of memory may end; None if DuckDB refused for want of memory."""
    command = [sys.executable, "-m", __name__, str(folder / f"vault_{memory}.duckdb"), memory]
    done = subprocess.run(command, capture_output=True, text=True)
    if "OutOfMemoryException" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    assert not any(folder.glob("*.tmp/*")), "what was spilled is left"
    return done.stdout


def test_a_late_load_that_spills_is_right(tmp_path: Path) -> None:
    expected = loaded(tmp_path, "2GB")
    assert expected is not None
    assert f"'insert', 'found': {2 * KEYS}" in expected
    assert f"'copy', 'found': {KEYS}" in expected
    spilled = {memory: loaded(tmp_path, memory) for memory in ("70MB", "75MB", "90MB")}
    assert any(spilled.values()), "none had the memory to finish"
    assert all(found in {expected, None} for found in spilled.values()), spilled


@pytest.mark.parametrize("name", [name for name in template_names() if name.startswith("load/satellite_")])
def test_no_statement_takes_numbers_of_a_sequence(name: str) -> None:
    """DuckDB 2.0.1 writes over other rows when what it noted of `nextval` is spilled."""
    source = h.new_vault().catalog.source("crm")
    context = {"source": source, "satellite": source.satellites[0], "one_row_a_key": False, "recent_facts": True}
    assert "nextval" not in Renderer("duckdb").render(name, **context).sql


if __name__ == "__main__":
    print(load_late(*sys.argv[1:]))
