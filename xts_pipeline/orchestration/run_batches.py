"""The batches a run works on: those of its partitions, in the order of their stamps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
    ROOT_RUN_ID_TAG,
)

from xts_pipeline.cycle import finish_batch
from xts_pipeline.ledger import (
    Batch,
    batches_by_id,
    closed_batches,
    newest_batches,
    older_open_batches,
    utc_now,
)
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


def finished_for_others(
    vault: Vault, source: SourceModel, own: Sequence[Batch], instance: dg.DagsterInstance, run: dg.DagsterRun
) -> list[Batch]:
    """The batches beside its own that were closed while a run worked, oldest first: no other run tells of them.

    The run counts with the runs it re-executes. Where it has finished the batch of a run that died, what that one had
    finished before it died belongs to it too, and so on: a run that dies has asked no check.
    """
    own_ids = {batch.batch_id for batch in own}
    found: dict[str, Batch] = {}
    waiting, asked = [root_run(run)] if own else [], set()  # without batches of its own it is asked about everything
    while waiting:
        root = waiting.pop()
        asked.add(root)
        for since, until in _worked(instance, root):
            for batch in closed_batches(vault.warehouse, source.name, since, until):
                if batch.batch_id not in own_ids:
                    found[batch.batch_id] = batch
                if batch.root_run and batch.root_run not in {*asked, *waiting}:
                    waiting.append(batch.root_run)
    return sorted(found.values(), key=lambda batch: batch.load_timestamp)


def _worked(instance: dg.DagsterInstance, root: str) -> list[tuple[datetime, datetime]]:
    """From when to when a run and its re-executions worked, UTC; none of a run that the instance does not know."""
    records = [
        *instance.get_run_records(dg.RunsFilter(run_ids=[root])),
        *instance.get_run_records(dg.RunsFilter(tags={ROOT_RUN_ID_TAG: root})),
    ]
    now = utc_now()
    return [
        (
            _utc(record.start_time or record.create_timestamp.timestamp()),
            _utc(record.end_time) if record.end_time else now,
        )
        for record in records
    ]


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


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
