"""One step of a batch: one transaction that serialises its writers, does the work once, and records it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xts_pipeline.errors import BatchStateError, IntegrityError
from xts_pipeline.ledger import Batch, Figures, Step, steps_of, utc_now
from xts_pipeline.warehouse import Transaction, Warehouse, in_transaction

Work: TypeAlias = Callable[[Transaction, Step], Figures]


@dataclass(frozen=True)
class StepResult:
    """A step as it stands in the ledger now; `already_done` when somebody had done it before."""

    batch: Batch
    step: Step
    figures: Figures
    already_done: bool


def run_step(warehouse: Warehouse, batch: Batch, name: str, work: Work, run: str | None = None) -> StepResult:
    """Do a step of a batch once, in one transaction, and record what it found and wrote.

    The step's own row and that of its target table are marked first, so that two writers come one after the other; the
    second finds the step recorded and does nothing. BatchStateError for an abandoned batch, or a step the batch does
    not have; IntegrityError when an older batch of the source has this step still to do.
    """
    render = warehouse.renderer.render

    def once(transaction: Transaction) -> StepResult:
        values = {**batch.values(), "step": name, "now": utc_now()}
        transaction.run(render("control/mark_step"), values)
        step = _step(transaction, warehouse, batch, name)
        if step.is_done:
            return StepResult(batch, step, step.figures, already_done=True)
        transaction.run(render("control/mark_target"), {**values, "target_table": step.target_table})
        _refuse_abandoned(transaction, warehouse, batch)
        if step.kind in {"xts", "satellite"}:
            _refuse_out_of_turn(transaction, warehouse, values)
        figures = work(transaction, step)
        record = {**values, **vars(figures), "recorded_by": run}
        transaction.run(render("control/record_step"), record)
        return StepResult(batch, step, figures, already_done=False)

    return in_transaction(warehouse, once)


def _step(transaction: Transaction, warehouse: Warehouse, batch: Batch, name: str) -> Step:
    steps = {step.step: step for step in steps_of(transaction, warehouse, batch)}
    if name not in steps:
        raise BatchStateError(
            f"batch {batch.batch_id} (partition {batch.partition_key!r}) was stamped without the step {name}, whose "
            "table was declared later: load the partition again"
        )
    step = steps[name]
    logged = steps.get(f"xts:{step.subject}")
    if step.kind == "satellite" and step.xts_assisted and not (logged and logged.is_done):
        raise IntegrityError(f"batch {batch.batch_id}: {name} was asked for before its facts are in the XTS")
    return step


def _refuse_abandoned(transaction: Transaction, warehouse: Warehouse, batch: Batch) -> None:
    (row,) = transaction.rows(warehouse.renderer.render("control/batch"), batch.values())
    if row["status"] == "abandoned":
        raise BatchStateError(
            f"batch {batch.batch_id} (partition {batch.partition_key!r}) was abandoned: load the partition again"
        )


def _refuse_out_of_turn(transaction: Transaction, warehouse: Warehouse, values: dict[str, object]) -> None:
    for older in transaction.rows(warehouse.renderer.render("control/step_out_of_turn"), values):
        raise IntegrityError(
            f"{values['step']} of batch {values['batch_id']} comes after that of the older open batch "
            f"{older['batch_id']} (partition {older['partition_key']!r}), which is not done"
        )
