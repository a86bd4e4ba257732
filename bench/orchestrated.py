"""What Dagster adds: a cycle run in process beside the same load without it, and many partitions in one run."""

from __future__ import annotations

import csv
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import dagster as dg
import yaml

from xts_pipeline import Vault
from xts_pipeline.definitions import build_definitions
from xts_pipeline.metadata.catalog import COMPONENT_TYPE
from xts_pipeline.orchestration.component import component_files
from xts_pipeline.orchestration.event_log import EventLog
from xts_pipeline.warehouse import WAREHOUSE_VARIABLE

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
HEADER = ("customer_id", "applied", "city")
FIRST = date(2024, 1, 1)
SOURCE = {
    "source": "daily",
    "record_source": "BENCH",
    "applied_timestamp": "applied",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [{"name": "sat_daily", "parent": {"hub": "customer"}, "columns": {"city": "text"}}],
    "delivery": {"path": "data/{partition}.csv"},
    "backfill": "single_run",
}

EVENT_LOG = {"module": EventLog.__module__, "class": EventLog.__name__}  # as dagster.yaml has it
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}


@dataclass(frozen=True)
class Orchestrated:
    """Seconds, each the median of its repeats except the backfill, which runs once."""

    load: float  # Vault.load of one small delivery, the vault opened for it
    run: float  # the same through Dagster, in process
    partitions: int
    one_batch: float  # all rows of the partitions as one delivery, through Dagster
    backfill: float  # the partitions in one run

    @property
    def overhead(self) -> float:
        """What Dagster adds to a cycle."""
        return self.run - self.load

    @property
    def per_partition(self) -> float:
        """What a partition costs above 1.5 times the one batch."""
        return (self.backfill - 1.5 * self.one_batch) / self.partitions


def measure(partitions: int, keys: int, repeats: int) -> Orchestrated:
    """Load `partitions` daily deliveries of `keys` rows, in the ways that are compared."""
    days = [FIRST + timedelta(days=number) for number in range(partitions)]
    loads = [_load_alone(days[:1], keys) for _ in range(repeats)]
    runs = [_run(days[:1], keys, whole=True) for _ in range(repeats)]
    return Orchestrated(
        load=median(loads),
        run=median(runs),
        partitions=partitions,
        one_batch=_run(days, keys, whole=True),
        backfill=_run(days, keys, whole=False),
    )


def _rows(days: Sequence[date], keys: int) -> Iterator[tuple[str, str, str]]:
    """Every key on every day; a tenth of them moves each day."""
    for day in days:
        for key in range(keys):
            yield f"C{key:06d}", day.isoformat(), f"City {(key + (day - FIRST).days) // 10}"


@contextmanager
def _project(days: Sequence[date], keys: int, whole: bool) -> Iterator[tuple[Path, list[str]]]:
    """A folder with the source and its deliveries, the warehouse it loads into named by the environment."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "defs" / "daily" / "data"
        data.mkdir(parents=True)
        (data.parent / "defs.yaml").write_text(yaml.safe_dump({"type": COMPONENT_TYPE, "attributes": SOURCE}))
        groups = [("all", days)] if whole else [(day.isoformat(), [day]) for day in days]
        for partition, of in groups:
            with (data / f"{partition}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([HEADER, *_rows(of, keys)])
        before = os.environ.get(WAREHOUSE_VARIABLE)
        os.environ[WAREHOUSE_VARIABLE] = f"duckdb:///{folder / 'bench.duckdb'}"
        try:
            yield folder, [partition for partition, _ in groups]
        finally:
            os.environ.pop(WAREHOUSE_VARIABLE)
            if before is not None:
                os.environ[WAREHOUSE_VARIABLE] = before


def _load_alone(days: Sequence[date], keys: int) -> float:
    with _project(days, keys, whole=True) as (folder, _):
        begun = time.perf_counter()
        with Vault.open(list(component_files(folder / "defs")), f"duckdb:///{folder / 'bench.duckdb'}") as vault:
            vault.load("daily", None, "all")
        return time.perf_counter() - begun


def _run(days: Sequence[date], keys: int, whole: bool) -> float:
    """One run of the job over all partitions, whose records Dagster keeps in files as it does for a user."""
    with (
        _project(days, keys, whole) as (folder, partitions),
        dg.DagsterInstance.local_temp(str(folder), overrides={"event_log_storage": EVENT_LOG}) as instance,
    ):
        instance.add_dynamic_partitions("daily_batches", partitions)
        job = build_definitions(folder / "defs").resolve_job_def("load_daily")
        chosen: dict[str, Any] = (
            {"partition_key": "all"}
            if whole
            else {"tags": dict(zip(RANGE, (partitions[0], partitions[-1]), strict=True))}
        )
        begun = time.perf_counter()
        result = job.execute_in_process(instance=instance, run_config=QUIET, **chosen)
        took = time.perf_counter() - begun
        if not result.success:
            raise RuntimeError("the run failed")
        return took
