"""The satellite loads: normal when the batch is in sequence, assisted when it is not."""

from __future__ import annotations

from dataclasses import replace

from xts_pipeline.cycle.step import StepResult, run_step
from xts_pipeline.cycle.switch import ASSISTED, NORMAL, judge
from xts_pipeline.ledger import Batch, Figures, Step, step_name
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.warehouse import Transaction, Warehouse, working_on


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

    def work(transaction: Transaction, step: Step) -> Figures:
        judged = judge(transaction, warehouse, source, satellite, batch, step)
        assisted = step.xts_assisted and ASSISTED in {verdict, judged.verdict}
        render = warehouse.renderer.render
        template = "load/satellite_assisted" if assisted else "load/satellite_normal"
        values = {**batch.values(), "record_target": satellite.record_target}
        transaction.run(render(template, source=source, satellite=satellite), values)
        (counts,) = transaction.rows(render("load/satellite_counts", satellite=satellite), values)
        return replace(
            judged,
            verdict=ASSISTED if assisted else NORMAL,
            rows_inserted=int(counts["rows_inserted"]),
            rows_copied=int(counts["rows_copied"]),
        )

    with working_on(assisted=verdict == ASSISTED):
        return run_step(warehouse, batch, step_name("satellite", satellite.name), satellite.shape, work, run)
