"""Runs of one process side by side: whoever comes second waits, tries again or finds the work done."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pandas as pd

from xts_pipeline import Vault
from xts_pipeline.ledger import all_batches
from xts_pipeline_tests import histories as h
from xts_pipeline_tests import oracle


def test_threads_that_load_one_source_side_by_side_end_right_for_the_order_of_their_stamps() -> None:
    """The first batch makes the tables, so that even that is raced for."""
    rng = random.Random(5)
    deliveries = {
        f"b{number:02d}": {f"k{key}": {rng.randrange(6): rng.choice("AB")} for key in range(30)} for number in range(10)
    }

    def load(vault: Vault, partition: str) -> None:
        rows = [
            (key, h.day(applied), state, "N")
            for key, batch in deliveries[partition].items()
            for applied, state in batch.items()
        ]
        frame = pd.DataFrame(rows, columns=["customer_id", "applied", "city", "name"])
        vault.load("crm", frame, partition=partition)

    with h.new_vault() as vault:
        others = [vault, Vault(vault.catalog, vault.warehouse)]
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda job: load(others[job[0] % 2], job[1]), enumerate(deliveries)))
        stamps = list(reversed(all_batches(vault.warehouse)))
        assert [batch.status for batch in stamps] == ["done"] * len(deliveries)
        stored = vault.query("""
            select
                hub.customer_id,
                date_diff('day', timestamp '2024-01-01', sat.dv_applied_timestamp) as applied,
                (select count(*) from control.load_batch where load_timestamp < sat.dv_load_timestamp) as load,
                sat.city,
                sat.dv_xts_event
            from sat_city as sat inner join hub_customer as hub using (dv_hashkey_hub_customer)
        """)
        for key in (f"k{number}" for number in range(30)):
            history = [deliveries[batch.partition_key][key] for batch in stamps]
            rows = [oracle.Row(*row[1:]) for row in stored.itertuples(index=False) if row[0] == key]
            assert sorted(rows) == sorted(oracle.rows_to_write(history)), key
