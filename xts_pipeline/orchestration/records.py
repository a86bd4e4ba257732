"""What the warehouse has of the batches of a run, read for all of them at once: a range may have hundreds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import accumulate

from xts_pipeline.ledger import Batch, Step, batches_after_recent, queries_by_batch, steps_by_batch
from xts_pipeline.staging.tables import Known, known_columns
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse import QueryRun

Counted = tuple[Sequence[datetime], Sequence[int]]  # load timestamps, and how many rows a table has up to each


@dataclass(frozen=True)
class Records:
    """What is told of batches of one source, in the order of their stamps, as it was when it was first asked for."""

    vault: Vault
    batches: Sequence[Batch]
    run: str  # that tells it
    _counted: dict[str, Counted] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def steps(self) -> Mapping[str, list[Step]]:
        """Batch id: its steps in their order."""
        return steps_by_batch(self.vault.warehouse, self.batches)

    @cached_property
    def queries(self) -> Mapping[str, Mapping[str, list[QueryRun]]]:
        """Batch id: step: its queries."""
        return queries_by_batch(self.vault.warehouse, self.batches)

    @cached_property
    def after_recent(self) -> set[str]:
        """The ids of the batches whose normal loads went by recent facts."""
        return batches_after_recent(self.vault.warehouse, self.batches)

    @cached_property
    def known_columns(self) -> Known:
        """Table: column: type, of every table made so far."""
        with self.vault.warehouse.transaction() as transaction:
            return known_columns(transaction, self.vault.warehouse)

    def row_count(self, batch: Batch, table: str) -> int | None:
        """How many rows a table held when the batch was in it; None while it is not made."""
        if batch.is_empty and not self._is_made(table):
            return None
        if len(self.batches) == 1:
            return self._counted_alone(batch, table)
        if table not in self._counted:
            self._counted[table] = self._counted_by_load(table)
        stamps, rows = self._counted[table]
        at = bisect_right(stamps, batch.load_timestamp)
        return rows[at - 1] if at else 0

    def _is_made(self, table: str) -> bool:
        """An XTS has no business columns to be remembered; it is made with its parent."""
        return table.removeprefix("sat_xt_") in self.known_columns

    def _counted_alone(self, batch: Batch, table: str) -> int:
        warehouse = self.vault.warehouse
        with warehouse.transaction() as transaction:
            counted = transaction.rows(warehouse.renderer.render("monitor/row_count", table=table), batch.values())
        return int(counted[0]["row_count"])

    def _counted_by_load(self, table: str) -> Counted:
        warehouse = self.vault.warehouse
        with warehouse.transaction() as transaction:
            loads = transaction.rows(warehouse.renderer.render("monitor/row_counts", table=table), {})
        return [load["dv_load_timestamp"] for load in loads], list(accumulate(int(load["row_count"]) for load in loads))
