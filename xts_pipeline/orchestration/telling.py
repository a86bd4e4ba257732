"""How an op speaks of the partitions of its run, of which a range has hundreds: what it records, and what it logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

LINES = 20  # in the log, of one thing that is said of every partition of a range


def record(context: dg.AssetExecutionContext, asset: dg.AssetKey, told: Mapping[str, Mapping[str, Any]]) -> None:
    """Attach what is told of each partition of the run to its materialization of an asset.

    `add_asset_metadata` reads all partitions of the range anew for each of them, a cost that grows with their square; a
    range therefore goes where it would put it, once it has agreed to the first.
    """
    (first, metadata), *others = told.items()
    context.add_asset_metadata(metadata, asset, first)
    step = context.op_execution_context.get_step_execution_context()
    accumulated = step._metadata_accumulator
    for partition, metadata in others:
        accumulated = accumulated.with_additional_asset_metadata(asset, partition, metadata)
    step._metadata_accumulator = accumulated


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
