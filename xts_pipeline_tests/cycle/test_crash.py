"""A process that dies at any moment of a load loses nothing and writes nothing twice: the next load rolls forward."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline_tests import crash


def delivery(partition: str) -> pd.DataFrame:
    return pd.DataFrame(crash.DELIVERIES[partition], columns=crash.COLUMNS)


def open_vault(file: Path) -> Vault:
    return Vault.open([crash.SOURCE], f"duckdb:///{file}")


def load(vault: Vault, partition: str) -> None:
    vault.load("bank", delivery(partition), partition=partition)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault in which two batches are loaded; the next, 2024-01-03, is late."""
    file = tmp_path_factory.mktemp("base") / "bank.duckdb"
    with open_vault(file) as vault:
        load(vault, "2024-01-01")
        load(vault, "2024-01-05")
    return file


@pytest.fixture
def copied(base: Path, tmp_path: Path) -> Callable[[], Path]:
    numbers = itertools.count()

    def copy() -> Path:
        """A file of its own each time: a process that died may not have let go of its file yet."""
        number = next(numbers)
        (tmp_path / f"{number - 2}.duckdb").unlink(missing_ok=True)
        return Path(shutil.copy(base, tmp_path / f"{number}.duckdb"))

    return copy


def undisturbed(file: Path, *partitions: str) -> dict[str, list[tuple[object, ...]]]:
    with open_vault(file) as vault:
        for partition in partitions:
            load(vault, partition)
        return crash.contents(vault)


def moments_of_a_load(file: Path) -> int:
    with open_vault(file) as vault, pytest.MonkeyPatch.context() as patch:
        moments = crash.Moments(patch)
        load(vault, "2024-01-03")
        return moments.count


def die(file: Path, moment: int) -> None:
    vault = open_vault(file)
    with pytest.MonkeyPatch.context() as patch:
        crash.Moments(patch, die_at=moment)
        with pytest.raises(crash.Crash):
            load(vault, "2024-01-03")
    vault.close()


def batches(vault: Vault) -> int:
    return int(vault.query("select count(*) as batches from control.load_batch")["batches"][0])


@pytest.mark.parametrize("part", range(4))
def test_a_load_that_died_at_any_moment_and_is_run_again_equals_the_undisturbed_one(
    copied: Callable[[], Path], part: int
) -> None:
    expected = undisturbed(copied(), "2024-01-03")
    moments = moments_of_a_load(copied())
    assert moments > 150  # before and after each statement, and around each commit
    for moment in range(1 + part, moments + 1, 4):
        file = copied()
        die(file, moment)
        with open_vault(file) as vault:
            assert_vault_is_insert_only_prefix(vault, expected)
            load(vault, "2024-01-03")
            assert crash.contents(vault) == expected, f"died at moment {moment} of {moments}"
            assert batches(vault) == 3
            assert vault.query("select count(*) as n from control.load_batch where status <> 'done'")["n"][0] == 0


def test_a_load_that_died_is_finished_by_the_next_load_of_its_source(copied: Callable[[], Path]) -> None:
    expected = undisturbed(copied(), "2024-01-03", "2024-01-07")
    unstamped = undisturbed(copied(), "2024-01-07", "2024-01-03")
    moments = moments_of_a_load(copied())
    finished = 0
    for moment in range(1, moments + 1, 7):
        file = copied()
        die(file, moment)
        with open_vault(file) as vault:
            stamped = batches(vault) == 3
            result = vault.load("bank", delivery("2024-01-07"), partition="2024-01-07")
            finished += bool(result.finished)
            load(vault, "2024-01-03")
            assert crash.contents(vault) == (expected if stamped else unstamped), f"died at moment {moment}"
    assert finished > 5


def assert_vault_is_insert_only_prefix(vault: Vault, expected: dict[str, list[tuple[object, ...]]]) -> None:
    """Whatever stands in the vault after the crash stands in the undisturbed one too."""
    for table, rows in crash.contents(vault).items():
        assert set(rows) <= set(expected[table]), table


def test_closed_until_waits_for_the_batch_that_died(copied: Callable[[], Path]) -> None:
    middle = moments_of_a_load(copied()) // 2
    file = copied()
    die(file, middle)
    with open_vault(file) as vault:
        opened = vault.query("select load_timestamp from control.load_batch where status = 'open'")["load_timestamp"][0]
        assert vault.closed_until == opened - pd.Timedelta(microseconds=1)
        load(vault, "2024-01-03")
        assert vault.closed_until == opened
