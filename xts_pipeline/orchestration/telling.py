"""How an op speaks of the partitions of its run, of which a range has hundreds: what it records, and what it logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.execution.context.metadata_logging import AssetMetadataHandle, OutputMetadataAccumulator

LINES = 20  # in the log, of one thing that is said of every partition of a range


def record(context: dg.AssetExecutionContext, asset: dg.AssetKey, told: Mapping[str, Mapping[str, Any]]) -> None:
    """Attach what is told of each partition of the run to its materialization of an asset.

    `add_asset_metadata` reads all partitions of the range anew for each of them, a cost that grows with their square.
    Of a range it is asked about the first alone; the others are put where it puts that.
    """
    first = next(iter(told))
    context.add_asset_metadata(told[first], asset, first)
    if len(told) > 1:
        step = context.op_execution_context.get_step_execution_context()
        recorded = dict(step._metadata_accumulator.per_output_metadata)
        for partition, metadata in told.items():
            recorded[AssetMetadataHandle(asset_key=asset, partition_key=partition)] = metadata
        step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=recorded)


class Progress:
    """What is said in the log of one partition after the other: of every one, or in a long range of some."""

    def __init__(self, context: dg.AssetExecutionContext, partitions: int) -> None:
        self._context = context
        self._partitions = partitions
        self._done = 0

    def say(self, sentence: str) -> None:
        """Say this of the next partition, when it is its turn."""
        self._done += 1
        if self._partitions <= LINES:
            self._context.log.info(sentence)
        elif self._done * LINES // self._partitions > (self._done - 1) * LINES // self._partitions:
            self._context.log.info(f"{self._done} of {self._partitions}: {sentence}")
