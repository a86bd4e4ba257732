"""A run over a range of partitions of which some cannot be staged: the others are loaded before the run fails.

The staging asset fails, so that the ops after it are not run, and no partition is shown as made that was not. What
they would have done for the others is done here, step by step from the ledger, and recorded on the assets as by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from xts_pipeline.cycle import finish_batch
from xts_pipeline.orchestration import evidence
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.records import Records
from xts_pipeline.orchestration.run_batches import batches_of_partitions, finish_older
from xts_pipeline.vault import Vault


def load_without_the_rest(
    vault: Vault, nodes: SourceNodes, staged: Mapping[str, Mapping[str, Any]], run: str
) -> Iterator[dg.AssetMaterialization]:
    """Load and close the batches of these partitions; yields what is recorded of it on the source's assets.

    `staged`: by partition, what is told of its staging. An op that fails loses what it logged, and not what it yields.
    """
    batches = batches_of_partitions(vault, nodes.source, staged)
    finish_older(vault, nodes.source, batches, run)
    for batch in batches:
        partition = batch.partition_key
        yield dg.AssetMaterialization(nodes.staged, metadata=staged[partition], partition=partition)
        for _ in finish_batch(vault.warehouse, nodes.source, batch, run):
            pass
        for asset, metadata in _loaded(Records(vault, [batch], run), nodes).items():
            yield dg.AssetMaterialization(asset, metadata=metadata, partition=partition)
    for table in nodes.shared_tables if batches else ():
        metadata = evidence.of_table(Records(vault, batches[-1:], run), nodes.source, table)
        yield dg.AssetMaterialization(nodes.table_node(table), metadata=metadata)


def _loaded(records: Records, nodes: SourceNodes) -> dict[dg.AssetKey, dict[str, Any]]:
    """What is told of a batch on each asset of the load cycle, in the order of the cycle."""
    (batch,) = records.batches
    xts = [parent.xts_table for parent in nodes.xts_parents]
    return {
        nodes.switch: evidence.of_switch(records, batch),
        **{nodes.of_table(table): evidence.of_xts(records, batch, table) for table in xts},
        **{
            nodes.of_satellite(satellite): evidence.of_satellite(records, batch, satellite)
            for satellite in nodes.source.satellites
        },
        **{
            nodes.of_table(table): evidence.of_merge(records, batch, kind, table)
            for table, kind in nodes.merged.items()
        },
    }
