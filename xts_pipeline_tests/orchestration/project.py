"""A project of its own for each test: sources in YAML files, their deliveries, a DuckDB file, a Dagster instance."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import yaml

from xts_pipeline import Vault
from xts_pipeline.definitions import build_definitions
from xts_pipeline.metadata.catalog import COMPONENT_TYPE
from xts_pipeline.orchestration.component import component_files

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
Row = Sequence[object]

CASE = {
    "source": "case",
    "record_source": "TEST",
    "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"id": "text"}}],
    "satellites": [
        {"name": "sat_case_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}},
        {"name": "sat_case_mood", "parent": {"hub": "customer"}, "columns": {"mood": "text"}},
    ],
}
HEADER = ("id", "day", "city", "mood")
# Four deliveries that sort by their names, of which the last is late: customer 1 moves away and back.
FOUR: dict[str, list[Row]] = {
    "d1": [(1, "2021-01-01", "SYDNEY", "calm"), (2, "2021-01-01", "PERTH", "calm")],
    "d2": [(1, "2021-01-03", "SYDNEY", "calm"), (2, "2021-01-03", "PERTH", "merry")],
    "d3": [(1, "2021-01-04", "HOBART", "calm"), (2, "2021-01-04", "PERTH", "merry")],
    "d4": [(1, "2021-01-02", "BRISBANE", "calm"), (2, "2021-01-02", "PERTH", "calm")],
}
DAYS = tuple(f"2021-01-{day:02}" for day in range(1, 7))


@dataclass
class Project:
    """Sources below one folder, the warehouse they load into, and the instance that runs them."""

    folder: Path
    instance: dg.DagsterInstance
    sources: list[Mapping[str, Any]] = field(default_factory=list)

    def declare(self, source: Mapping[str, Any], header: Row = HEADER, **deliveries: Iterable[Row]) -> Project:
        """Write a source's defs.yaml and its deliveries."""
        below = self.folder / "defs" / source["source"]
        (below / "data").mkdir(parents=True, exist_ok=True)
        attributes = {**source, "delivery": {"path": "data/{partition}.csv"}}
        (below / "defs.yaml").write_text(yaml.safe_dump({"type": COMPONENT_TYPE, "attributes": attributes}))
        for partition, rows in deliveries.items():
            self.deliver(source["source"], partition, rows, header)
        return self

    def deliver(self, source: str, partition: str, rows: Iterable[Row], header: Row = HEADER) -> None:
        """Write one delivery."""
        with (self.folder / "defs" / source / "data" / f"{partition}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])

    def register(self, source: str, *partitions: str) -> None:
        """Register partitions in this order."""
        self.instance.add_dynamic_partitions(f"{source}_batches", list(partitions))

    @property
    def definitions(self) -> dg.Definitions:
        """Loaded anew, as another process would."""
        return build_definitions(self.folder / "defs")

    def run(self, source: str, partition: str, *, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
        """Run the job of a source for one partition, which is registered when it is new."""
        self.register(source, partition)
        job = self.definitions.resolve_job_def(f"load_{source}")
        return job.execute_in_process(instance=self.instance, partition_key=partition, raise_on_error=raise_on_error)

    def run_range(self, source: str, first: str, last: str) -> dg.ExecuteInProcessResult:
        """Run the job of a source for a range of its partitions, in the order they were registered."""
        job = self.definitions.resolve_job_def(f"load_{source}")
        return job.execute_in_process(instance=self.instance, tags={RANGE_START: first, RANGE_END: last})

    def vault(self) -> Vault:
        """The vault, opened without Dagster."""
        return Vault.open(list(component_files(self.folder / "defs")), f"duckdb:///{self.folder / 'vault.duckdb'}")

    def timeline(self, satellite: str) -> pd.DataFrame:
        """Each key's state on each day, as known now."""
        with self.vault() as vault:
            days = [vault.as_of(satellite, valid_at=f"{day}T12:00:00").assign(on=day) for day in DAYS]
        kept = [name for name in ("on", "id", "city", "mood") if name in days[0]]
        return pd.concat(days)[kept].sort_values(["on", "id"]).reset_index(drop=True)


def materialized(result: dg.ExecuteInProcessResult) -> list[tuple[str, str | None]]:
    """The assets and partitions a run says it made, sorted."""
    found = [event.materialization for event in result.get_asset_materialization_events()]
    return sorted(((each.asset_key.to_user_string(), each.partition) for each in found), key=str)


def metadata_of(result: dg.ExecuteInProcessResult, asset: str, partition: str | None = None) -> dict[str, Any]:
    """The metadata of one materialization."""
    for event in result.get_asset_materialization_events():
        made = event.materialization
        if made.asset_key.to_user_string() == asset and (partition is None or made.partition == partition):
            return {name: value.value for name, value in made.metadata.items()}
    raise AssertionError(f"{asset} of {partition} was not materialized: {materialized(result)}")


def steps_of(result: dg.ExecuteInProcessResult, event_type: str) -> set[str]:
    """The last part of the keys of the steps with such an event."""
    events = [event for event in result.all_events if event.event_type_value == event_type]
    return {str(event.step_key).rpartition(".")[2] for event in events}
