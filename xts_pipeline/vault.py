"""The library's face: open a vault, load deliveries in any order, ask what was true and what was known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pandas as pd

from xts_pipeline import ledger, views
from xts_pipeline.cycle import StepResult, finish_batch, run_cycle
from xts_pipeline.errors import DeliveryError
from xts_pipeline.ledger import Batch, utc_now
from xts_pipeline.metadata import Catalog, SourceDeclaration, SourceModel
from xts_pipeline.staging.making import open_control
from xts_pipeline.staging.readers import Delivery, TableDelivery, open_delivery, open_sql
from xts_pipeline.staging.stage import Progress, checked_partition, stage
from xts_pipeline.staging.stamp import Stamped
from xts_pipeline.staging.tables import known_columns, refuse_orphans, to_be_seeded
from xts_pipeline.warehouse import Warehouse, configured_url, open_warehouse


@dataclass(frozen=True)
class SatelliteResult:
    """What a load did to one satellite. All counts are of rows, except `late_keys`; zero when it was a replay."""

    branch: str  # "normal" or "assisted"
    inserted: int
    copied: int
    violations: int  # staged rows older than a row of their key that came with an earlier load
    late_keys: int
    rows_read: int  # distinct states the batch has for it


@dataclass(frozen=True)
class LoadResult:
    """What a load did. `replayed`: the partition's newest batch held the same rows already, and nothing was written."""

    source: str
    partition: str
    batch_id: str
    load_timestamp: datetime  # UTC, without zone
    replayed: bool
    rows_staged: int
    rows_rejected: int
    undeclared_columns: tuple[str, ...]  # of the delivery; kept out
    satellites: Mapping[str, SatelliteResult]
    hubs: Mapping[str, int]  # table: rows inserted
    links: Mapping[str, int]
    finished: tuple[str, ...]  # partitions of older batches that this load finished


