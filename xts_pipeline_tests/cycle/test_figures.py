"""What a step records in the ledger is what the tables hold, whichever form of its statements was run."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline_tests import histories as h

STEPS = """
    select batch.load_timestamp, batch.rows_staged, step.*
    from control.load_step as step
    inner join control.load_batch as batch using (batch_id)
"""
LOADS = 5


def random_batches(rng: random.Random) -> list[pd.DataFrame]:
    """Batches with a row or several a key, of new keys alone, in sequence or late, one of them without a row."""
    batches = []
    for load in range(LOADS):
        keys = rng.sample(range(30), k=rng.choice([0, 5, 15]))
        many = rng.random() < 0.5
        late = rng.random() < 0.5
        rows = [
            (f"k{key}", h.day(rng.randrange(load if late else 20 * load, 20 * load + 20)), rng.choice("AB"), "N")
            for key in keys
            for _ in range(rng.randint(1, 3) if many else 1)
        ]
        frame = pd.DataFrame(rows, columns=["customer_id", "applied", "city", "name"])
        batches.append(frame.drop_duplicates(["customer_id", "applied"]))
    return batches


def counted(vault: Vault, table: str, load: pd.Timestamp) -> pd.DataFrame:
    frame = vault.query(f"select * from {table}")
    return frame[frame["dv_load_timestamp"] == load]


@pytest.mark.parametrize("seed", range(8))
def test_every_step_records_what_its_table_holds(seed: int) -> None:
    batches = random_batches(random.Random(seed))
    with h.new_vault() as vault:
        for load, frame in enumerate(batches):
            vault.load("crm", frame, load_timestamp=h.day(1000 + load))
        steps = vault.query(STEPS)
        assert set(steps["kind"]) == {"switch", "xts", "satellite", "hub"}
        for step in steps.to_dict("records"):
            load, subject = step["load_timestamp"], step["subject"]
            facts = counted(vault, "sat_xt_hub_customer", load)
            facts = facts[facts["dv_rectarget"].str.lower() == subject]
            late = facts[facts["dv_sequence_violation"]]
            if step["kind"] == "hub":
                assert step["rows_inserted"] == len(counted(vault, "hub_customer", load))
                continue
            key = "dv_hashkey_hub_customer"
            assert (step["rows_read"], step["keys_read"]) == (len(facts), facts[key].nunique()), step
            assert (step["late_rows"], step["late_keys"]) == (len(late), late[key].nunique()), step
            if step["kind"] == "xts":
                assert step["rows_inserted"] == len(facts), step
            if step["kind"] == "satellite":
                events = counted(vault, subject, load)["dv_xts_event"]
                inserted, copied = (int((events == event).sum()) for event in ("insert", "copy"))
                assert (step["rows_inserted"], step["rows_copied"]) == (inserted, copied), step
