"""`python -m bench`: measure, print tables, write JSON and a picture. `make bench` runs it."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import click
import duckdb

from bench import cycles, environment, extracts, orchestrated, stagings
from bench.report import Results, show
from bench.verify import verify
from bench.workload import Size

SMALL = [Size(20_000, 20, 2_000), Size(200_000, 20, 2_000)]
FULL = [Size(1_000_000, 20, 100_000), Size(10_000_000, 20, 100_000)]
TINY = Size(2_000, 15, 200)  # of which a history written by SQL is held against loads
PARTS = ("cycles", "staging", "dagster", "tools", "extracts")
HERE = Path(__file__).parent


@click.command()
@click.option("--full", is_flag=True, help="20 and 200 million XTS rows; needs 40 GB of disk and an hour.")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Measure these alone; may be repeated.")
@click.option("--history", type=int, help="Measure cycles on this history alone, 1 the smaller, 2 the larger.")
@click.option("--scenario", "chosen", multiple=True, help="Measure cycles in these scenarios alone; may be repeated.")
@click.option("--repeats", type=int, default=5, show_default=True)
@click.option("--slow-repeats", type=int, default=1, show_default=True, help="Of the published SQL and the rebuild.")
@click.option("--work", type=click.Path(file_okay=False, path_type=Path), default=HERE / "work", show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=HERE / "results", show_default=True)
def main(
    full: bool,
    parts: tuple[str, ...],
    history: int | None,
    chosen: tuple[str, ...],
    repeats: int,
    slow_repeats: int,
    work: Path,
    out: Path,
) -> None:
    """Measure what a load cycle costs. Histories are kept in the work folder and taken again."""
    work.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    name = "full" if full else "small"
    kept = out / f"{name}.json"
    results: Results = json.loads(kept.read_text()) if parts and kept.exists() else {}
    results |= {"duckdb": duckdb.__version__, "python": platform.python_version(), "cores": os.cpu_count()}
    verify(TINY)
    for part in parts or PARTS:
        print(f"measuring {part} ...", file=sys.stderr, flush=True)
        sizes = FULL if full else SMALL
        if part == "cycles":
            _measure_cycles(results, sizes, history, frozenset(chosen), (repeats, slow_repeats), work)
        else:
            _measure(part, results, sizes, full, repeats, work)
        kept.write_text(json.dumps(results, indent=1) + "\n")
    show(results)
    if environment.PYTHON.exists() and results.get("cycles"):
        environment.draw(kept, out / f"{name}.png")
    print(f"written to {kept.parent}", file=sys.stderr)


def _measure_cycles(
    results: Results,
    sizes: list[Size],
    history: int | None,
    chosen: frozenset[str],
    repeats: tuple[int, int],
    work: Path,
) -> None:
    """Measure cycles into the results; histories that are not measured now keep what they have there.

    The slow contenders do not run on the largest history: they would take hours.
    """
    known = {each["facts"]: each for each in results.get("cycles", [])}
    for number, size in enumerate(sizes, start=1):
        if history in {None, number}:
            slow = 0 if size.facts > 100_000_000 else repeats[1]
            known[size.facts] = cycles.measure(work, size, repeats[0], slow, chosen).as_json()
    results["cycles"] = [known[facts] for facts in sorted(known)]


def _measure(part: str, results: Results, sizes: list[Size], full: bool, repeats: int, work: Path) -> None:
    """Measure another part into the results."""
    if part == "staging":
        results["staging"] = stagings.measure(work, 5_000_000 if full else 500_000, repeats)
    elif part == "dagster":
        measured = orchestrated.measure(365 if full else 30, 20, repeats)
        results["dagster"] = {
            **asdict(measured),
            "overhead": measured.overhead,
            "per_partition": measured.per_partition,
        }
    elif part == "extracts":
        results["extracts"] = extracts.measure()
    elif environment.PYTHON.exists():
        results["tools"], results["tools_facts"] = environment.measure_tools(sizes[0]), sizes[0].facts
    else:
        print("  left out: `make bench` installs the other tools", file=sys.stderr)


if __name__ == "__main__":
    main()
