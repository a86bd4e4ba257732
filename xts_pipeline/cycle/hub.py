"""The hub merge: one row a business key, and the first load wins."""

from __future__ import annotations

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Hub, SourceModel
from xts_pipeline.warehouse import Transaction, Warehouse


def merge_hub(warehouse: Warehouse, source: SourceModel, hub: Hub, batch: Batch, run: str | None = None) -> StepResult:
    """Merge a batch's business keys into one hub (of one role, where a source names the hub twice)."""

    def work(transaction: Transaction, _step: Step, _asked: Figures | None) -> Figures:
        merge = warehouse.renderer.render("load/hub", source=source, hub=hub)
        inserted = transaction.run(merge, batch.values())
        return Figures(rows_read=batch.rows_staged, rows_inserted=inserted)

    return run_step(warehouse, batch, step_name("hub", hub.reference), hub.shape, work, run)
