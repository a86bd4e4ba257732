"""SWITCH only saves work: whenever it says in sequence, the normal load writes what the assisted one would."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.cycle import ASSISTED, NORMAL, finish_batch, insert_xts, load_satellite, switch
from xts_pipeline.ledger import Batch
from xts_pipeline_tests import histories as h
from xts_pipeline_tests import oracle


def in_sequence_histories(rng: random.Random, keys: int, batches: int) -> h.Histories:
    """Each batch's rows of a key are at or after its newest point, at it only with the same state."""
    city: dict[str, list[oracle.Batch]] = {}
    for key in range(keys):
        newest, state, history = -1, "", []
        for _ in range(batches):
            batch: oracle.Batch = {}
            if newest >= 0 and rng.random() < 0.3:
                batch[newest] = state  # a heartbeat at the newest point
            for _ in range(rng.choice([0, 1, 1, 2, 3])):
                newest += rng.choice([1, 2])
                batch[newest] = state = rng.choice("AB")
            history.append(batch)
        city[f"k{key}"] = history
    return {"sat_city": city, "sat_name": {key: [dict.fromkeys(b, "N") for b in hist] for key, hist in city.items()}}


@pytest.mark.parametrize("seed", range(3))
def test_normal_load_equals_assisted_load_on_in_sequence_batches(seed: int) -> None:
    histories = in_sequence_histories(random.Random(seed), keys=200, batches=5)
    stored = []
    for forced in (NORMAL, ASSISTED):
        with h.new_vault() as vault:
            source = vault.catalog.source("crm")
            for load, frame in enumerate(h.frames(histories)):
                batch = vault.stage("crm", frame, load_timestamp=h.day(1000 + load)).batch
                for satellite in source.satellites:
                    assert switch(vault.warehouse, source, satellite, batch).figures.verdict == NORMAL
                    insert_xts(vault.warehouse, source, satellite, batch)
                    loaded = load_satellite(vault.warehouse, source, satellite, batch, forced)
                    assert loaded.figures.verdict == forced
                list(finish_batch(vault.warehouse, source, batch))
            h.assert_right(vault, histories)
            stored.append({key: sorted(rows) for key, rows in h.satellite_rows(vault, "sat_city").items()})
    assert stored[0] == stored[1]


def late_batch(vault: Vault) -> Batch:
    columns = ["customer_id", "applied", "city", "name"]
    vault.load("crm", pd.DataFrame([("k", h.day(1), "A", "N"), ("k", h.day(5), "A", "N")], columns=columns))
    return vault.stage("crm", pd.DataFrame([("k", h.day(3), "B", "N")], columns=columns)).batch


def test_a_normal_load_of_a_late_batch_does_the_assisted_load_and_says_so() -> None:
    """A re-executed step brings the verdict it was given before another run came between: the load asks again."""
    with h.new_vault() as vault:
        source, batch = vault.catalog.source("crm"), late_batch(vault)
        satellite = source.satellite("sat_city")
        insert_xts(vault.warehouse, source, satellite, batch)
        loaded = load_satellite(vault.warehouse, source, satellite, batch, verdict=NORMAL)
        assert loaded.figures.verdict == ASSISTED
        assert (loaded.figures.rows_inserted, loaded.figures.rows_copied) == (1, 1)


def test_switch_reports_what_it_found() -> None:
    with h.new_vault() as vault:
        source, batch = vault.catalog.source("crm"), late_batch(vault)
        figures = switch(vault.warehouse, source, source.satellite("sat_city"), batch).figures
        assert (figures.verdict, figures.rows_read, figures.keys_read) == (ASSISTED, 1, 1)
        assert (figures.late_rows, figures.late_keys, figures.corrected_rows) == (1, 1, 0)


def test_switch_sees_the_staged_rows_of_older_open_batches() -> None:
    """A range of batches asks every SWITCH before the first XTS insert."""
    columns = ["customer_id", "applied", "city", "name"]
    with h.new_vault() as vault:
        source = vault.catalog.source("crm")
        first = vault.stage("crm", pd.DataFrame([("k", h.day(5), "A", "N")], columns=columns)).batch
        late = vault.stage("crm", pd.DataFrame([("k", h.day(3), "B", "N")], columns=columns)).batch
        satellite = source.satellite("sat_city")
        assert switch(vault.warehouse, source, satellite, first).figures.verdict == NORMAL
        assert switch(vault.warehouse, source, satellite, late).figures.verdict == ASSISTED


def test_the_switch_of_a_batch_that_is_done_gives_the_recorded_verdict() -> None:
    columns = ["customer_id", "applied", "city", "name"]
    with h.new_vault() as vault:
        source = vault.catalog.source("crm")
        batch = vault.stage("crm", pd.DataFrame([("k", h.day(1), "A", "N")], columns=columns)).batch
        list(finish_batch(vault.warehouse, source, batch))
        again = switch(vault.warehouse, source, source.satellite("sat_city"), batch)
        assert (again.already_done, again.figures.verdict) == (True, NORMAL)


@pytest.mark.parametrize("seed", range(4))
def test_a_range_of_batches_may_be_done_step_by_step(seed: int) -> None:
    """All SWITCHes, all XTS inserts, then each satellite batch by batch: every read is bounded by its stamp."""
    histories = h.random_histories(random.Random(seed), keys=150, batches=5)
    with h.new_vault() as vault:
        source = vault.catalog.source("crm")
        batches = [
            vault.stage("crm", frame, load_timestamp=h.day(1000 + load)).batch
            for load, frame in enumerate(h.frames(histories))
        ]
        verdicts = {
            (batch.batch_id, satellite.name): switch(vault.warehouse, source, satellite, batch).figures.verdict
            for batch in batches
            for satellite in source.satellites
        }
        for batch in batches:
            for satellite in source.satellites:
                insert_xts(vault.warehouse, source, satellite, batch)
        for satellite in source.satellites:
            for batch in batches:
                verdict = verdicts[batch.batch_id, satellite.name]
                load_satellite(vault.warehouse, source, satellite, batch, str(verdict))
        for batch in batches:
            list(finish_batch(vault.warehouse, source, batch))
        h.assert_right(vault, histories)


def test_a_normal_load_finds_the_newest_state_whether_the_key_was_there_lately_or_long_ago() -> None:
    """Keys of the front batch are found among its facts, others by their satellite rows, and new ones nowhere."""
    columns = ["customer_id", "applied", "city", "name"]

    def rows(day: int, **cities: str) -> pd.DataFrame:
        return pd.DataFrame([(key, h.day(day), city, "N") for key, city in cities.items()], columns=columns)

    with h.new_vault() as vault:
        vault.load("crm", rows(1, gone="A", back="A", there="A"))
        vault.load("crm", rows(2, there="B"))
        result = vault.load("crm", rows(3, gone="A", back="B", there="B", new="A")).satellites["sat_city"]
        assert (result.branch, result.rows_read, result.inserted) == ("normal", 4, 2)
        written = {
            key: [(row.applied, row.state) for row in sorted(stored)]
            for key, stored in h.satellite_rows(vault, "sat_city").items()
        }
        assert written == {
            "gone": [(1, "A")],
            "back": [(1, "A"), (3, "B")],
            "there": [(1, "A"), (2, "B")],
            "new": [(3, "A")],
        }
