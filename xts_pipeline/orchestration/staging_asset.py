"""The staging asset of a source: the delivery of each partition becomes staged rows with a stamp."""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

from typing import Any

import dagster as dg

from xts_pipeline import deliveries
from xts_pipeline.metadata import OperatedSource, SourceModel
from xts_pipeline.orchestration.evidence import of_batch
from xts_pipeline.orchestration.faults import working_vault
from xts_pipeline.orchestration.nodes import KINDS, SourceNodes
from xts_pipeline.orchestration.query_evidence import of_queries
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.orchestration.run_batches import root_run
from xts_pipeline.staging.stamp import STAGING, Stamped
from xts_pipeline.vault import Vault


def staging_asset(
    nodes: SourceNodes, operated: OperatedSource, backfill: dg.BackfillPolicy | None
) -> dg.AssetsDefinition:
    """The asset `staged/<source>`: one batch a partition."""

    @dg.asset(
        key=nodes.staged,
        description=operated.description
        or f"The deliveries of {nodes.name} ({operated.record_source}), one a partition.",
        partitions_def=nodes.batches,
        backfill_policy=backfill,
        group_name=operated.group_name,
        owners=operated.owners,
        kinds=KINDS,
        pool=nodes.pool,
    )
    def staged(context: dg.AssetExecutionContext, vaults: VaultResource) -> None:
        with working_vault(context, vaults, nodes.catalog) as vault:
            for partition in sorted(context.partition_keys):
                stamped = _stage(vault, nodes.source, partition, root_run(context.run))
                metadata = {
                    **_metadata(nodes.source, stamped),
                    **of_queries(vault, stamped.batch, [STAGING]),
                }
                context.add_asset_metadata(metadata, partition_key=partition)
                context.log.info(_sentence(partition, stamped))

    return staged


def _stage(vault: Vault, source: SourceModel, partition: str, run: str) -> Stamped:
    """Stage a partition, and record that its deliveries so far wait no more.

    What is registered before the reading is what the reading is sure to see; a file that changes in between is the
    next delivery.
    """
    declared = source.declaration.delivery
    if declared is not None and declared.path is not None:
        path = declared.path.replace("{partition}", partition)
        deliveries.register_file(vault.warehouse, source.name, partition, path)
    number = deliveries.newest_number(vault.warehouse, source.name, partition)
    stamped = vault.stage(source.name, None, partition, root_run=run)
    if number:
        deliveries.mark_staged(vault.warehouse, source.name, partition, number, stamped.batch.batch_id)
    return stamped


def _metadata(source: SourceModel, stamped: Stamped) -> dict[str, Any]:
    return {
        **of_batch(stamped.batch),
        "xts/rows_rejected": stamped.batch.rows_rejected,
        "xts/replayed": not stamped.is_new,
        "xts/undeclared_columns": list(stamped.undeclared_columns),
        "xts/delivery": _delivery(source, stamped.batch.partition_key),
        "dagster/row_count": stamped.batch.rows_staged,
    }


def _delivery(source: SourceModel, partition: str) -> dg.MetadataValue[Any]:
    """Where the rows came from; of a SQL delivery only the query, since its URL may hold a secret."""
    declared = source.declaration.delivery
    if declared is None:
        return dg.MetadataValue.text("none declared")
    if declared.table is not None:
        return dg.MetadataValue.text(f"table {declared.table}")
    if declared.path is None:
        return dg.MetadataValue.md(f"```sql\n{declared.query}\n```")
    return dg.MetadataValue.path(declared.path.replace("{partition}", partition))


def _sentence(partition: str, stamped: Stamped) -> str:
    batch = stamped.batch
    if not stamped.is_new:
        return f"{partition}: the same rows as batch {batch.batch_id}, load timestamp {batch.load_timestamp}: a replay"
    return f"{partition}: {batch.rows_staged} rows staged as batch {batch.batch_id}, stamped {batch.load_timestamp}"