class Vault:
    """A Data Vault whose satellites' timeline is right whatever order the data arrives in."""

    def __init__(self, catalog: Catalog, warehouse: Warehouse, clock: Callable[[], datetime] = utc_now) -> None:
        self.catalog = catalog
        self.warehouse = warehouse
        self._clock = clock

    @classmethod
    def open(
        cls,
        sources: Iterable[Mapping[str, Any] | SourceDeclaration | str | Path],
        warehouse: str | Warehouse | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> Vault:
        """Open a vault, making its control tables when it is new.

        `sources` are dicts or paths of YAML files (see README); `warehouse` is a URL such as `duckdb:///vault.duckdb`
        or `duckdb:///:memory:`, left out: that in $XTS_WAREHOUSE, else `duckdb:///warehouse.duckdb`; `clock` gives UTC
        without zone. DeclarationError for a faulty declaration, BatchStateError when a source with an open batch is
        not among the sources, WarehouseBusyError when another process holds the file.
        """
        catalog = Catalog.read(sources)
        named = configured_url() if warehouse is None else warehouse
        opened = open_warehouse(named) if isinstance(named, str) else named
        try:
            open_control(opened, catalog.hash_algorithm)
            waiting: dict[str, list[str]] = {}
            for batch in ledger.open_batches(opened):
                waiting.setdefault(batch.source, []).append(batch.batch_id)
            refuse_orphans(catalog.sources, waiting)
        except BaseException:
            if opened is not warehouse:
                opened.close()
            raise
        return cls(catalog, opened, clock)

    def load(
        self,
        source: str,
        data: object = None,
        partition: str | None = None,
        load_timestamp: datetime | str | None = None,
        *,
        root_run: str | None = None,
        progress: Progress | None = None,
    ) -> LoadResult:
        """Load one delivery: stage it, finish older open batches of the source, then do its cycle.

        `data` is a DataFrame, an Arrow table, or the path of a CSV, Parquet or JSON lines file; left out, the declared
        delivery is read. Without `partition` the batch is its own partition. `load_timestamp` (UTC when it has no
        zone) is for migration and tests and must be later than every stamp before it (ValueError). A faulty delivery
        raises DeliveryError or ContradictionError and writes nothing.
        """
        stamped = self.stage(source, data, partition, load_timestamp, root_run=root_run, progress=progress)
        replayed = not stamped.is_new and stamped.batch.is_done
        results = list(run_cycle(self.warehouse, self.catalog.source(source), stamped.batch, root_run))
        return _load_result(self.catalog.source(source), stamped, results, replayed)

    def stage(
        self,
        source: str,
        data: object = None,
        partition: str | None = None,
        load_timestamp: datetime | str | None = None,
        *,
        root_run: str | None = None,
        progress: Progress | None = None,
    ) -> Stamped:
        """Stage and stamp one delivery without doing its cycle; arguments and errors as for `load`."""
        model = self.catalog.source(source)
        checked_partition(source, partition)
        self._finish_before_seeding(model)
        return stage(
            self.warehouse,
            model,
            self._delivery(model, data, partition),
            partition,
            root_run=root_run,
            load_timestamp=views.as_utc(load_timestamp, "load_timestamp"),
            clock=self._clock,
            progress=progress,
        )

    def finish(self, batch: Batch) -> Iterator[StepResult]:
        """Do what is left of an open batch, after the older ones of its source; yields after each step."""
        return run_cycle(self.warehouse, self.catalog.source(batch.source), batch)

    def query(self, sql: str) -> pd.DataFrame:
        """Run a query; unqualified names are found in the vault schema. It cannot write."""
        return self.warehouse.query(sql)

    def as_of(
        self, satellite: str, valid_at: datetime | str | None = None, known_at: datetime | str | None = None
    ) -> pd.DataFrame:
        """The state of each key at `valid_at`, as the vault knew it at `known_at`; both UTC, both now when left out.

        One row a key that had a state: business key, the satellite's columns, dv_applied_timestamp, dv_load_timestamp,
        dv_xts_event, dv_recordsource and the hash key. An answer to be published must ask at or before `closed_until`.
        """
        model, declared = self.catalog.satellite(satellite)
        valid = views.as_utc(valid_at, "valid_at") or self._clock()
        with self.warehouse.transaction() as transaction:
            newest = ledger.newest_stamp(transaction, self.warehouse)
            made = known_columns(transaction, self.warehouse).get(declared.table)
        if made is None:
            return pd.DataFrame(columns=[*(key for hub in model.hubs for key in hub.columns), *declared.columns])
        known = views.as_utc(known_at, "known_at") or max(self._clock(), newest or datetime.min)
        there = replace(declared, columns=tuple(column for column in declared.columns if column in made))
        return views.as_of(self.warehouse, model, there, valid, known)

    @property
    def closed_until(self) -> datetime | None:
        """Answers known at or before this load timestamp (UTC) never change; None before the first batch."""
        return ledger.closed_until(self.warehouse)

    def close(self) -> None:
        """Let go of the warehouse."""
        self.warehouse.close()

    def __enter__(self) -> Vault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _finish_before_seeding(self, model: SourceModel) -> None:
        """A satellite that gets an XTS now is seeded from its rows: batches stamped without it must be done first."""
        with self.warehouse.transaction() as transaction:
            if not to_be_seeded(transaction, self.warehouse, model):
                return
        for batch in ledger.open_batches(self.warehouse):
            if batch.source == model.name:
                for _ in finish_batch(self.warehouse, model, batch):
                    pass

    def _delivery(self, model: SourceModel, data: object, partition: str | None) -> Delivery | TableDelivery:
        declared = model.declaration.delivery
        wanted = frozenset(column.lower() for column in model.columns)
        if data is not None:
            if declared is None or not isinstance(data, str | Path):
                return open_delivery(data, wanted=wanted)
            return open_delivery(data, format=declared.format, delimiter=declared.delimiter, wanted=wanted)
        if declared is None:
            raise DeliveryError(f"source {model.name}: pass the data to load, or declare its delivery")
        if declared.table is not None:
            if declared.partition_column is not None and partition is None:
                raise DeliveryError(f"source {model.name}: its rows are found by the partition key: name a partition")
            return TableDelivery(declared.table, declared.partition_column)
        if partition is None and ("{partition}" in (declared.path or "") or ":partition" in (declared.query or "")):
            raise DeliveryError(f"source {model.name}: its delivery is found by the partition key: name a partition")
        if declared.url is not None and declared.query is not None:
            return open_sql(declared.url, declared.query, {"partition": partition})
        path = (declared.path or "").replace("{partition}", partition or "")
        return open_delivery(path, format=declared.format, delimiter=declared.delimiter, wanted=wanted)


def _load_result(model: SourceModel, stamped: Stamped, results: list[StepResult], replayed: bool) -> LoadResult:
    batch = stamped.batch
    own = {result.step.step: result for result in results if result.batch.batch_id == batch.batch_id}
    finished = {result.batch.partition_key for result in results if result.batch.batch_id != batch.batch_id}

    def inserted(kind: str) -> dict[str, int]:
        tables: dict[str, int] = {}
        for result in own.values():
            if result.step.kind == kind:
                rows = 0 if replayed else result.figures.rows_inserted
                tables[result.step.target_table] = tables.get(result.step.target_table, 0) + rows
        return tables

    return LoadResult(
        source=batch.source,
        partition=batch.partition_key,
        batch_id=batch.batch_id,
        load_timestamp=batch.load_timestamp,
        replayed=replayed,
        rows_staged=batch.rows_staged,
        rows_rejected=batch.rows_rejected,
        undeclared_columns=stamped.undeclared_columns,
        satellites={
            satellite.name: _satellite_result(own, satellite.name, replayed)
            for satellite in model.satellites
            if f"satellite:{satellite.name}" in own
        },
        hubs=inserted("hub"),
        links=inserted("link"),
        finished=tuple(sorted(finished)),
    )


def _satellite_result(own: Mapping[str, StepResult], name: str, replayed: bool) -> SatelliteResult:
    loaded = own[f"satellite:{name}"].figures
    if replayed:
        return SatelliteResult(loaded.verdict or "normal", 0, 0, 0, 0, 0)
    logged = own[f"xts:{name}"].figures if f"xts:{name}" in own else loaded
    return SatelliteResult(
        branch=loaded.verdict or "normal",
        inserted=loaded.rows_inserted,
        copied=loaded.rows_copied,
        violations=logged.late_rows,
        late_keys=logged.late_keys,
        rows_read=loaded.rows_read,
    )
