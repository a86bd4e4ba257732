"""The asset checks: what must hold of every table of a source, asked of the warehouse itself.

Each is a statement of `sql/check/`, about the rows one batch touched or about everything. Checks read only; the
Dagster layer and `xts check` run the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from xts_pipeline.checks.books import ledger_counts, open_batches, rejected_rows
from xts_pipeline.checks.check import ROWS_SHOWN, Check, CheckResult, spoken
from xts_pipeline.checks.every_load import invariant_at_every_load
from xts_pipeline.checks.hashes import hashdiff
from xts_pipeline.checks.keys import (
    ghost_present,
    hubs_of_link,
    keyed,
    parent_of_satellite,
    unique_facts,
    unique_keys,
)
from xts_pipeline.checks.timeline import (
    late_rows,
    lateness,
    sequence_violations,
    timeline_invariant,
    xts_complete,
)
from xts_pipeline.metadata import Satellite, SourceModel

OPEN_BATCH_LIMIT = timedelta(hours=2)  # as a source has it that declares nothing else

__all__ = ["ROWS_SHOWN", "Check", "CheckResult", "checks_of", "invariant_at_every_load", "spoken"]


def checks_of(source: SourceModel, open_batch_limit: timedelta = OPEN_BATCH_LIMIT) -> list[Check]:
    """Every check of one source: those of its batches, of its hubs and links, of their XTS, and of its satellites."""
    parents = {on.table: on.parent for on in keyed(source)}
    checks = [open_batches(source, open_batch_limit), rejected_rows(source)]
    checks += [unique_keys(source, parent.table, parent, (parent.hash_key,)) for parent in parents.values()]
    checks += [unique_facts(source, parent) for parent in parents.values()]
    checks += [hubs_of_link(source, link) for link in source.links]
    for satellite in source.satellites:
        checks += _checks_of_satellite(source, satellite)
    return checks


def _checks_of_satellite(source: SourceModel, satellite: Satellite) -> Iterable[Check]:
    if satellite.xts_assisted:
        yield sequence_violations(source, satellite)
        yield lateness(source, satellite)
        yield timeline_invariant(source, satellite)
        yield xts_complete(source, satellite)
    else:
        yield late_rows(source, satellite)
    key = (satellite.parent.hash_key, "dv_applied_timestamp", "dv_load_timestamp")
    yield unique_keys(source, satellite.table, satellite.parent, key, satellite.name)
    yield parent_of_satellite(source, satellite)
    yield ghost_present(source, satellite)
    yield hashdiff(source, satellite)
    yield ledger_counts(source, satellite)
