"""The order of a cycle: older open batches of the source first, then every step of this one.

A crash is rolled forward by the next cycle of its source, and two overlapping runs come out as if one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from xts_pipeline.cycle.hub import merge_hub
from xts_pipeline.cycle.link import merge_link
from xts_pipeline.cycle.satellite import load_satellite
from xts_pipeline.cycle.step import StepResult
from xts_pipeline.cycle.switch import ASSISTED, switch
from xts_pipeline.cycle.xts import insert_xts
from xts_pipeline.errors import BatchStateError
from xts_pipeline.ledger import Batch, Step, close_batch, older_open_batches, read_steps, utc_now
from xts_pipeline.metadata import SourceModel
from xts_pipeline.warehouse import Warehouse


def run_cycle(warehouse: Warehouse, source: SourceModel, batch: Batch, run: str | None = None) -> Iterator[StepResult]:
    """Finish every older open batch of the source, in stamp order, then do this batch; yields after each step."""
    for older in older_open_batches(warehouse, batch):
        yield from finish_batch(warehouse, source, older, run)
    yield from finish_batch(warehouse, source, batch, run)


def finish_batch(
    warehouse: Warehouse, source: SourceModel, batch: Batch, run: str | None = None
) -> Iterator[StepResult]:
    """Do every step of a batch in order, those that are recorded left alone, and close it; yields after each step."""
    verdicts: dict[str, str] = {}
    for step in read_steps(warehouse, batch):
        if step.is_done:
            result = StepResult(batch, step, step.figures, already_done=True)
        else:
            result = do_step(warehouse, source, batch, step, verdicts, run)
        if step.kind == "switch":
            verdicts[step.subject] = result.figures.verdict or ASSISTED
        yield result
    close_batch(warehouse, batch, utc_now())


def do_step(
    warehouse: Warehouse,
    source: SourceModel,
    batch: Batch,
    step: Step,
    verdicts: dict[str, str],
    run: str | None = None,
) -> StepResult:
    """Do one step of the ledger's list; BatchStateError when what it is about is no longer declared."""
    _refuse_undeclared(source, batch, step)
    if step.kind == "hub":
        hub = next(hub for hub in source.hubs if hub.reference == step.subject)
        return merge_hub(warehouse, source, hub, batch, run)
    if step.kind == "link":
        link = next(link for link in source.links if link.parent.name == step.subject)
        return merge_link(warehouse, source, link, batch, run)
    satellite = source.satellite(step.subject)
    if step.kind == "switch":
        return switch(warehouse, source, satellite, batch, run)
    if step.kind == "xts":
        return insert_xts(warehouse, source, satellite, batch, run)
    return load_satellite(warehouse, source, satellite, batch, verdicts.get(step.subject, ASSISTED), run)


def _refuse_undeclared(source: SourceModel, batch: Batch, step: Step) -> None:
    declared = {
        "hub": {hub.reference for hub in source.hubs},
        "link": {link.parent.name for link in source.links},
    }.get(step.kind, {satellite.name for satellite in source.satellites})
    if step.subject not in declared:
        raise BatchStateError(
            f"batch {batch.batch_id} of source {source.name} (partition {batch.partition_key!r}) is open and has the "
            f"step {step.step} to do, but {step.subject} is no longer declared: declare it again and load once, "
            f"or give the batch up with `xts abandon {batch.batch_id}` if nothing of it was written"
        )
