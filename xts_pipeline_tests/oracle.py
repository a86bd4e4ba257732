"""The timeline rule in plain Python, written apart from the SQL it judges.

Time is an integer day and a state is any value; nothing here knows of hashes, tables or engines.

- `desired` and `stated` answer the question of the invariant: what was true at t, as known at k.
- `rows_to_write` says row by row what an insert-only satellite gains from a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Fact:
    """One staged state of one key: true from `applied`, learned at `load`."""

    applied: int
    load: int
    state: object


@dataclass(frozen=True, order=True)
class Row:
    """One satellite row of one key."""

    applied: int
    load: int
    state: object
    event: str


Batch = dict[int, object]  # of one key: applied -> state
History = Sequence[Batch]  # batches in the order of arrival; the load timestamp is the place in it


def facts_of(history: History) -> list[Fact]:
    return [Fact(applied, load, state) for load, batch in enumerate(history) for applied, state in batch.items()]


def answer(known: Iterable[Fact | Row], valid_at: int, known_at: int) -> object:
    """The state with the greatest (applied, load) among those valid and known; None when there is none."""
    seen = [one for one in known if one.applied <= valid_at and one.load <= known_at]
    return max(seen, key=lambda one: (one.applied, one.load)).state if seen else None


def disagreements(facts: Sequence[Fact], rows: Sequence[Row], loads: int) -> list[tuple[int, int, object, object]]:
    """Every (valid, known) pair at which facts and rows answer differently, with both answers."""
    points = sorted({one.applied for one in (*facts, *rows)})
    wrong = []
    for known_at in range(loads):
        want, have = _winners(facts, known_at), _winners(rows, known_at)
        wanted = stated = None
        for point in points:
            wanted, stated = want.get(point, wanted), have.get(point, stated)
            if wanted != stated:
                wrong.append((point, known_at, wanted, stated))
    return wrong


def _winners(known: Iterable[Fact | Row], known_at: int) -> dict[int, object]:
    winners: dict[int, object] = {}
    newest: dict[int, int] = {}
    for one in known:
        if one.load <= known_at and one.load >= newest.get(one.applied, -1):
            newest[one.applied], winners[one.applied] = one.load, one.state
    return winners


def rows_to_write(history: History) -> list[Row]:
    """The rows a satellite gains from a whole history, batch by batch."""
    rows: list[Row] = []
    for load, batch in enumerate(history):
        if not batch:
            continue
        facts = facts_of(history[: load + 1])
        want, have = _winners(facts, load), _winners(rows, load)
        previous: object = None
        gained = []
        for point in sorted(want):
            corrected = point in have and have[point] != want[point]
            changed = point not in have and want[point] != previous
            if corrected or changed:
                own = batch.get(point) == want[point]
                gained.append(Row(point, load, want[point], "insert" if own else "copy"))
            previous = want[point]
        rows += gained
    return rows


def violations(history: History) -> set[tuple[int, int]]:
    """The (applied, load) of every fact that is older than a fact of its key with an earlier load."""
    found = set()
    newest: int | None = None
    for load, batch in enumerate(history):
        found |= {(applied, load) for applied in batch if newest is not None and applied < newest}
        if batch:
            newest = max(batch) if newest is None else max(newest, *batch)
    return found
