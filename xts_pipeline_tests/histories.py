"""Random arrival histories, loading them into a vault, and holding the vault against the oracle."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import pandas as pd

from xts_pipeline import LoadResult, Vault
from xts_pipeline_tests import oracle

EPOCH = datetime(2024, 1, 1)
SATELLITES = ("sat_city", "sat_name")
Histories = Mapping[str, Mapping[str, oracle.History]]  # satellite -> key -> history
SOURCE = {
    "source": "crm",
    "record_source": "CRM",
    "applied_timestamp": "applied",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [
        {"name": "sat_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}},
        {"name": "sat_name", "parent": {"hub": "customer"}, "columns": {"name": "text"}},
    ],
}
COLUMN = {"sat_city": "city", "sat_name": "name"}


def day(number: int) -> datetime:
    return EPOCH + timedelta(days=number)


def new_vault(**changes: object) -> Vault:
    return Vault.open([{**SOURCE, **changes}], "duckdb:///:memory:")


def random_history(rng: random.Random, batches: int, days: int = 7, states: str = "ABC") -> oracle.History:
    """Late, repeated, corrected and several rows a key: any days in any batch, states from a small alphabet."""
    style = rng.random()
    history: list[oracle.Batch] = []
    for _ in range(batches):
        if rng.random() < 0.2:
            history.append({})
        elif style < 0.15 and history and rng.random() < 0.6:
            history.append(dict(rng.choice(history)))  # delivered again
        else:
            chosen = rng.sample(range(days), k=min(days, 1 + int(rng.expovariate(1.0))))
            history.append({point: rng.choice(states) for point in chosen})
    return history


def random_histories(rng: random.Random, keys: int, batches: int) -> Histories:
    """The same points for both satellites, since one staged row speaks for both; states of their own."""
    city: dict[str, oracle.History] = {}
    name: dict[str, oracle.History] = {}
    for key in range(keys):
        city[f"k{key:06d}"] = history = random_history(rng, batches)
        name[f"k{key:06d}"] = [{point: rng.choice("XY") for point in batch} for batch in history]
    return {"sat_city": city, "sat_name": name}


def frames(histories: Histories) -> list[pd.DataFrame]:
    """One frame a batch, rows of all keys in it."""
    cities, names = histories["sat_city"], histories["sat_name"]
    batches = max(len(history) for history in cities.values())
    out = []
    for load in range(batches):
        rows = [
            (key, day(point), city, names[key][load][point])
            for key, history in cities.items()
            for point, city in history[load].items()
        ]
        out.append(pd.DataFrame(rows, columns=["customer_id", "applied", "city", "name"]))
    return out


def load_frames(vault: Vault, deliveries: Sequence[pd.DataFrame]) -> list[LoadResult]:
    return [vault.load("crm", frame, load_timestamp=day(1000 + load)) for load, frame in enumerate(deliveries)]


def satellite_rows(vault: Vault, satellite: str) -> dict[str, list[oracle.Row]]:
    """Key: the satellite's rows, in the oracle's terms."""
    frame = vault.query(f"""
        select
            hub.customer_id,
            datediff('day', timestamp '2024-01-01', sat.dv_applied_timestamp) as applied,
            datediff('day', timestamp '2024-01-01', sat.dv_load_timestamp) - 1000 as load,
            sat.{COLUMN[satellite]} as state,
            sat.dv_xts_event as event
        from {satellite} as sat
        inner join hub_customer as hub using (dv_hashkey_hub_customer)
        where sat.dv_sid <> 0
    """)
    rows: dict[str, list[oracle.Row]] = defaultdict(list)
    columns = (frame[name].tolist() for name in ("customer_id", "applied", "load", "state", "event"))
    for key, applied, load, state, event in zip(*columns, strict=True):
        rows[key].append(oracle.Row(applied, load, state, event))
    return rows


def xts_rows(vault: Vault, satellite: str) -> dict[str, dict[tuple[int, int], bool]]:
    """Key: (applied, load): whether the XTS calls it a sequence violation."""
    frame = vault.query(f"""
        select
            hub.customer_id,
            datediff('day', timestamp '2024-01-01', xts.dv_applied_timestamp) as applied,
            datediff('day', timestamp '2024-01-01', xts.dv_load_timestamp) - 1000 as load,
            xts.dv_sequence_violation
        from sat_xt_hub_customer as xts
        inner join hub_customer as hub using (dv_hashkey_hub_customer)
        where xts.dv_rectarget = '{satellite}'
    """)
    rows: dict[str, dict[tuple[int, int], bool]] = defaultdict(dict)
    columns = (frame[name].tolist() for name in ("customer_id", "applied", "load", "dv_sequence_violation"))
    for key, applied, load, violation in zip(*columns, strict=True):
        assert (applied, load) not in rows[key], f"{satellite} {key}: two XTS rows at {applied}, {load}"
        rows[key][applied, load] = violation
    return rows


def assert_right(vault: Vault, histories: Histories, *, rows_too: bool = True) -> int:
    """Hold every satellite and the XTS against the oracle at every valid and known pair; gives the pairs compared."""
    pairs = 0
    for satellite, keys in histories.items():
        stored, logged = satellite_rows(vault, satellite), xts_rows(vault, satellite)
        for key, history in keys.items():
            facts, rows = oracle.facts_of(history), stored.get(key, [])
            told = f"{satellite}, key {key}, history {history!r}, rows {sorted(rows)}"
            wrong = oracle.disagreements(facts, rows, len(history))
            assert not wrong, f"(valid, known, wanted, stated) {wrong[:3]}: {told}"
            if rows_too:
                assert sorted(rows) == sorted(oracle.rows_to_write(history)), told
            found = oracle.violations(history)
            expected = {(fact.applied, fact.load): (fact.applied, fact.load) in found for fact in facts}
            assert logged.get(key, {}) == expected, told
            pairs += len({fact.applied for fact in facts}) * len(history)
    return pairs
