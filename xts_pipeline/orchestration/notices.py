"""What may have to be told: of a check's evaluation, and of whatever else watches over a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from xts_pipeline.metadata import OperatedSource
from xts_pipeline.orchestration.nodes import SourceNodes

WORST_KEYS = 3
RUN_FAILURE = "run_failure"
FRESHNESS = "freshness"
OF_BATCHES = {"sequence_violations", "late_rows", "rejected_rows", "open_batches"}
OF_EVERYTHING = {FRESHNESS, "ghost_present", RUN_FAILURE}  # whatever they are asked about


@dataclass(frozen=True)
class Watched:
    """A source, and who is told what of it."""

    nodes: SourceNodes
    operated: OperatedSource

    @property
    def keys(self) -> set[dg.AssetKey]:
        """The assets that are this source's own."""
        return {self.nodes.staged, *self.nodes.outputs.values()}


@dataclass(frozen=True)
class Notice:
    """One thing that may have to be told."""

    source: str
    check: str
    subject: str  # the asset or job it is about
    severity: str
    passed: bool
    summary: str
    batches: tuple[str, ...] = ()  # each is told once; none: a state, told when it changes
    ends_state: bool = True  # whether passing speaks of everything
    facts: Mapping[str, str] = field(default_factory=dict)  # in words, in their order; no business data
    keys: Sequence[Mapping[str, object]] = ()  # the worst first
    details: str = ""  # what names business keys or values
    run_id: str | None = None
    partitions: tuple[str, ...] = ()  # each has a state of its own; none: the subject has one
    kinds: tuple[str, ...] = ("",)  # what is wrong: a kind that was not told yet is news of a state that lasts
    at: float = 0.0  # when that was so, in seconds: sensors see runs in any order


def notice_of(source: str, evaluation: dg.AssetCheckEvaluation, run_id: str | None = None, at: float = 0.0) -> Notice:
    """What an evaluation has to tell."""
    metadata: dict[str, Any] = {name: value.value for name, value in evaluation.metadata.items()}
    rows = [dict(record.data) for record in getattr(metadata.get("xts/rows"), "records", ())]
    facts = {
        "partition": metadata.get("xts/partitions"),
        "batch": ", ".join(metadata.get("xts/batches") or ()),
        "found": metadata.get("xts/found"),
        "keys": metadata.get("xts/keys"),
        "late by": metadata.get("xts/late_by"),
        "what to do": metadata.get("xts/advice"),
    }
    named = (str(row["dv_batch_id"]) for row in rows if row.get("dv_batch_id"))
    batches = tuple(dict.fromkeys([*(metadata.get("xts/batches") or ()), *named]))
    worst = {row["dv_hashkey"]: row for row in reversed(rows) if "dv_hashkey" in row}  # a key once, by its worst row
    return Notice(
        source,
        evaluation.check_name,
        evaluation.asset_key.to_user_string(),
        evaluation.severity.value,
        evaluation.passed,
        evaluation.description or "",
        batches if evaluation.check_name in OF_BATCHES else (),
        metadata.get("xts/partitions") == "all" or evaluation.check_name in OF_EVERYTHING,
        {name: str(value) for name, value in facts.items() if value},
        [row for row in rows if worst.get(row.get("dv_hashkey")) is row][:WORST_KEYS],
        str(metadata.get("xts/details") or ""),
        run_id,
        kinds=_kinds(metadata, rows),
        at=at,
    )


def _kinds(metadata: Mapping[str, Any], rows: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """What is wrong, told apart: the columns of a drift, why a feed is late, the keys or the loads that are damaged."""
    if columns := metadata.get("xts/columns"):
        return tuple(map(str, columns))
    if state := metadata.get("xts/state"):
        return (f"{state} {metadata.get('xts/reason', '')}".strip(),)
    named = (
        str(row["dv_hashkey"]) if "dv_hashkey" in row else f"{row.get('dv_table')} {row.get('dv_load_timestamp')}"
        for row in rows
    )
    return tuple(dict.fromkeys(named)) or ("",)
