"""The link merge: one row a combination of business keys, and the first load wins."""

from __future__ import annotations

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Link, SourceModel
from xts_pipeline.warehouse import Transaction, Warehouse


def merge_link(
    warehouse: Warehouse, source: SourceModel, link: Link, batch: Batch, run: str | None = None
) -> StepResult:
    """Merge a batch's combinations of business keys into one link."""

    def work(transaction: Transaction, _step: Step, _asked: Figures | None) -> Figures:
        merge = warehouse.renderer.render("load/link", source=source, link=link)
        inserted = transaction.run(merge, batch.values())
        return Figures(rows_read=batch.rows_staged, rows_inserted=inserted)

    return run_step(warehouse, batch, step_name("link", link.parent.name), link.shape, work, run)
