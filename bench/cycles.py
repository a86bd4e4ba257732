"""The load cycle of every scenario beside its contenders, and what grows with the history."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.contenders import CONTENDERS, seconds
from bench.trials import NOTHING, Bench, Figures
from bench.workload import Size, build_history, delivery, scenarios

SLOW = frozenset({"published", "rebuild"})
COMPARED = ("in sequence", "late by 2")  # the scenarios in which the search and the slow contenders run


@dataclass(frozen=True)
class Cycles:
    """What was measured of one history."""

    size: Size
    figures: list[Figures]
    peak_memory: dict[str, float]  # GB, of a process that does nothing but one scenario's cycle

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values, seconds of each trial included."""
        return {
            "keys": self.size.keys,
            "days": self.size.days,
            "facts": self.size.facts,
            "batch": self.size.batch,
            "peak_memory_gb": self.peak_memory,
            "scenarios": [_scenario(figures) for figures in self.figures],
        }


def _scenario(figures: Figures) -> dict[str, Any]:
    contenders = [name for name in figures.trials if name != "nothing"]
    return {
        "scenario": figures.scenario,
        "rows": figures.rows,
        "staging_seconds": figures.staging,
        "seconds": {name: figures.seconds(name) for name in contenders},
        "seconds_with_checkpoint": {name: figures.seconds(name, checkpointed=True) for name in contenders},
        "processor_seconds": {name: figures.processor(name) for name in contenders},
        "times_the_floor_processor": {name: figures.processor_ratio(name) for name in contenders},
        "times_the_floor": {name: figures.ratio(name) for name in contenders},
        "times_the_floor_with_checkpoint": {name: figures.ratio(name, checkpointed=True) for name in contenders},
    }


def history(folder: Path, size: Size) -> Path:
    """The file of a size, made when it is not there."""
    path = folder / f"bench_{size.name}.duckdb"
    if not path.exists():
        build_history(path, size)
    return path


def measure(folder: Path, size: Size, repeats: int, slow_repeats: int, chosen: frozenset[str] = frozenset()) -> Cycles:
    """The chosen scenarios, or all, on one history; the slow contenders `slow_repeats` times, and none at 0."""
    path = history(folder, size)
    bench = Bench(path, size, repeats)
    found = []
    for scenario in [each for each in scenarios(size) if not chosen or each.name in chosen]:
        slow = list(SLOW) if slow_repeats else []
        beside = ["search", *slow] if scenario.name in COMPARED else []
        figures = bench.measure(scenario, ["nothing", "floor", "cycle", *beside], dict.fromkeys(SLOW, slow_repeats))
        found.append(figures)
        print(f"  {size.facts:,} facts, {_line(figures)}", file=sys.stderr, flush=True)
    peaks = {name: peak_memory(path, size, name) for name in COMPARED}
    return Cycles(size, found, peaks)


def _line(figures: Figures) -> str:
    taken = {name: f"{median(figures.seconds(name)):.2f} s" for name in figures.trials if name != "nothing"}
    return f"{figures.scenario}: " + ", ".join(f"{name} {took}" for name, took in taken.items())


def peak_memory(path: Path, size: Size, scenario: str) -> float:
    """The most memory (GB) that a process of its own takes for staging and loading one scenario."""
    arguments = [str(path), str(size.keys), str(size.days), str(size.batch), scenario]
    done = subprocess.run(
        [sys.executable, "-m", "bench.cycles", *arguments], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def _alone(path: Path, size: Size, name: str) -> None:
    scenario = next(scenario for scenario in scenarios(size) if scenario.name == name)
    with Bench(path, size, 1).staged(scenario, delivery(size, scenario), NOTHING) as staged:
        seconds(CONTENDERS["cycle"], staged)
    print(_peak())


def _peak() -> float:
    """GB; not by getrusage, whose peak a process inherits from the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e6


if __name__ == "__main__":
    _path, *_numbers, _name = sys.argv[1:]
    _alone(Path(_path), Size(*map(int, _numbers)), _name)
