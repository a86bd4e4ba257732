"""The SWITCH: is a batch in sequence for a satellite? It chooses the load, and only saves work.

A batch is out of sequence when some staged row is older than its key's newest point for the record target, or stands at
an existing point whose winning hashdiff is another.
"""

from __future__ import annotations

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.warehouse import Transaction, Warehouse

NORMAL = "normal"
ASSISTED = "assisted"


def judge(
    transaction: Transaction, warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch, step: Step
) -> Figures:
    """Ask the SWITCH inside a transaction that is open already.

    For a satellite without XTS the verdict is always normal, and the late rows are counted against its own rows.
    """
    template = "load/switch" if step.xts_assisted else "load/switch_standard"
    values = {**batch.values(), "record_target": satellite.record_target}
    statement = warehouse.renderer.render(template, source=source, satellite=satellite)
    (row,) = transaction.rows(statement, values)
    found = {name: int(value) for name, value in row.items()}
    out_of_sequence = step.xts_assisted and (found["late_rows"] or found["corrected_rows"])
    return Figures(verdict=ASSISTED if out_of_sequence else NORMAL, **found)


def switch(
    warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch, run: str | None = None
) -> StepResult:
    """Ask the SWITCH for one satellite and record the verdict; one that is recorded is given back as it is."""

    def work(transaction: Transaction, step: Step) -> Figures:
        return judge(transaction, warehouse, source, satellite, batch, step)

    return run_step(warehouse, batch, step_name("switch", satellite.name), satellite.shape, work, run)
