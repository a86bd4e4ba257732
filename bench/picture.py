"""Draws results: the cost of a cycle against the size of the history, and against lateness. Needs matplotlib."""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LATENESS = ("in sequence", "late by 1", "late by 2", "late by 10", "late by half")


def main(results: str, picture: str) -> None:
    """Read a file of results, write a picture."""
    with open(results) as file:
        cycles = json.load(file)["cycles"]
    figure, (by_size, by_lateness) = plt.subplots(1, 2, figsize=(11, 4.2))
    _against_size(by_size, cycles)
    _against_lateness(by_lateness, cycles)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def _seconds(history: dict[str, Any], scenario: str, contender: str) -> float | None:
    for each in history["scenarios"]:
        if each["scenario"] == scenario and contender in each["seconds"]:
            return median(each["seconds"][contender])
    return None


def _against_size(axes: Any, cycles: list[dict[str, Any]]) -> None:
    for scenario, line in (("in sequence", "-"), ("late by 2", "--")):
        for contender in ("floor", "cycle", "published", "rebuild"):
            taken = [(history["facts"], _seconds(history, scenario, contender)) for history in cycles]
            known = [(facts, seconds) for facts, seconds in taken if seconds is not None]
            if known:
                axes.plot(*zip(*known, strict=True), line, marker="o", label=f"{contender}, {scenario}")
    axes.set(xscale="log", yscale="log", xlabel="rows of the XTS", ylabel="seconds", title="Same batch, larger history")
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)


def _against_lateness(axes: Any, cycles: list[dict[str, Any]]) -> None:
    for history in cycles:
        for contender in ("floor", "cycle"):
            seconds = [_seconds(history, scenario, contender) for scenario in LATENESS]
            axes.plot(LATENESS, seconds, marker="o", label=f"{contender}, {history['facts']:,} XTS rows")
    axes.set(ylabel="seconds", title="Later arrivals", ylim=(0, None))
    axes.tick_params(axis="x", labelrotation=20)
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)


if __name__ == "__main__":
    main(*sys.argv[1:3])
