"""The bundled examples, loaded in the order of delivery and in others, held against the oracle on their own files."""

from __future__ import annotations

import csv
import gzip
import itertools
import random
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from xts_pipeline import LoadResult, Vault
from xts_pipeline_tests import oracle

DEFS = Path(__file__).parent.parent / "xts_pipeline" / "defs"
EXTRACTS = ("2022-08-30", "2023-12-15", "2025-03-25", "2025-08-22", "2025-08-26", "2026-01-30")
CUSTOMER_DAYS = ("2021-01-01", "2021-01-03", "2021-01-02")
Key = tuple[str, str]


def loaded(source: str, partitions: Sequence[str]) -> tuple[Vault, list[LoadResult]]:
    vault = Vault.open([DEFS / source / "defs.yaml"], "duckdb:///:memory:")
    return vault, [vault.load(source, partition=partition) for partition in partitions]


def delivered(partitions: Sequence[str]) -> dict[Key, list[oracle.Batch]]:
    """What the files of browser_compat state, read without the project's readers."""
    histories: dict[Key, list[oracle.Batch]] = {}
    for load, partition in enumerate(partitions):
        with gzip.open(DEFS / f"browser_compat/data/{partition}.csv.gz", "rt", newline="") as file:
            for row in csv.DictReader(file):
                history = histories.setdefault((row["feature"], row["browser"]), [{} for _ in partitions])
                applied = date.fromisoformat(row["applied_date"]).toordinal()
                history[load][applied] = (row["support"], row["version"], row["note"])
    return histories


def stored(vault: Vault) -> dict[Key, list[oracle.Row]]:
    frame = vault.query("""
        select
            hub.feature, hub.browser, sat.dv_applied_timestamp as applied,
            (select count(*) from control.load_batch where load_timestamp < sat.dv_load_timestamp) as load,
            sat.support, sat.version, sat.note, sat.dv_xts_event as event
        from sat_mdn_support as sat inner join hub_browser_feature as hub using (dv_hashkey_hub_browser_feature)
    """)
    rows: dict[Key, list[oracle.Row]] = {}
    for row in frame.itertuples(index=False):
        state = (row.support, row.version, row.note)
        rows.setdefault((row.feature, row.browser), []).append(
            oracle.Row(row.applied.toordinal(), int(row.load), state, row.event)
        )
    return rows


def timeline(rows: Sequence[oracle.Row]) -> list[tuple[int, object]]:
    """The states of a key as known at the end, one after the other, each with the day it begins."""
    points = sorted({row.applied for row in rows})
    states = [(point, oracle.answer(rows, point, 99)) for point in points]
    return [now for before, now in zip([(0, None), *states], states, strict=False) if now[1] != before[1]]


def contradicted(histories: dict[Key, list[oracle.Batch]]) -> set[Key]:
    """The keys for which two extracts state two things of one day."""
    return {
        key
        for key, history in histories.items()
        if any(len({batch[point] for batch in history if point in batch}) > 1 for point in set().union(*history))
    }


def test_the_real_extracts_in_the_order_of_delivery_agree_with_the_oracle_row_by_row() -> None:
    vault, results = loaded("browser_compat", EXTRACTS)
    histories = delivered(EXTRACTS)
    found = stored(vault)
    assert found.keys() == histories.keys()
    for key, history in histories.items():
        assert sorted(found[key]) == sorted(oracle.rows_to_write(history)), key
    assert [result.satellites["sat_mdn_support"].branch for result in results] == ["normal", *["assisted"] * 5]
    again = results[4].satellites["sat_mdn_support"]  # the fifth states what the fourth did: heartbeats alone
    assert (again.rows_read, again.inserted, again.copied) == (6_941, 0, 0)


@pytest.mark.parametrize("seed", range(2))
def test_the_real_extracts_shuffled_end_with_the_same_timeline_wherever_they_do_not_contradict(seed: int) -> None:
    """Extracts that state two things of one day do contradict: there the one that is loaded last wins."""
    shuffled = random.Random(seed).sample(EXTRACTS, k=len(EXTRACTS))
    in_order, other = loaded("browser_compat", EXTRACTS)[0], loaded("browser_compat", shuffled)[0]
    histories = delivered(EXTRACTS)
    by_order = contradicted(histories)
    assert 0 < len(by_order) < 100
    first, second = stored(in_order), stored(other)
    for key in histories.keys() - by_order:
        assert timeline(first[key]) == timeline(second[key]), key
    told = delivered(shuffled)
    for key in by_order:
        assert not oracle.disagreements(oracle.facts_of(told[key]), second[key], len(EXTRACTS)), key


def test_one_question_has_two_answers_by_what_was_known() -> None:
    """Chrome 98 brought `color-scheme: only light` back in February 2022; MDN learned it after August."""
    vault, results = loaded("browser_compat", EXTRACTS)

    def answer(known_at: object) -> list[str]:
        states = vault.as_of("sat_mdn_support", valid_at="2022-06-01", known_at=known_at)  # type: ignore[arg-type]
        key = (states["feature"] == "css.properties.color-scheme.only_light") & (states["browser"] == "chrome")
        return states.loc[key, ["support", "version"]].iloc[0].tolist()

    assert answer(results[0].load_timestamp) == ["removed", "85"]
    assert answer(results[-1].load_timestamp) == ["supported", "98"]


@pytest.mark.parametrize("order", list(itertools.permutations(CUSTOMER_DAYS)), ids="_".join)
def test_the_customers_end_with_the_same_timeline_in_every_order(order: tuple[str, ...]) -> None:
    def states(partitions: Sequence[str]) -> dict[str, list[list[object]]]:
        vault, _ = loaded("sapbw_customer", partitions)
        days = [f"2021-01-{day:02d} 12:00" for day in range(1, 5)]
        return {
            f"{satellite} {day}": vault.as_of(satellite, valid_at=day)[["customer_id", *columns]].values.tolist()
            for day in days
            for satellite, columns in (("sat_sapbw_address", ["city"]), ("sat_sapbw_contact", ["phone", "email"]))
        }

    assert states(order) == states(CUSTOMER_DAYS)


def test_the_late_extract_of_customers_shows_the_five_crime_scenes() -> None:
    vault, results = loaded("sapbw_customer", CUSTOMER_DAYS)
    late = results[-1].satellites["sat_sapbw_address"]
    assert (late.branch, late.inserted, late.copied, late.violations) == ("assisted", 3, 1, 5)
    rows = vault.query("""
        select customer_id, strftime(sat.dv_applied_timestamp, '%d') || ' ' || city || ' ' || dv_xts_event as row
        from sat_sapbw_address as sat inner join hub_customer using (dv_hashkey_hub_customer)
        order by customer_id, sat.dv_applied_timestamp
    """)
    assert rows.groupby("customer_id")["row"].apply(list).tolist() == [
        ["01 Sydney insert"],
        ["01 Sydney insert", "02 Melbourne insert", "03 Brisbane insert"],
        ["01 Sydney insert", "03 Brisbane insert"],
        ["01 Sydney insert", "02 Brisbane insert", "03 Sydney copy"],
        ["01 Sydney insert", "02 Brisbane insert", "03 Brisbane insert"],
    ]
