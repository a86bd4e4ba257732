"""What workspace.yaml loads: the definitions of every source declared in `defs/`.

The files are read through the component class directly. Dagster's own loader of the folder imports every registered
package, three seconds in each process; `dg` still finds the same files and the same component there.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from xts_pipeline.errors import DeclarationError
from xts_pipeline.orchestration.component import RESOURCES, XtsSource, read_components
from xts_pipeline.orchestration.watch import operations_definitions

DEFS_FOLDER = Path(__file__).parent / "defs"


def build_definitions(folder: Path) -> dg.Definitions:
    """The definitions of all sources below a folder; DeclarationError names file and field."""
    with _collector_paused():
        own = dg.Definitions(executor=dg.in_process_executor, resources=RESOURCES)
        components = read_components(folder)
        watching = operations_definitions(components)
        merged = dg.Definitions.merge(own, watching, *(_definitions_of(component) for component in components))
        merged.get_repository_def()  # what Dagster asks for next, and keeps: made while the collector rests
        return merged


def _definitions_of(component: XtsSource) -> dg.Definitions:
    """The definitions of one source; DeclarationError names it where Dagster refuses what it declares."""
    try:
        return component.definitions()
    except dg.DagsterError as error:
        raise DeclarationError(f"source {component.operated.source}: Dagster refuses it: {error}") from error


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which takes a third of the time: it looks through hundreds of sources many times."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


defs = build_definitions(DEFS_FOLDER)
gc.freeze()  # what was made stays as long as the process: nothing to look for there
# Python's own 700 looks ten thousand times while Dagster makes its snapshots of many sources
gc.set_threshold(50_000, 20, 20)
