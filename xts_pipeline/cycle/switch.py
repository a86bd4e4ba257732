"""The SWITCH: is a batch in sequence for a satellite? It chooses the load, and only saves work.

A batch is out of sequence when some staged row is older than its key's newest point for the record target, or stands at
an existing point whose winning hashdiff is another.
"""

from __future__ import annotations

from collections.abc import Mapping

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse import Transaction, Warehouse

NORMAL = "normal"
ASSISTED = "assisted"


def judge(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch, step: Step
) -> Figures:
    """Ask the SWITCH inside a transaction that is open already.

    Where no known fact stands at or after the batch's earliest applied timestamp, no key is looked for: there is
    nothing that a row could be late for. For a satellite without XTS the verdict is always normal, and the late rows
    are counted against its own rows.
    """
    render, context = warehouse.renderer.render, {"source": source, "satellite": satellite}
    values = {**batch.values(), "record_target": satellite.record_target}
    if not step.xts_assisted:
        return Figures(verdict=NORMAL, **_figures(transaction, render("load/switch_standard", **context), values))
    found = _figures(transaction, render("load/keys_read", **context), values)
    if found["keys_read"] != found["rows_read"]:
        found = _figures(transaction, render("load/states_read", **context), values)
    if later_facts(transaction, warehouse, source, satellite, batch):
        unique = one_row_a_key(batch, found["keys_read"])
        found = _figures(transaction, render("load/switch", **context, one_row_a_key=unique), values)
    out_of_sequence = found.get("late_rows") or found.get("corrected_rows")
    return Figures(verdict=ASSISTED if out_of_sequence else NORMAL, **found)


def _figures(transaction: Transaction, statement: Statement, values: Mapping[str, object]) -> dict[str, int]:
    (row,) = transaction.rows(statement, values)
    return {name: int(value) for name, value in row.items()}


def judge_again(
    transaction: Transaction,
    warehouse: Warehouse,
    source: SourceModel,
    satellite: Satellite,
    batch: Batch,
    step: Step,
    asked: Figures | None,
    verdict: str,
) -> Figures:
    """What the SWITCH says in the transaction of a load, for which all older facts are in the XTS.

    What it found before (`asked`) holds still where the load is assisted anyway, or no fact stands where one could be
    in its way.
    """
    if not step.xts_assisted or asked is None:
        return judge(transaction, warehouse, source, satellite, batch, step)
    if ASSISTED in {verdict, asked.verdict}:
        return asked
    if not later_facts(transaction, warehouse, source, satellite, batch):
        return asked
    return judge(transaction, warehouse, source, satellite, batch, step)


def later_facts(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch
) -> bool:
    """Whether any known fact stands at or after the batch's earliest applied timestamp: if not, no row is late."""
    statement = warehouse.renderer.render("load/later_facts", source=source, satellite=satellite)
    (row,) = transaction.rows(statement, {**batch.values(), "record_target": satellite.record_target})
    return bool(row["later_facts"])


def one_row_a_key(batch: Batch, keys_read: int) -> bool:
    """Whether the SWITCH counted as many keys as the batch has rows: no key is staged twice, and no row overruled."""
    return keys_read == batch.rows_staged


def switch(
    warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch, run: str | None = None
) -> StepResult:
    """Ask the SWITCH for one satellite and record the verdict; one that is recorded is given back as it is."""

    def work(transaction: Transaction, step: Step, _: Figures | None) -> Figures:
        return judge(transaction, warehouse, source, satellite, batch, step)

    return run_step(warehouse, batch, step_name("switch", satellite.name), satellite.shape, work, run)
