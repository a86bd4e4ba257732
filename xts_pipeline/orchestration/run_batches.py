"""The batches a run works on: those of its partitions, in the order of their stamps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from xts_pipeline.cycle import finish_batch
from xts_pipeline.ledger import Batch, batches_by_id, newest_batches, older_open_batches
from xts_pipeline.metadata import SourceModel
from xts_pipeline.vault import Vault

# What travels between the ops of a cycle. Batch id: satellite: normal or assisted; batches in the order of their
# stamps. Plain dicts, so that a run may be re-executed after the code changed.
Verdicts = dict[str, dict[str, str]]


def root_run(run: dg.DagsterRun) -> str:
    """The run that a chain of re-executions began with: a retry resumes the batch that it staged."""
    return run.root_run_id or run.run_id


def batches_of_partitions(vault: Vault, source: SourceModel, partitions: Iterable[str]) -> list[Batch]:
    """The newest batch of each partition, oldest stamp first; NotStagedError names the staging asset."""
    batches = newest_batches(vault.warehouse, source.name, sorted(partitions))
    return sorted(batches, key=lambda batch: batch.load_timestamp)


def batches_of(vault: Vault, verdicts: Verdicts) -> list[Batch]:
    """The batches the SWITCH was asked for, oldest stamp first."""
    return batches_by_id(vault.warehouse, verdicts)


def finish_older(vault: Vault, source: SourceModel, own: Sequence[Batch], run: str) -> list[Batch]:
    """Finish the open batches of other runs that stand before this run's newest; gives those, oldest first.

    Where they stand between the run's own, its own older ones are done on the way: steps go in the order of stamps.
    """
    if not own:
        return []
    own_ids = {batch.batch_id for batch in own}
    others = older_open_batches(vault.warehouse, own[-1], own=own_ids)
    if not others:
        return []
    for batch in [*older_open_batches(vault.warehouse, others[-1]), others[-1]]:
        for _ in finish_batch(vault.warehouse, source, batch, run):
            pass
    return others


def partitions_of_run(tags: Mapping[str, str], registered: Sequence[str]) -> list[str]:
    """The partition keys a run was asked for, by its tags; none for a run without partitions.

    A range goes by the order in which partitions were registered, as everywhere in Dagster.
    """
    if PARTITION_NAME_TAG in tags:
        return [tags[PARTITION_NAME_TAG]]
    if ASSET_PARTITION_RANGE_START_TAG not in tags:
        return []
    first = registered.index(tags[ASSET_PARTITION_RANGE_START_TAG])
    last = registered.index(tags[ASSET_PARTITION_RANGE_END_TAG])
    return sorted(registered[first : last + 1])
