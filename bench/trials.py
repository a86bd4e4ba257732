"""Trials: a scenario and a contender on the same state of the same file, again and again, and the file as it was after.

A trial checkpoints once, at its end. Until then what it writes stands in the file's write-ahead log, and the checkpoint
writes to blocks that were free before and turns the headers last: with the old headers, cut to its old length and
without its log, the file is what it was before.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import duckdb
import pyarrow as pa

from bench.contenders import CONTENDERS, Seconds, Staged, restored_rows, seconds
from bench.workload import Scenario, Size, connect, delivery, loaded, vault_on

NOTHING = pa.table({})
MUCH = "6GB"  # for the slow contenders: the rebuild of 20 million facts does not finish with the pipeline's 1 GB
HEADERS = 3 * 4096  # bytes: the file's, and two of which the newer one names the blocks in use


@dataclass
class Figures:
    """The seconds of every trial of one scenario, by contender."""

    scenario: str
    trials: dict[str, list[Seconds]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    staging: list[float] = field(default_factory=list)  # seconds, of the cycle's trials

    def seconds(self, contender: str, checkpointed: bool = False) -> list[float]:
        """Each trial's seconds until the commit; `checkpointed` adds the checkpoint of what the contender wrote."""
        of_staged_rows = median(trial.checkpoint for trial in self.trials["nothing"])
        return [
            trial.work + (max(0.0, trial.checkpoint - of_staged_rows) if checkpointed else 0.0)
            for trial in self.trials[contender]
        ]

    def processor(self, contender: str) -> list[float]:
        """The processor's seconds of each trial, all threads together, until the commit."""
        return [trial.processor for trial in self.trials[contender]]

    def processor_ratio(self, contender: str, to: str = "floor") -> float:
        """The same of the processor's seconds."""
        return median(self.processor(contender)) / median(self.processor(to))

    def ratio(self, contender: str, to: str = "floor", checkpointed: bool = False) -> float:
        """The median of a contender's trials to the median of another's."""
        return median(self.seconds(contender, checkpointed)) / median(self.seconds(to, checkpointed))


@dataclass(frozen=True)
class Bench:
    """One vault's file, and how often each trial is repeated."""

    path: Path
    size: Size
    repeats: int
    memory: str | None = None

    def measure(self, scenario: Scenario, contenders: list[str], fewer: Mapping[str, int]) -> Figures:
        """Run every contender in turn, `repeats` times over, or as often as `fewer` says."""
        figures = Figures(scenario.name)
        rows = delivery(self.size, scenario)
        restored = self._restored(scenario, rows, figures)
        for repeat in range(self.repeats):
            for contender in contenders:
                if repeat >= fewer.get(contender, self.repeats):
                    continue
                with self.staged(scenario, rows, restored, MUCH if contender in fewer else None) as staged:
                    took = seconds(CONTENDERS[contender], staged)
                    if contender == "cycle":
                        figures.staging.append(staged.staging)
                figures.trials.setdefault(contender, []).append(took)
        return figures

    def _restored(self, scenario: Scenario, rows: pa.Table, figures: Figures) -> pa.Table:
        """Run the cycle once, for the rows that the floor has to write; it warms the file's pages too."""
        with self.staged(scenario, rows, NOTHING) as staged:
            seconds(CONTENDERS["cycle"], staged)
            restored = restored_rows(staged)
            figures.rows = {"staged": rows.num_rows, "restored": restored.num_rows}
            return restored

    @contextmanager
    def staged(
        self, scenario: Scenario, rows: pa.Table, restored: pa.Table, memory: str | None = None
    ) -> Iterator[Staged]:
        """The vault with the scenario's batch staged; as it was before when the block ends."""
        with self.opened(memory) as connection:
            vault = vault_on(connection)
            begun = time.perf_counter()
            stamped = vault.stage("bench", rows, "measured", loaded(self.size.days))
            staging = time.perf_counter() - begun
            if scenario.replayed:
                for _ in vault.finish(stamped.batch):
                    pass
                stamped = vault.stage("bench", rows, "measured")
            is_late = scenario.applied < loaded(self.size.days - 1)
            yield Staged(connection, vault, stamped.batch, restored, is_late, staging)

    @contextmanager
    def opened(self, memory: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """The file, open; what is written to it is thrown away at the end of the block."""
        length = self.path.stat().st_size
        headers = _headers(self.path)
        log = self.path.with_name(self.path.name + ".wal")
        connection = connect(self.path, memory or self.memory)
        try:
            yield connection
        finally:
            connection.close()
            gc.collect()
            log.unlink(missing_ok=True)
            with self.path.open("r+b") as file:
                file.write(headers)
            os.truncate(self.path, length)


def _headers(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEADERS)
