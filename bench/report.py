"""Results as people read them, and against the targets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from statistics import median
from typing import Any

from xts_pipeline.cli.output import print_table, say

Results = dict[str, Any]
Line = tuple[object, ...]


def show(results: Results) -> None:
    """Print every table there are figures for."""
    for history in results.get("cycles", []):
        _show_history(history)
    if growth := list(_growth(results.get("cycles", []))):
        columns = ["scenario", "larger history", "x s +checkpoint", "floor and search", "x cpu s", "target"]
        print_table(columns, growth, "ten times the history, same batch")
    if "staging" in results:
        _show_staging(results["staging"])
    if "dagster" in results:
        _show_dagster(results["dagster"])
    if "tools" in results:
        _show_tools(results)
    for order, loads in results.get("extracts", {}).items():
        columns = ["partition", "seconds", "rows", "branch", "inserted", "copied"]
        print_table(
            columns, [tuple(_short(load[name]) for name in columns) for load in loads], f"real extracts, {order}"
        )


TARGETS = {"in sequence": 1.5, "late by 2": 2.5, "replay": 0.3}
GROWTH_TARGETS = {"in sequence": 1.2, "late by 2": 1.5}


def _show_history(history: Results) -> None:
    lines: list[Line] = []
    for each in history["scenarios"]:
        for contender in each["seconds"]:
            if contender != "floor" or each is history["scenarios"][0]:
                lines.append(_line(each, contender))
    title = (
        f"{history['facts']:,} XTS rows ({history['keys']:,} keys, {history['days']} days), batch {history['batch']:,}"
    )
    columns = [
        "scenario",
        "contender",
        "s",
        "x floor",
        "cpu s",
        "x floor, cpu",
        "s +checkpoint",
        "x floor +checkpoint",
        "target",
    ]
    print_table(columns, lines, title)
    peaks = ", ".join(f"{scenario} {peak:.2f} GB" for scenario, peak in history["peak_memory_gb"].items())
    say(f"peak memory of a process that stages and loads: {peaks}")
    for each in history["scenarios"]:
        slower = {name: _times_slower(each, name) for name in ("published", "rebuild") if name in each["seconds"]}
        if slower:
            told = ", ".join(f"{name} {times:.0f}" for name, times in slower.items())
            say(f"{each['scenario']}, times as long as the cycle: {told} (target 25)")
    say(f"a whole load, staging included: {_whole_loads(history)}\n")


def _times_slower(each: Results, contender: str) -> float:
    return median(each["seconds"][contender]) / median(each["seconds"]["cycle"])


def _whole_loads(history: Results) -> str:
    """Seconds of staging a delivery and running its cycle, by scenario."""
    return ", ".join(
        f"{each['scenario']} {median(each['staging_seconds']) + median(each['seconds']['cycle']):.2f} s"
        for each in history["scenarios"]
        if each.get("staging_seconds")
    )


def _line(each: Results, contender: str) -> Line:
    seconds, checkpointed = each["seconds"][contender], each["seconds_with_checkpoint"][contender]
    return (
        each["scenario"],
        contender,
        _short(median(seconds)),
        _short(each["times_the_floor"][contender]),
        _short(median(each["processor_seconds"][contender])),
        _short(each["times_the_floor_processor"][contender]),
        _short(median(checkpointed)),
        _short(each["times_the_floor_with_checkpoint"][contender]),
        TARGETS.get(each["scenario"], "") if contender == "cycle" else "",
    )


def _growth(cycles: list[Results]) -> Iterator[Line]:
    """How many times a cycle grew; and the least that it could have, floor and bare search to the smaller cycle."""
    for one, other in itertools.pairwise(cycles):
        for scenario, target in GROWTH_TARGETS.items():
            found = [_scenario(history, scenario) for history in (one, other)]
            if all("search" in each.get("seconds", {}) for each in found):
                before, after = found
                clock = _checkpointed(before, "cycle")
                least = (_checkpointed(after, "floor") + _checkpointed(after, "search")) / clock
                cpu, later_cpu = (median(each["processor_seconds"]["cycle"]) for each in found)
                grown = f"{one['facts']:,} to {other['facts']:,}"
                later = _checkpointed(after, "cycle")
                yield scenario, grown, _short(later / clock), _short(least), _short(later_cpu / cpu), target


def _scenario(history: Results, name: str) -> Results:
    return next((each for each in history["scenarios"] if each["scenario"] == name), {})


def _checkpointed(each: Results, contender: str) -> float:
    return median(each["seconds_with_checkpoint"][contender])


def _show_staging(staging: Results) -> None:
    lines = [(name, _short(median(seconds))) for name, seconds in staging["seconds"].items()]
    print_table(["way", "s"], lines, f"staging {staging['rows']:,} rows by {staging['columns']} columns")
    say(
        f"staging takes {staging['times_reading_and_hashing']:.2f} times reading and hashing once (target 1.2), and "
        f"{staging['times_writing_without_care']:.2f} times reading, hashing twice and writing\n"
    )


def _show_dagster(dagster: Results) -> None:
    say("Dagster", style="bold")
    say(
        f"  one load {dagster['load']:.2f} s, through Dagster {dagster['run']:.2f} s: "
        f"it adds {dagster['overhead']:.2f} s (target 2)"
    )
    say(
        f"  {dagster['partitions']} partitions in one run {dagster['backfill']:.1f} s, their rows as one batch "
        f"{dagster['one_batch']:.1f} s: {dagster['per_partition']:.3f} s a partition above 1.5 times that "
        "(target 0.1)\n"
    )


def _show_tools(results: Results) -> None:
    lines: list[Line] = [
        (tool, each["duckdb"], _short(each["whole"]), _short(each.get("statements")), _short(each["floor"]))
        for tool, each in results["tools"].items()
    ]
    for history in results.get("cycles", []):
        if history["facts"] == results["tools_facts"]:
            own = _scenario(history, "in sequence")["seconds"]
            lines.append(
                ("the cycle", results["duckdb"], _short(median(own["cycle"])), None, _short(median(own["floor"])))
            )
    columns = ["tool", "its DuckDB", "whole s", "statements s", "plain write there s"]
    print_table(columns, lines, "the in-sequence batch by other tools")


def _short(value: object) -> object:
    return round(value, 3) if isinstance(value, float) else value
