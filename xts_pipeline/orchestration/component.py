"""The component of a source: from its YAML file to its Dagster definitions."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import dagster as dg
from pydantic import BaseModel

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata import Catalog, OperatedSource
from xts_pipeline.metadata.catalog import is_component, read_component, with_absolute_path
from xts_pipeline.orchestration.checks import asset_checks
from xts_pipeline.orchestration.configured import ConfiguredVault
from xts_pipeline.orchestration.cycle_ops import VERDICTS_IO
from xts_pipeline.orchestration.deliveries_schedule import deliveries_schedule
from xts_pipeline.orchestration.deliveries_sensor import deliveries_sensor
from xts_pipeline.orchestration.load_cycle import load_cycle
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.scaffold import XtsSourceScaffolder
from xts_pipeline.orchestration.selection import SourceSelection
from xts_pipeline.orchestration.staging_asset import staging_asset

# One of each a process: definitions of several sources merge only when their resources are the same.
RESOURCES = {"vaults": ConfiguredVault(), VERDICTS_IO: dg.FilesystemIOManager()}


@dg.scaffold_with(XtsSourceScaffolder)
class XtsSource(dg.Component):
    """A source of a Data Vault, loaded right in whatever order its deliveries arrive."""

    def __init__(self, operated: OperatedSource, catalog: Catalog | None = None) -> None:
        self.operated = operated
        self.catalog = catalog or Catalog([operated.declaration])

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """What stands below `attributes:`."""
        return OperatedSource

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What `dg list components` says of it."""
        return dg.ComponentTypeSpec(
            description="A source of a Data Vault whose satellites' timeline is right in any order of arrival.",
            tags=["data vault", "duckdb"],
            produces=["asset", "asset_check", "job", "sensor", "schedule"],
        )

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> XtsSource:
        """Make the component from the attributes that Dagster read, among the other sources of the defs folder."""
        if not isinstance(attributes, OperatedSource):
            raise DeclarationError(f"{context.path}: `attributes:` is missing; the source is declared below it")
        content = {name: getattr(attributes, name) for name in attributes.model_fields_set}
        if attributes.delivery is not None:
            content["delivery"] = attributes.delivery.model_dump(exclude_unset=True)
        operated = OperatedSource(**with_absolute_path(content, context.path))
        catalog = declared_catalog(context.defs_module_path)
        return cls(operated, catalog if operated.source in catalog.sources else None)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of the source."""
        return self.definitions()

    def definitions(self) -> dg.Definitions:
        """The definitions of the source; they need no context."""
        nodes = SourceNodes(self.catalog.source(self.operated.source), self.catalog)
        schedule = self.operated.schedule
        policy = _backfill_policy(self.operated)
        staged = staging_asset(nodes, self.operated, policy)
        cycle = load_cycle(nodes, self.operated, policy)
        job = dg.define_asset_job(
            nodes.job_name,
            selection=SourceSelection(selected_keys=sorted({*staged.keys, *cycle.keys})),
            description=f"Stage and load batches of {nodes.name}.",
        )
        return dg.Definitions(
            assets=[staged, cycle, *nodes.table_specs],
            asset_checks=[asset_checks(nodes, self.operated)],
            jobs=[job],
            sensors=[deliveries_sensor(nodes, self.operated)] if self.operated.is_watchable else [],
            schedules=[deliveries_schedule(nodes, self.operated, schedule)] if schedule else [],
            resources=RESOURCES,
        )


def _backfill_policy(operated: OperatedSource) -> dg.BackfillPolicy | None:
    """None is a run for each partition."""
    return dg.BackfillPolicy.single_run() if operated.backfill == "single_run" else None


def component_files(folder: Path) -> list[Path]:
    """The files below a folder that declare a source, sorted."""
    return [path for path in sorted(folder.rglob("defs.yaml")) if is_component(path)]


def read_components(folder: Path) -> list[XtsSource]:
    """Every source declared below a folder, checked against each other; DeclarationError names file and field."""
    operated = [read_component(path) for path in component_files(folder)]
    catalog = Catalog([source.declaration for source in operated])
    return [XtsSource(source, catalog) for source in operated]


@lru_cache(maxsize=4)
def declared_catalog(folder: Path) -> Catalog:
    """The sources declared below a folder, read once a process."""
    return Catalog([read_component(path).declaration for path in component_files(folder)])
