"""Two overlapping cycles of one source come out as if one after the other, whatever step comes before which."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.cycle import finish_batch
from xts_pipeline.ledger import older_open_batches
from xts_pipeline_tests import crash


def run(vault: Vault, partition: str) -> Iterator[str]:
    """A run as a scheduler would interleave it: stops before its stamp, its look at open batches, and every step."""
    frame = pd.DataFrame(crash.DELIVERIES[partition], columns=crash.COLUMNS)
    yield "start"
    source = vault.catalog.source("bank")
    batch = vault.stage("bank", frame, partition=partition).batch
    yield "stamped"
    older = older_open_batches(vault.warehouse, batch)
    yield "listed"
    for waiting in (*older, batch):
        for result in finish_batch(vault.warehouse, source, waiting):
            yield result.step.step


def interleaved(order: tuple[int, ...]) -> tuple[dict[str, list[tuple[object, ...]]], list[str]]:
    """Advance two runs by turns; a run that is over leaves its turns to the other."""
    with Vault.open([crash.SOURCE], "duckdb:///:memory:") as vault:
        vault.load("bank", pd.DataFrame(crash.DELIVERIES["2024-01-01"], columns=crash.COLUMNS), partition="2024-01-01")
        vault.load("bank", pd.DataFrame(crash.DELIVERIES["2024-01-05"], columns=crash.COLUMNS), partition="2024-01-05")
        runs = [run(vault, "2024-01-03"), run(vault, "2024-01-07")]
        for turn in itertools.chain(order, itertools.cycle((0, 1))):
            if next(runs[turn], None) is None and next(runs[1 - turn], None) is None:
                break
        order_of_stamps = vault.query("select partition_key from control.load_batch order by load_timestamp")
        assert vault.query("select count(*) as n from control.load_batch where status <> 'done'")["n"][0] == 0
        return crash.contents(vault), order_of_stamps["partition_key"].tolist()


def one_after_the_other(partitions: list[str]) -> dict[str, list[tuple[object, ...]]]:
    with Vault.open([crash.SOURCE], "duckdb:///:memory:") as vault:
        for partition in partitions:
            frame = pd.DataFrame(crash.DELIVERIES[partition], columns=crash.COLUMNS)
            vault.load("bank", frame, partition=partition)
        return crash.contents(vault)


SERIAL = {
    order: one_after_the_other(["2024-01-01", "2024-01-05", *order])
    for order in itertools.permutations(["2024-01-03", "2024-01-07"])
}
ORDERS = sorted(
    tuple(1 if place in ones else 0 for place in range(12)) for ones in itertools.combinations(range(12), 6)
)


STEPS = 15  # of an undisturbed run: its start, its stamp, its look at open batches, eleven steps, its end
PAUSED = [(first,) * steps + (1 - first,) * STEPS for first in (0, 1) for steps in range(1, STEPS)]


def assert_serial(order: tuple[int, ...]) -> None:
    found, stamps = interleaved(order)
    assert found == SERIAL[tuple(stamps[2:])], f"turns {order}"  # type: ignore[index]


def spelled(order: tuple[int, ...]) -> str:
    return "".join(map(str, order))


@pytest.mark.parametrize("order", PAUSED, ids=spelled)
def test_a_run_paused_at_any_step_boundary_while_another_runs_equals_one_after_the_other(
    order: tuple[int, ...],
) -> None:
    assert_serial(order)


@pytest.mark.parametrize("order", random.Random(7).sample(ORDERS, 30), ids=spelled)
def test_two_runs_interleaved_at_step_boundaries_equal_one_after_the_other(order: tuple[int, ...]) -> None:
    assert_serial(order)


def test_a_run_has_the_steps_that_the_interleavings_count_on() -> None:
    with Vault.open([crash.SOURCE], "duckdb:///:memory:") as vault:
        assert len(list(run(vault, "2024-01-01"))) + 1 == STEPS


@pytest.mark.long
def test_every_order_of_the_first_twelve_turns_of_two_runs_equals_one_after_the_other() -> None:
    for order in ORDERS:
        assert_serial(order)
