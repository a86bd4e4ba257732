"""The staging asset of a source: the delivery of each partition becomes staged rows with a stamp."""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

from collections.abc import Iterator, Mapping
from typing import Any, cast

import dagster as dg

from xts_pipeline import deliveries
from xts_pipeline.delivery_files import PLACEHOLDER
from xts_pipeline.errors import DeliveryError, XtsError
from xts_pipeline.metadata import OperatedSource, SourceModel
from xts_pipeline.orchestration.evidence import of_batch
from xts_pipeline.orchestration.faults import is_transient, working_vault
from xts_pipeline.orchestration.nodes import KINDS, SourceNodes
from xts_pipeline.orchestration.partial_range import load_without_the_rest
from xts_pipeline.orchestration.query_evidence import of_queries
from xts_pipeline.orchestration.records import Records
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.orchestration.run_batches import root_run
from xts_pipeline.orchestration.telling import Progress, record
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
        dagster_type=cast("dg.DagsterType", dg.Nothing),
    )
    def staged(context: dg.AssetExecutionContext, vaults: VaultResource) -> Iterator[Any]:
        made: dict[str, Stamped] = {}
        faults: dict[str, Exception] = {}
        partitions = sorted(context.partition_keys)
        progress = Progress(context, len(partitions))
        with working_vault(context, vaults, nodes.catalog) as vault:
            for partition in partitions:
                try:
                    made[partition] = stamped = _stage(context, vault, nodes, operated, partition)
                except Exception as fault:
                    if len(partitions) == 1 or is_transient(fault):
                        raise
                    faults[partition] = fault
                    context.log.error(f"{partition}: not staged, the others go on: {fault}")
                else:
                    progress.say(_sentence(partition, stamped))
            told = _told(vault, nodes.source, made, context.run.run_id)
            if faults:
                yield from load_without_the_rest(vault, nodes, told, context.run.run_id)
                raise _some_were_bad(nodes.name, faults, len(made))
            record(context, nodes.staged, told)
        yield dg.Output(None)

    return staged


def _stage(
    context: dg.AssetExecutionContext, vault: Vault, nodes: SourceNodes, operated: OperatedSource, partition: str
) -> Stamped:
    """Stage a partition, and record that its deliveries so far wait no more: those up to what was read."""
    warehouse, name, run = vault.warehouse, nodes.name, root_run(context.run)
    if operated.is_watchable and operated.delivery is not None:
        path = (operated.delivery.path or "").replace(PLACEHOLDER, partition)
        reading = deliveries.begin_reading(warehouse, name, partition, path)
        stamped = vault.stage(name, None, partition, root_run=run)
        if not deliveries.end_reading(warehouse, name, reading, stamped.batch.batch_id):
            context.log.warning(
                f"{partition}: {path} was written to while it was read; what it holds now is a new delivery, which the "
                "sensor or the schedule loads when it finds it: load it by hand where neither is on"
            )
    else:
        number = deliveries.newest_number(warehouse, name, partition)
        stamped = vault.stage(name, None, partition, root_run=run)
        if number:
            deliveries.mark_staged(warehouse, name, partition, number, stamped.batch.batch_id)
    return stamped


def _some_were_bad(source: str, faults: Mapping[str, Exception], good: int, shown: int = 5) -> DeliveryError:
    """What is wrong with which partitions of a range, and what to do; its cause is the first that is not the data's."""
    told = [f"{partition}: {fault}" for partition, fault in list(faults.items())[:shown]]
    if len(faults) > shown:
        told.append(f"and {len(faults) - shown} more: {', '.join(list(faults)[shown:])}"[:2000])
    error = DeliveryError(
        f"source {source}: {len(faults)} of {len(faults) + good} partitions cannot be staged; the other {good} are "
        "loaded. Mend these and re-execute the run from failure, or load them alone:\n" + "\n".join(told)
    )
    error.__cause__ = next((fault for fault in faults.values() if not isinstance(fault, XtsError)), None)
    return error


def _told(vault: Vault, source: SourceModel, made: Mapping[str, Stamped], run: str) -> dict[str, dict[str, Any]]:
    """By partition, what is told of its staging."""
    batches = sorted((stamped.batch for stamped in made.values()), key=lambda batch: batch.load_timestamp)
    records = Records(vault, batches, run)
    return {partition: _metadata(records, source, stamped) for partition, stamped in made.items()}


def _metadata(records: Records, source: SourceModel, stamped: Stamped) -> dict[str, Any]:
    return {
        **of_batch(stamped.batch),
        "xts/rows_rejected": stamped.batch.rows_rejected,
        "xts/replayed": not stamped.is_new,
        "xts/undeclared_columns": list(stamped.undeclared_columns),
        "xts/delivery": _delivery(source, stamped.batch.partition_key),
        "dagster/row_count": stamped.batch.rows_staged,
        **of_queries(records, stamped.batch, [STAGING]),
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
