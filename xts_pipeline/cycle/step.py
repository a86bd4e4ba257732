"""One step of a batch: one transaction that serialises its writers, does the work once, and records it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from xts_pipeline.errors import BatchStateError, IntegrityError
from xts_pipeline.ledger import Batch, Figures, Step, record_queries, step_name, step_of, utc_now
from xts_pipeline.locks import lock_step, lock_table
from xts_pipeline.warehouse import Transaction, Warehouse, in_transaction, working_on

Work: TypeAlias = Callable[[Transaction, Step, Figures | None], Figures]  # the last: what the SWITCH found


@dataclass(frozen=True)
class StepResult:
    """A step as it stands in the ledger now; `already_done` when somebody had done it before."""

    batch: Batch
    step: Step
    figures: Figures
    already_done: bool


def run_step(
    warehouse: Warehouse, batch: Batch, name: str, shape: str, work: Work, run: str | None = None
) -> StepResult:
    """Do a step of a batch once, in one transaction, and record what it found and wrote.

    `work` is told what the SWITCH of the step's satellite found, where that is recorded.
    The lock of the step and that of its target table are taken first, so that two writers come one after the other; the
    second finds the step recorded and does nothing. The record is the last statement before the commit: where a table
    is locked as a whole, the steps of all sources meet in the ledger. BatchStateError for an abandoned batch, a step
    the batch does not have, or one staged for another `shape` than is declared now; IntegrityError when an older batch
    of the source has this step still to do.
    """
    render = warehouse.renderer.render
    kind, _, subject = name.partition(":")
    others = {"switch_step": step_name("switch", subject), "xts_step": step_name("xts", subject)}
    values: dict[str, Any] = {**batch.values(), "step": name, **others}

    def once(transaction: Transaction) -> StepResult:
        begun = time.perf_counter()
        values["now"] = utc_now()
        lock_step(transaction, warehouse, batch.source, values)
        step, asked = _checked_step(transaction, warehouse, batch, shape, values)
        if step.is_done:
            return StepResult(batch, step, step.figures, already_done=True)
        if kind != "switch":  # which reads alone
            lock_table(transaction, warehouse, step.target_table, values)
        figures = replace(
            work(transaction, step, asked),
            rows_scanned=transaction.rows_scanned,
            milliseconds=round(1000 * (time.perf_counter() - begun)),
        )
        record_queries(transaction, warehouse, batch.batch_id, name, transaction.queries)
        transaction.run(render("control/record_step"), {**values, **vars(figures), "recorded_by": run})
        return StepResult(batch, step, figures, already_done=False)

    with working_on(run=run, source=batch.source, batch=batch.batch_id, step=name):
        return in_transaction(warehouse, once)


def _checked_step(
    transaction: Transaction, warehouse: Warehouse, batch: Batch, shape: str, values: Mapping[str, Any]
) -> tuple[Step, Figures | None]:
    """The step as the ledger has it, if it is done or may be done now, and what the SWITCH of its satellite found."""
    told = f"batch {batch.batch_id} (partition {batch.partition_key!r})"
    found = transaction.rows(warehouse.renderer.render("control/step_state"), values)
    if all(row["step"] != values["step"] for row in found):
        raise BatchStateError(
            f"{told} was stamped without the step {values['step']}, whose table was declared later: "
            "load the partition again"
        )
    status, waiting = found[0]["batch_status"], found[0]["waiting_batch"]
    steps = {row["step"]: step_of(row) for row in found}
    step, done = steps[values["step"]], {name: of.figures for name, of in steps.items() if of.is_done}
    asked = done.get(values["switch_step"])
    if step.is_done:
        return step, asked
    if status == "abandoned":
        raise BatchStateError(f"{told} was abandoned: load the partition again")
    if step.shape != shape:
        raise BatchStateError(
            f"{told} is open and was staged for {step.subject} as ({step.shape}), declared now is ({shape}): declare "
            "it as it was and load once, which finishes the batch, then change it; or give the batch up with "
            f"`xts abandon {batch.batch_id}` if nothing of it was written"
        )
    if step.kind == "satellite" and step.xts_assisted and values["xts_step"] not in done:
        raise IntegrityError(f"{told}: {step.step} was asked for before its facts are in the XTS")
    if step.kind in {"xts", "satellite"} and waiting:
        raise IntegrityError(
            f"{told}: {step.step} comes after that of the older open batch {waiting} of the source, which is not done"
        )
    return step, asked
