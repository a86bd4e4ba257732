"""The tables and columns that follow from a declaration: what the SQL templates and the steps speak of.

Names follow the standard: hub_<name>, lnk_<name>, sat_xt_hub_<name>, dv_hashkey_hub_<name>, dv_hashdiff_<satellite>.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xts_pipeline.metadata.declaration import HubDeclaration, LinkDeclaration, SatelliteDeclaration, SourceDeclaration
from xts_pipeline.metadata.types import ColumnType


@dataclass(frozen=True)
class Parent:
    """A hub or a link as the tables that hang on it see it."""

    kind: str  # "hub" or "lnk"
    name: str

    @property
    def table(self) -> str:
        """hub_<name> or lnk_<name>."""
        return f"{self.kind}_{self.name}"

    @property
    def hash_key(self) -> str:
        """The parent's hash key column, in its own table, its XTS and its satellites."""
        return f"dv_hashkey_{self.table}"

    @property
    def xts_table(self) -> str:
        """The extended record tracking satellite of all its satellites."""
        return f"sat_xt_{self.table}"


@dataclass(frozen=True)
class Hub:
    """A hub as one source names it; two of these may be one table, told apart by their role."""

    parent: Parent
    reference: str
    business_key: tuple[tuple[str, str], ...]  # (column of the hub, column of the source), alphabetical

    @property
    def table(self) -> str:
        """The hub's table."""
        return self.parent.table

    @property
    def shape(self) -> str:
        """What its step was staged for: a batch is finished under the same shape, or not at all."""
        return f"{self.staged_hash_key} of " + ", ".join(
            f"{column} from {source}" for column, source in self.business_key
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The business key columns of the hub."""
        return tuple(column for column, _ in self.business_key)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The business key columns as the source names them, in the order of `columns`."""
        return tuple(column for _, column in self.business_key)

    @property
    def staged_hash_key(self) -> str:
        """The staged column that holds this reference's hash key, and the column of links that point to it."""
        if self.reference == self.parent.name:
            return self.parent.hash_key
        return f"{self.parent.hash_key}_{self.reference}"


@dataclass(frozen=True)
class Link:
    """A link between hubs of one source."""

    parent: Parent
    hubs: tuple[Hub, ...]  # in declared order, which is part of the hash key

    @property
    def table(self) -> str:
        """The link's table."""
        return self.parent.table

    @property
    def shape(self) -> str:
        """What its step was staged for."""
        return f"{self.staged_hash_key} of " + ", ".join(hub.staged_hash_key for hub in self.hubs)

    @property
    def staged_hash_key(self) -> str:
        """The staged column that holds the link's hash key."""
        return self.parent.hash_key


@dataclass(frozen=True)
class Satellite:
    """A satellite, its parent, and the staged columns that speak for it."""

    name: str
    source: str
    parent: Parent
    staged_hash_key: str
    columns: tuple[str, ...]  # declared order
    xts_assisted: bool

    @property
    def table(self) -> str:
        """The satellite's table."""
        return self.name

    @property
    def key(self) -> str:
        """What it hangs on, and by which staged hash key; never changes."""
        return f"{self.parent.table} by {self.staged_hash_key}"

    @property
    def shape(self) -> str:
        """What its steps were staged for."""
        return f"{self.key}: " + ", ".join(sorted(self.columns))

    @property
    def record_target(self) -> str:
        """What the satellite's XTS rows carry in dv_rectarget."""
        return self.name

    @property
    def hashdiff(self) -> str:
        """The staged hashdiff column."""
        return f"dv_hashdiff_{self.name}"

    @property
    def rectarget(self) -> str:
        """The staged record target column; NULL in a row that a tie-break has overruled."""
        return f"dv_rectarget_{self.name}"


class SourceModel:
    """One declared source with everything its load needs to know of names."""

    def __init__(self, declaration: SourceDeclaration) -> None:
        self.declaration = declaration
        self.name = declaration.source
        self.hubs = tuple(_hub(hub) for hub in declaration.hubs)
        by_reference = {hub.reference: hub for hub in self.hubs}
        self.links = tuple(_link(link, by_reference) for link in declaration.links)
        links = {link.parent.name: link for link in self.links}
        self.satellites = tuple(
            _satellite(satellite, declaration.source, by_reference, links) for satellite in declaration.satellites
        )

    @property
    def rows_table(self) -> str:
        """The table of staged rows, stamped or not; the view staged.<source> shows the stamped ones."""
        return f"{self.name}__rows"

    @property
    def staged_hash_keys(self) -> list[str]:
        """The staged hash key columns, one a hub reference and one a link."""
        return [*(hub.staged_hash_key for hub in self.hubs), *(link.staged_hash_key for link in self.links)]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Every column the load takes from a delivery: keys, payload, tie-break and applied timestamp."""
        named: list[str] = [column for hub in self.hubs for column in hub.source_columns]
        named += [column for satellite in self.satellites for column in satellite.columns]
        if self.declaration.tie_break:
            named.append(self.declaration.tie_break)
        if not self.declaration.applied_is_partition:
            named.append(self.declaration.applied_timestamp)
        return tuple(dict.fromkeys(named))

    @cached_property
    def staged_columns(self) -> tuple[str, ...]:
        """The business columns of the staged table; the applied timestamp is there by its own name, and here only
        when a satellite or a key holds it too."""
        named = [column for hub in self.hubs for column in hub.source_columns]
        named += [column for satellite in self.satellites for column in satellite.columns]
        if self.declaration.tie_break:
            named.append(self.declaration.tie_break)
        return tuple(dict.fromkeys(named))

    @cached_property
    def declared_types(self) -> dict[str, ColumnType]:
        """Column of the source: its type, for those that are declared."""
        types = {column: of for column, of in self.declaration.types.items() if of is not None}
        for hub in self.declaration.hubs:
            for column, of in hub.business_key.items():
                if of is not None:
                    types[hub.source_columns.get(column, column)] = of
        for satellite in self.declaration.satellites:
            types |= {column: of for column, of in satellite.columns.items() if of is not None}
        return types

    def satellite(self, name: str) -> Satellite:
        """The satellite of that name; KeyError when this source feeds none."""
        return next(satellite for satellite in self.satellites if satellite.name == name)

    def load_relevant(self) -> str:
        """The part of the declaration that decides what a batch becomes, as text for the fingerprint.

        Types are left out, since they show in the canonical rows, and so is the order in which things are declared,
        except the order of a link's hubs.
        """
        declaration = self.declaration
        parts = [
            *sorted(f"hub {hub.reference}: {hub.shape}" for hub in self.hubs),
            *sorted(f"link {link.table}: {link.shape}" for link in self.links),
            *sorted(f"{sat.name}: {sat.shape}, assisted {sat.xts_assisted}" for sat in self.satellites),
            declaration.applied_timestamp,
            declaration.record_source,
            *map(str, (declaration.tie_break, declaration.tenant_id, declaration.collision_code)),
            declaration.hash_algorithm,
        ]
        return "\n".join(parts)


def _hub(hub: HubDeclaration) -> Hub:
    key = sorted(hub.business_key, key=lambda column: (column.lower(), column))
    return Hub(
        Parent("hub", hub.hub), hub.reference, tuple((column, hub.source_columns.get(column, column)) for column in key)
    )


def _link(link: LinkDeclaration, hubs: dict[str, Hub]) -> Link:
    return Link(Parent("lnk", link.link), tuple(hubs[reference] for reference in link.hubs))


def _satellite(satellite: SatelliteDeclaration, source: str, hubs: dict[str, Hub], links: dict[str, Link]) -> Satellite:
    on: Hub | Link = hubs[satellite.parent.hub] if satellite.parent.hub else links[satellite.parent.link or ""]
    return Satellite(
        name=satellite.name,
        source=source,
        parent=on.parent,
        staged_hash_key=on.staged_hash_key,
        columns=tuple(satellite.columns),
        xts_assisted=satellite.xts_assisted,
    )
