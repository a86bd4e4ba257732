"""The check of the timeline on vaults from which rows were taken at random finds every point that differs."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import datetime

import duckdb
import pytest

from xts_pipeline import Vault
from xts_pipeline.checks import ROWS_SHOWN, Check, checks_of
from xts_pipeline.ledger import Batch, all_batches
from xts_pipeline.warehouse import DuckDBWarehouse
from xts_pipeline_tests import histories as h

TABLES = {"sat_city": "dv_sid <> 0", "sat_xt_hub_customer": "dv_rectarget = 'sat_city'"}
Timelines = dict[str, dict[datetime, bytes]]  # key -> applied timestamp -> winning hashdiff


def timelines(vault: Vault, table: str) -> Timelines:
    rows = vault.query(f"""
        select
            hub.customer_id,
            known.dv_applied_timestamp,
            known.dv_hashdiff
        from {table} as known
        inner join hub_customer as hub using (dv_hashkey_hub_customer)
        where {TABLES[table]}
        order by known.dv_load_timestamp
    """)
    found: Timelines = defaultdict(dict)
    for key, applied, hashdiff in rows.itertuples(index=False):
        found[key][applied.to_pydatetime()] = hashdiff
    return found


def state_at(points: dict[datetime, bytes], at: datetime) -> bytes | None:
    before = [point for point in points if point <= at]
    return points[max(before)] if before else None


def differing_points(vault: Vault) -> set[tuple[str, datetime]]:
    """Every point of either at which the two have another state, or one has none."""
    satellite, xts = (timelines(vault, table) for table in TABLES)
    return {
        (key, at)
        for key in satellite.keys() | xts.keys()
        for at in satellite[key].keys() | xts[key].keys()
        if state_at(satellite[key], at) != state_at(xts[key], at)
    }


def invariant(vault: Vault) -> Check:
    of = checks_of(vault.catalog.source("crm"))
    return next(check for check in of if (check.name, check.table) == ("timeline_invariant", "sat_city"))


def touched(vault: Vault, batch: Batch) -> set[str]:
    """The keys of which a table still has a row of the batch."""
    keys = [
        vault.query(f"""
            select hub.customer_id
            from {table} as known
            inner join hub_customer as hub using (dv_hashkey_hub_customer)
            where {chosen} and known.dv_load_timestamp = timestamp '{batch.load_timestamp}'
        """)["customer_id"]
        for table, chosen in TABLES.items()
    ]
    return set().union(*keys)


def take_rows(connection: duckdb.DuckDBPyConnection, rng: random.Random) -> None:
    for table, chosen in TABLES.items():
        rows = connection.execute(f"select rowid from vault.{table} where {chosen} order by rowid").fetchall()
        taken = rng.sample(rows, k=rng.randint(0, 12))
        connection.execute(f"delete from vault.{table} where rowid in (select unnest(?))", [[row for (row,) in taken]])


@pytest.mark.parametrize("seed", range(8))
def test_each_point_at_which_satellite_and_xts_differ_is_found(seed: int) -> None:
    rng = random.Random(seed)
    connection = duckdb.connect(":memory:")
    with Vault.open([h.SOURCE], DuckDBWarehouse(connection)) as vault:
        h.load_frames(vault, h.frames(h.random_histories(rng, keys=60, batches=5)))
        assert invariant(vault).run(vault.warehouse).passed
        take_rows(connection, rng)
        expected = differing_points(vault)
        result = invariant(vault).run(vault.warehouse)
        assert (result.passed, result.found) == (not expected, len(expected))
        shown = {(row["customer_id"], row["dv_applied_timestamp"]) for row in result.rows}
        assert len(shown) == min(ROWS_SHOWN, len(expected))
        assert shown <= expected
        newest = all_batches(vault.warehouse)[0]
        keys = touched(vault, newest)
        of_batch = {(key, at) for key, at in expected if key in keys}
        assert invariant(vault).run(vault.warehouse, newest).found == len(of_batch)
