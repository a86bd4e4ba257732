"""How rows lie in a DuckDB file: what is appended is written once, and what cannot be made smaller is not packed."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from xts_pipeline import Vault
from xts_pipeline_tests import histories as h

ROWS = 400_000


def delivery(rows: int) -> pa.Table:
    ids = pa.array(range(rows)).cast(pa.string())
    applied = pa.repeat(pa.scalar(h.day(1), pa.timestamp("us")), rows)
    return pa.table({"customer_id": ids, "applied": applied, "city": ids, "name": ids})


def test_a_checkpoint_does_not_write_a_large_delivery_again(tmp_path: Path) -> None:
    file = tmp_path / "kept.duckdb"
    vault = Vault.open([h.SOURCE], f"duckdb:///{file}")
    vault.stage("crm", delivery(ROWS), "large")
    staged = file.stat().st_size
    vault.close()
    assert staged > 10_000_000
    assert file.stat().st_size < 1.2 * staged


def test_hash_keys_are_stored_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "kept.duckdb"
    with Vault.open([h.SOURCE], f"duckdb:///{file}") as vault:
        vault.load("crm", delivery(1000), "small")
    with duckdb.connect(str(file)) as connection:
        for table in ("staged.crm__rows", "vault.hub_customer", "vault.sat_xt_hub_customer", "vault.sat_city"):
            kept = connection.execute(
                "select distinct compression from pragma_storage_info($table) "
                "where column_name = 'dv_hashkey_hub_customer' and segment_type = 'BLOB'",
                {"table": table},
            ).fetchall()
            assert kept == [("Uncompressed",)], table
