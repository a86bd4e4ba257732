"""The invariant on random arrival histories: satellite and XTS answer alike at every valid and known pair."""

from __future__ import annotations

import itertools
import random
import sys
import time

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from xts_pipeline_tests import histories as h
from xts_pipeline_tests import oracle


@pytest.mark.parametrize("seed", range(7))
def test_random_histories_of_many_keys_in_one_vault_are_right(seed: int) -> None:
    """7 vaults of 300 keys and two satellites in one XTS, six batches: 4,200 histories."""
    histories = h.random_histories(random.Random(seed), keys=300, batches=6)
    with h.new_vault() as vault:
        h.load_frames(vault, h.frames(histories))
        assert h.assert_right(vault, histories) > 10_000


@pytest.mark.parametrize("seed", range(100, 112))
def test_random_histories_of_one_or_two_keys_take_both_branches_and_are_right(seed: int) -> None:
    """A batch of few keys is often in sequence, so that the normal load is held against the oracle too."""
    histories = h.random_histories(random.Random(seed), keys=1 + seed % 2, batches=5)
    with h.new_vault() as vault:
        h.load_frames(vault, h.frames(histories))
        h.assert_right(vault, histories)


batches = st.lists(st.dictionaries(st.integers(0, 5), st.sampled_from("AB"), max_size=3), min_size=1, max_size=4)


class Shared:
    """A vault that many examples use, each with a key and load timestamps of its own."""

    def __init__(self) -> None:
        self.vault = h.new_vault()
        self.keys = itertools.count()
        self.loads = 0


@pytest.fixture(scope="module")
def shared() -> Shared:
    return Shared()


@settings(max_examples=60, deadline=None)
@given(history=batches)
def test_any_history_of_one_key_is_right(shared: Shared, history: list[oracle.Batch]) -> None:
    """Hypothesis prints the smallest history that fails; feed it to `oracle.rows_to_write` to see what is expected."""
    key, first = f"k{next(shared.keys)}", shared.loads
    shared.loads += len(history)
    histories = {"sat_city": {key: history}, "sat_name": {key: [dict.fromkeys(batch, "N") for batch in history]}}
    for load, frame in enumerate(h.frames(histories), start=first):
        note(f"{shared.vault.load('crm', frame, load_timestamp=h.day(1000 + load)).satellites}")
    stored = [
        oracle.Row(row.applied, row.load - first, row.state, row.event)
        for row in h.satellite_rows(shared.vault, "sat_city").get(key, [])
    ]
    assert sorted(stored) == sorted(oracle.rows_to_write(history))
    assert not oracle.disagreements(oracle.facts_of(history), stored, len(history))


def test_every_order_of_a_small_set_of_batches_ends_with_the_same_timeline() -> None:
    """Each order of arrival is a key; batches that do not contradict each other end alike in all 120 of them."""
    batches: list[oracle.Batch] = [{0: "A"}, {1: "B", 2: "B"}, {2: "B", 3: "A"}, {4: "A"}, {5: "C"}]
    orders = list(itertools.permutations(batches))
    city = {f"k{index:03d}": list(order) for index, order in enumerate(orders)}
    name = {key: [dict.fromkeys(batch, "N") for batch in history] for key, history in city.items()}
    histories = {"sat_city": city, "sat_name": name}
    with h.new_vault() as vault:
        h.load_frames(vault, h.frames(histories))
        h.assert_right(vault, histories)
        rows = h.satellite_rows(vault, "sat_city")
        answers = {tuple(oracle.answer(rows[key], day, 4) for day in range(7)) for key in city}
        assert answers == {("A", "B", "B", "A", "A", "C", "C")}


@pytest.mark.long
def test_a_hundred_thousand_histories_of_ten_batches_are_right() -> None:
    """20 vaults of 5,000 keys, two satellites in one XTS, every valid and known pair compared."""
    started, pairs = time.monotonic(), 0
    for seed in range(1000, 1020):
        histories = h.random_histories(random.Random(seed), keys=5_000, batches=10)
        with h.new_vault() as vault:
            h.load_frames(vault, h.frames(histories))
            pairs += h.assert_right(vault, histories)
        sys.stderr.write(f"\nseed {seed}: {pairs:,} pairs compared, 0 wrong, {time.monotonic() - started:.0f} s")
