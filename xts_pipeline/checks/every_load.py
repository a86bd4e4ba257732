"""The timeline invariant as the vault knew it after each load: has any answer that was given before changed since?"""

from __future__ import annotations

from xts_pipeline.checks.check import ROWS_SHOWN, CheckResult, count
from xts_pipeline.checks.timeline import timeline_invariant
from xts_pipeline.ledger import all_batches
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.warehouse import Row, Warehouse


def invariant_at_every_load(warehouse: Warehouse, source: SourceModel, satellite: Satellite) -> CheckResult:
    """Ask the invariant as of the load timestamp of every batch of the source that is done, oldest first.

    What is known changes with loads alone, so that no other moment can differ. Rows carry `dv_known_at` (UTC). Costs a
    whole check a load.
    """
    stamps = sorted(
        batch.load_timestamp
        for batch in all_batches(warehouse)
        if batch.source == source.name and batch.is_done and not batch.is_empty
    )
    found, wrong = 0, 0
    rows: list[Row] = []
    failed: CheckResult | None = None
    for stamp in stamps:
        result = timeline_invariant(source, satellite, stamp).run(warehouse)
        if not result.passed:
            failed = failed or result
            found, wrong = found + result.found, wrong + 1
            rows += [{"dv_known_at": stamp, **row} for row in result.rows]
    told = f"{satellite.name} and {satellite.parent.xts_table}"
    if failed is None:
        summary = f"{told} say the same at every point, as known after each of {count(len(stamps), 'load')}"
        return CheckResult(True, 0, (), summary, "")
    summary = f"{told} disagree at {count(found, 'point')}, as known after {wrong:,} of {count(len(stamps), 'load')}"
    return CheckResult(False, found, tuple(rows[:ROWS_SHOWN]), summary, failed.advice)
