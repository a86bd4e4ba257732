"""The satellite loads: normal when the batch is in sequence, assisted when it is not."""

from __future__ import annotations

from dataclasses import replace

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.cycle.switch import ASSISTED, NORMAL, judge_again, one_row_a_key
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse import Transaction, Warehouse, working_on


def loading_statement(
    warehouse: Warehouse, source: SourceModel, satellite: Satellite, batch: Batch, found: Figures, recent: bool = False
) -> Statement:
    """The statement that loads a satellite, by the verdict and the counts that were found of the batch.

    `recent`: a normal load looks for a key's newest state among the recent facts first.
    """
    context = {"source": source, "satellite": satellite, "one_row_a_key": one_row_a_key(batch, found.keys_read)}
    if found.verdict == NORMAL:
        context["recent_facts"] = recent
    return warehouse.renderer.render(f"load/satellite_{found.verdict}", **context)


def load_satellite(
    warehouse: Warehouse,
    source: SourceModel,
    satellite: Satellite,
    batch: Batch,
    verdict: str,
    run: str | None = None,
) -> StepResult:
    """Load one satellite by the SWITCH's verdict, `normal` or `assisted`.

    A normal load asks the SWITCH again in its own transaction: a batch that is out of sequence after all gets the
    assisted load, and the result's verdict says so. The assisted load is right for any batch.
    """

    def work(transaction: Transaction, step: Step, asked: Figures | None) -> Figures:
        judged = judge_again(transaction, warehouse, source, satellite, batch, step, asked, verdict)
        assisted = step.xts_assisted and ASSISTED in {verdict, judged.verdict}
        found = replace(judged, verdict=ASSISTED if assisted else NORMAL)
        values = {**batch.values(), "record_target": satellite.record_target}
        if step.xts_assisted and not assisted:
            values |= transaction.rows(warehouse.renderer.render("control/recent_batch"), values)[0]
        recent = values.get("recent_from") is not None
        inserted = transaction.run(loading_statement(warehouse, source, satellite, batch, found, recent), values)
        if not assisted:
            return replace(found, rows_inserted=inserted)
        counted = warehouse.renderer.render("load/satellite_counts", satellite=satellite)
        (counts,) = transaction.rows(counted, values)
        return replace(
            found,
            rows_inserted=int(counts["rows_inserted"]),
            rows_copied=int(counts["rows_copied"]),
        )

    with working_on(assisted=verdict == ASSISTED):
        return run_step(warehouse, batch, step_name("satellite", satellite.name), satellite.shape, work, run)
