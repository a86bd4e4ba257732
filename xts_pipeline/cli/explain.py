"""`xts load --explain`: what each step of a load cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xts_pipeline.cli.output import print_table, say
from xts_pipeline.ledger import batch_by_id, read_steps
from xts_pipeline.vault import LoadResult, Vault


@dataclass(frozen=True)
class StepCost:
    """One step: milliseconds, rows scanned (None where the engine does not say), rows written."""

    step: str
    verdict: str | None
    milliseconds: int
    rows_scanned: int | None
    rows_written: int


def costs(vault: Vault, result: LoadResult, seconds: float) -> list[StepCost]:
    """The steps of a load in their order, as the ledger has them, behind the staging, which took what is left of
    `seconds`: reading, hashing, stamping, and the commits of the steps."""
    steps = [
        StepCost(
            step.step,
            step.figures.verdict,
            step.figures.milliseconds,
            step.figures.rows_scanned,
            step.figures.rows_written,
        )
        for step in read_steps(vault.warehouse, batch_by_id(vault.warehouse, result.batch_id))
    ]
    in_steps = 0 if result.replayed else sum(step.milliseconds for step in steps)
    rest = max(0, round(1000 * seconds) - in_steps)
    return [StepCost("staging and commits", None, rest, None, result.rows_staged), *steps]


def print_costs(steps: Sequence[StepCost], *, replayed: bool) -> None:
    """Print a line a step; those of a replay cost what they cost when they were done."""
    if replayed:
        say("what the steps cost when they were done:")
    print_table(
        ["step", "branch", "ms", "rows scanned", "rows written"],
        [(step.step, step.verdict, step.milliseconds, step.rows_scanned, step.rows_written) for step in steps],
    )
