"""Whether deliveries bring columns that nobody declared: read from what the staging asset recorded of them.

The ledger holds no such columns, since they are kept out of the vault; the materialization of `staged/<source>` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg

from xts_pipeline.orchestration.nodes import SourceNodes

SCHEMA_DRIFT = "schema_drift"
UNDECLARED = "xts/undeclared_columns"  # the metadata that the staging asset writes
DESCRIPTION = (
    "Deliveries bring no columns that the source does not declare. (A declared one that is missing stops the batch.)"
)
ADVICE = (
    "The source delivers more than it did: declare the columns in a satellite (a partition that is delivered again "
    "then fills them), or ask for them to be left out"
)


def drift_of(instance: dg.DagsterInstance, nodes: SourceNodes, partitions: Sequence[str]) -> dg.AssetCheckResult:
    """The undeclared columns of the newest deliveries of some partitions; without partitions, of the newest of all."""
    found = undeclared(instance, nodes, partitions)
    columns = sorted({column for of_partition in found.values() for column in of_partition})
    metadata: dict[str, Any] = {"xts/found": len(columns), "xts/partitions": ", ".join(partitions) or "all"}
    if columns:
        metadata |= {"xts/columns": columns, "xts/advice": ADVICE}
    return dg.AssetCheckResult(
        passed=not columns,
        asset_key=nodes.staged,
        check_name=SCHEMA_DRIFT,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"kept out, since nobody declared it: {', '.join(columns)} ({', '.join(list(found)[:3])})"
        if columns
        else "every delivered column is declared",
        metadata=metadata,
    )


def undeclared(instance: dg.DagsterInstance, nodes: SourceNodes, partitions: Sequence[str]) -> dict[str, list[str]]:
    """Partition: the undeclared columns of its newest delivery, for those that had some."""
    wanted = dg.AssetRecordsFilter(nodes.staged, asset_partitions=list(partitions) or None)
    newest: dict[str, list[str]] = {}
    for record in instance.fetch_materializations(wanted, limit=max(1, 2 * len(partitions))).records:
        made = record.asset_materialization
        if made is not None:
            value: Any = made.metadata.get(UNDECLARED)
            newest.setdefault(made.partition or "", list(value.value) if value is not None else [])
    return {partition: columns for partition, columns in newest.items() if columns}
