"""The XTS insert: every staged hashdiff of a satellite becomes a fact, whatever the SWITCH says."""

from __future__ import annotations

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.cycle.switch import later_facts, one_row_a_key
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.warehouse import Transaction, Warehouse


def insert_xts(
    warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch, run: str | None = None
) -> StepResult:
    """Log a batch's facts for one satellite; `late_rows` of the result counts its sequence violations."""

    def work(transaction: Transaction, step: Step, asked: Figures | None) -> Figures:
        render = warehouse.renderer.render
        values = {**batch.values(), "record_target": satellite.record_target}
        unique = asked is not None and one_row_a_key(batch, asked.keys_read)
        alone = not later_facts(transaction, warehouse, source, satellite, batch)
        context = {"source": source, "satellite": satellite, "one_row_a_key": unique, "nothing_later": alone}
        inserted = transaction.run(render("load/xts", **context), values)
        if unique and alone:
            return Figures(rows_read=inserted, keys_read=inserted, rows_inserted=inserted)
        (counts,) = transaction.rows(render("load/xts_counts", satellite=satellite, one_row_a_key=unique), values)
        return Figures(
            rows_read=inserted,
            keys_read=int(counts["keys_read"]),
            late_rows=int(counts["late_rows"]),
            late_keys=int(counts["late_keys"]),
            rows_inserted=inserted,
        )

    return run_step(warehouse, batch, step_name("xts", satellite.name), satellite.shape, work, run)
