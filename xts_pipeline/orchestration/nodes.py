"""The nodes of the asset graph: which asset stands for which table of a source, and what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import dagster as dg

from xts_pipeline.metadata import Catalog, Hub, Link, Parent, Satellite, SourceModel

KINDS = {"duckdb", "datavault"}


@dataclass(frozen=True)
class SourceNodes:
    """The assets of one source, among all that are declared."""

    source: SourceModel
    catalog: Catalog  # every source of the vault, this one too

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.name

    @property
    def job_name(self) -> str:
        """The job that stages and loads batches of the source."""
        return f"load_{self.name}"

    @property
    def pool(self) -> str:
        """The pool of its ops, whose limit of 1 lets one run of the source in at a time where runs go side by side."""
        return f"xts_{self.name}"

    @cached_property
    def batches(self) -> dg.DynamicPartitionsDefinition:
        """A partition is a batch: its key is the delivery's name."""
        return dg.DynamicPartitionsDefinition(name=f"{self.name}_batches")

    @property
    def staged(self) -> dg.AssetKey:
        """The staging asset."""
        return dg.AssetKey(["staged", self.name])

    @property
    def switch(self) -> dg.AssetKey:
        """The SWITCH's verdict."""
        return dg.AssetKey([self.name, "xts_switch"])

    def of_table(self, table: str) -> dg.AssetKey:
        """This source's own node of a table that others may load too: an XTS, a hub or a link."""
        return dg.AssetKey([self.name, table])

    def of_satellite(self, satellite: Satellite) -> dg.AssetKey:
        """The one asset of a satellite."""
        return dg.AssetKey(satellite.name)

    @cached_property
    def xts_parents(self) -> tuple[Parent, ...]:
        """The hubs and links whose XTS this source writes: those with a satellite that is XTS assisted."""
        return tuple(dict.fromkeys(satellite.parent for satellite in self.source.satellites if satellite.xts_assisted))

    @cached_property
    def hubs(self) -> dict[str, tuple[Hub, ...]]:
        """Hub table: what the source calls it, more than once where it has roles."""
        hubs: dict[str, tuple[Hub, ...]] = {}
        for hub in self.source.hubs:
            hubs[hub.table] = (*hubs.get(hub.table, ()), hub)
        return hubs

    @property
    def links(self) -> tuple[Link, ...]:
        """The links of the source."""
        return self.source.links

    @cached_property
    def merged(self) -> dict[str, str]:
        """Table that is merged after the satellites: hub or link, in the order of the cycle."""
        return {**dict.fromkeys(self.hubs, "hub"), **{link.table: "link" for link in self.links}}

    @cached_property
    def shared_tables(self) -> tuple[str, ...]:
        """The tables that have a node of their own beside this source's: every XTS, hub and link it writes."""
        return (
            *(parent.xts_table for parent in self.xts_parents),
            *self.merged,
        )

    @cached_property
    def outputs(self) -> dict[str, dg.AssetKey]:
        """Output of the load cycle: its asset, in the order of the cycle."""
        return {
            "xts_switch": self.switch,
            **{parent.xts_table: self.of_table(parent.xts_table) for parent in self.xts_parents},
            **{satellite.name: self.of_satellite(satellite) for satellite in self.source.satellites},
            **{table: self.of_table(table) for table in self.merged},
        }

    @cached_property
    def lineage(self) -> dict[str, set[dg.AssetKey]]:
        """Output of the load cycle: the assets it is made from."""
        satellites = {self.of_satellite(satellite) for satellite in self.source.satellites}
        xts = {parent.xts_table: {self.switch} for parent in self.xts_parents}
        return {
            "xts_switch": {self.staged},
            **xts,
            **{
                satellite.name: {self.switch, self.of_table(satellite.parent.xts_table)}
                if satellite.xts_assisted
                else {self.switch}
                for satellite in self.source.satellites
            },
            **{table: satellites or {self.switch} for table in self.hubs},
            **{link.table: {self.of_table(hub.table) for hub in link.hubs} for link in self.links},
        }

    def table_node(self, table: str) -> dg.AssetKey:
        """The node of a table itself, spelled as the first source that declares it spells it."""
        return dg.AssetKey(_spelled(self.catalog)[table.lower()][0])

    @cached_property
    def table_specs(self) -> list[dg.AssetSpec]:
        """The nodes of the tables of which this source is the first to declare; each depends on every source's own."""
        return [
            dg.AssetSpec(
                spelling,
                deps=[SourceNodes(model, self.catalog).of_table(table) for model, table in loaders],
                description=f"The table {spelling}, loaded by {', '.join(model.name for model, _ in loaders)}.",
                group_name=self.group_of_table(spelling),
                kinds=KINDS,
            )
            for spelling, loaders in _spelled(self.catalog).values()
            if loaders[0][0].name == self.name
        ]

    def group_of_table(self, table: str) -> str:
        """The group of a table's own node: the name of the hub or link it is about."""
        return table.removeprefix("sat_xt_").removeprefix("hub_").removeprefix("lnk_")


@lru_cache(maxsize=4)
def _spelled(catalog: Catalog) -> dict[str, tuple[str, list[tuple[SourceModel, str]]]]:
    """Table in lower case: its first spelling, and the sources that load it with their own spelling."""
    found: dict[str, tuple[str, list[tuple[SourceModel, str]]]] = {}
    for model in catalog.sources.values():
        for table in SourceNodes(model, catalog).shared_tables:
            found.setdefault(table.lower(), (table, []))[1].append((model, table))
    return found
