"""What a user declares of one source: the models of the YAML file, and the rules that hold inside one source.

Rules that hold between sources stand in `catalog.py`.
"""

from __future__ import annotations

import re
import zoneinfo
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from xts_pipeline.metadata.types import ColumnType

NAME = re.compile(r"[A-Za-z0-9_]+")
COLUMN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*){0,2}")
MAX_NAME = 255  # the longest identifier and the longest record target


def checked_name(name: str) -> str:
    """A source or table name that Dagster and SQL both carry."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} holds more than letters, digits and underscores: Dagster and SQL carry no other")
    return name


def checked_column(name: str) -> str:
    """A business column name: an SQL identifier outside the reserved `dv_` names."""
    if name.lower().startswith("dv_"):
        raise ValueError(f"{name!r}: names that begin with dv_ are the vault's own; rename the column in the extract")
    if not COLUMN_NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise ValueError(
            f"{name!r} is no column name: a letter or underscore, then letters, digits and underscores; "
            "rename the column in the extract"
        )
    return name


def checked_zone(name: str) -> str:
    """A time zone that the IANA database has."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is no IANA time zone: write one like Europe/Zurich, or UTC") from None
    return name


def _typed_columns(value: Any) -> Any:
    """Accept a list of column names or a mapping of column to type (or to nothing), and give the mapping."""
    if isinstance(value, str):
        raise ValueError(f"write a list, [{value}], or a mapping of column to type")
    if isinstance(value, list | tuple):
        if not all(isinstance(name, str) for name in value):
            raise ValueError(f"write column names, or one mapping of column to type, not {value!r}")
        if repeated := sorted({str(name) for name in value if value.count(name) > 1}):
            raise ValueError(f"column {', '.join(repeated)} is listed twice")
        return dict.fromkeys(value)
    return value


def _parsed_type(value: Any) -> Any:
    return ColumnType.parse(value) if isinstance(value, str) else value


Zone = Annotated[str, AfterValidator(checked_zone)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
# json_schema_input_type: what `dg check yaml` lets a file hold
DeclaredType = Annotated[ColumnType | None, BeforeValidator(_parsed_type, json_schema_input_type=str | None)]
TypedColumns = Annotated[
    dict[str, DeclaredType],
    BeforeValidator(_typed_columns, json_schema_input_type=list[str] | dict[str, str | None]),
]


class Declared(BaseModel):
    """Base of all that is declared: unknown fields are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class HubDeclaration(Declared):
    """A hub this source names the business keys of."""

    hub: Name = Field(description="The hub's name without its prefix: `customer` for the table hub_customer.")
    business_key: TypedColumns = Field(
        min_length=1, description="The business key columns as the hub holds them: a list, or a mapping column: type."
    )
    role: Name | None = Field(
        default=None, description="What this key is to the row, when a source names one hub twice (`referrer`)."
    )
    source_columns: dict[str, str] = Field(
        default_factory=dict, description="Hub column: source column, for those the source names otherwise."
    )

    @field_validator("hub", "role")
    @classmethod
    def _plain(cls, value: str | None) -> str | None:
        if value is not None and value.lower().startswith(("hub_", "lnk_", "sat_")):
            raise ValueError(f"write the name without its prefix: {value[4:]!r}")
        return None if value is None else checked_name(value)

    @model_validator(mode="after")
    def _columns(self) -> HubDeclaration:
        for column in (*self.business_key, *self.source_columns.values()):
            checked_column(column)
        if len({column.lower() for column in self.business_key}) < len(self.business_key):
            raise ValueError("business_key: SQL takes column names that differ in case alone for one")
        if unknown := sorted(set(self.source_columns) - set(self.business_key)):
            raise ValueError(f"source_columns: {', '.join(unknown)} is no business key column of hub {self.hub}")
        if floats := sorted(name for name, of in self.business_key.items() if of is not None and of.kind == "double"):
            raise ValueError(
                f"business key column {', '.join(floats)} is a binary float, which has no exact text: "
                "declare decimal(precision, scale), integer or text"
            )
        return self

    @property
    def reference(self) -> str:
        """What links call this hub: its role, else its name."""
        return self.role or self.hub


class LinkDeclaration(Declared):
    """A link between hubs of this source."""

    link: Name = Field(description="The link's name without its prefix: `customer_account` for lnk_customer_account.")
    hubs: list[Name] = Field(
        min_length=2, description="The hubs (or roles) it joins; their order is part of its hash key."
    )

    @field_validator("link")
    @classmethod
    def _plain(cls, value: str) -> str:
        if value.lower().startswith(("hub_", "lnk_", "sat_")):
            raise ValueError(f"write the name without its prefix: {value[4:]!r}")
        return checked_name(value)


class ParentReference(Declared):
    """The hub or the link that a satellite describes; exactly one of the two."""

    hub: Name | None = Field(default=None, description="The hub it describes, or the role of a hub declared twice.")
    link: Name | None = Field(default=None, description="The link it describes.")

    @model_validator(mode="after")
    def _one(self) -> ParentReference:
        if (self.hub is None) == (self.link is None):
            raise ValueError("name one parent: {hub: <name>} or {link: <name>}")
        return self


class SatelliteDeclaration(Declared):
    """A satellite loaded from this source, and from no other."""

    name: Name = Field(description="The table, and the record target its XTS rows carry: sat_<...>.")
    parent: ParentReference = Field(description="{hub: <name>} or {link: <name>}, declared in this source.")
    columns: TypedColumns = Field(
        min_length=1, description="The business columns: a list, or a mapping column: type. All enter the hashdiff."
    )
    xts_assisted: bool = Field(
        default=True,
        description="Log every hashdiff in the XTS and put late rows in their place; false: standard load.",
    )
    loading_mode: Literal["batch", "kappa"] = Field(default="batch", description="How rows arrive: batch, or kappa.")
    description: str | None = Field(default=None, description="Shown in Dagster.")

    @field_validator("name", mode="before")
    @classmethod
    def _record_target(cls, value: Any) -> Any:
        if isinstance(value, str) and len(value) > MAX_NAME:
            raise ValueError(
                f"the name is the record target of its XTS rows and holds {len(value)} characters: "
                f"dv_rectarget takes {MAX_NAME}; shorten it"
            )
        return value

    @field_validator("name")
    @classmethod
    def _satellite_name(cls, value: str) -> str:
        checked_name(value)
        if not value.startswith("sat_") or value.lower().startswith("sat_xt_"):
            raise ValueError(f"a satellite is named sat_<...> and sat_xt_ is kept for the XTS: not {value!r}")
        return value

    @model_validator(mode="after")
    def _rules(self) -> SatelliteDeclaration:
        for column in self.columns:
            checked_column(column)
        if self.loading_mode == "kappa" and self.xts_assisted:
            raise ValueError(
                "loading_mode kappa has no batch boundary at which to ask the SWITCH: "
                "write xts_assisted: false, or load in batches"
            )
        return self


class DeliveryDeclaration(Declared):
    """Where a batch comes from when the load is not handed one."""

    kind: Literal["file", "query", "table"] | None = Field(
        default=None, description="table: staged by SQL from a table of the warehouse. Left out: by what is named."
    )
    path: str | None = Field(
        default=None, description="A file; {partition} stands for the partition key; relative to the YAML file."
    )
    format: Literal["csv", "parquet", "jsonl"] | None = Field(default=None, description="Left out: by the file's name.")
    delimiter: str = Field(
        default=",", min_length=1, max_length=1, description='What stands between the values of a CSV file: ";", "\\t".'
    )
    url: str | None = Field(
        default=None, description="A SQLAlchemy URL; ${NAME} is read from the environment, where its secrets belong."
    )
    query: str | None = Field(
        default=None, description="The SQL of one batch; :partition is bound to the partition key."
    )

    table: str | None = Field(
        default=None, description="A table or view of the warehouse itself: database.schema.table, or less."
    )
    partition_column: str | None = Field(
        default=None, description="Of the table: its rows with the partition key in this column are the batch."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> DeliveryDeclaration:
        named = {"file": self.path, "query": self.url, "table": self.table}
        given = [kind for kind, value in named.items() if value is not None]
        if len(given) != 1:
            raise ValueError("name a path, or a url with a query, or a table of the warehouse")
        if self.kind not in {None, given[0]}:
            raise ValueError(f"kind: {self.kind} goes with {'url and query' if self.kind == 'query' else self.kind}")
        if self.table is not None and not TABLE_NAME.fullmatch(self.table):
            raise ValueError(f"table: {self.table!r} is no table: write database.schema.table, or less, unquoted")
        if self.partition_column is not None and (
            self.table is None or not COLUMN_NAME.fullmatch(self.partition_column)
        ):
            raise ValueError("partition_column: a column of the table that is named")
        if self.delimiter in '"\r\n\0':
            raise ValueError(f"delimiter: {self.delimiter!r} cannot stand between the values of a CSV file")
        if (self.url is None) != (self.query is None):
            raise ValueError("a url goes with a query, and a query with a url")
        return self


class SourceDeclaration(Declared):
    """One source: its record source, its keys, and the satellites it feeds."""

    source: Name = Field(description="The source's name; staged.<source> holds its batches.")
    record_source: str = Field(min_length=1, max_length=255, description="Written to dv_recordsource of every row.")
    description: str | None = Field(default=None, description="Shown in Dagster.")
    applied_timestamp: Name = Field(
        description="The column that says when a row became true; or `partition`: the date in the partition key."
    )
    timezone: Zone = Field(
        default="UTC", description="IANA zone in which timestamps and dates without one are taken; stored as UTC."
    )
    ambiguous_time: Literal["refuse", "earliest", "latest"] = Field(
        default="refuse", description="What to do with a local time that occurs twice when clocks are set back."
    )
    hubs: list[HubDeclaration] = Field(min_length=1, description="The hubs whose business keys it states.")
    links: list[LinkDeclaration] = Field(default_factory=list, description="The links between them.")
    satellites: list[SatelliteDeclaration] = Field(default_factory=list, description="The satellites it feeds.")
    types: dict[str, DeclaredType] = Field(
        default_factory=dict, description="Column: type, for any column of the source not typed elsewhere."
    )
    tie_break: str | None = Field(
        default=None, description="A column; of two states of one key at one applied timestamp its greatest value wins."
    )
    on_error: Literal["stop", "quarantine"] = Field(
        default="stop", description="stop: one bad row stops the batch. quarantine: it goes to control.rejected_row."
    )
    null_business_key: Literal["refuse", "zero_key"] = Field(
        default="refuse", description="refuse: a bad row. zero_key: the row hangs on the zero hash key."
    )
    tenant_id: str | None = Field(default=None, max_length=255, description="Stands first in every hash key.")
    collision_code: str | None = Field(
        default=None, max_length=255, description="Business key collision code: in every hash key, after the tenant."
    )
    hash_algorithm: Literal["sha256", "sha1"] = Field(default="sha256", description="One for the whole vault.")
    delivery: DeliveryDeclaration | None = Field(default=None, description="Where batches come from by default.")

    @field_validator("source")
    @classmethod
    def _source_name(cls, value: str) -> str:
        if value.lower().endswith("__rows"):
            raise ValueError(f"{value!r}: names that end with __rows are kept for the staged tables")
        return checked_name(value)

    @model_validator(mode="after")
    def _consistent(self) -> SourceDeclaration:
        _check_references(self)
        _check_types(self)
        return self

    @property
    def applied_is_partition(self) -> bool:
        """Whether the applied timestamp of a batch is the date in its partition key."""
        return self.applied_timestamp == "partition"


def _check_references(source: SourceDeclaration) -> None:
    """Every hub, role, link and parent that is named is declared, once."""
    references = [hub.reference.lower() for hub in source.hubs]
    for what, names in {
        "hub or role": references,
        "link": [link.link.lower() for link in source.links],
        "satellite": [satellite.name.lower() for satellite in source.satellites],
    }.items():
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"{what} {', '.join(repeated)} is declared twice; give the second hub a role")
    known_hubs = [hub.reference for hub in source.hubs]
    for link in source.links:
        if missing := [hub for hub in link.hubs if hub not in known_hubs]:
            raise ValueError(f"links: {link.link} joins {', '.join(missing)}: declare it under hubs, as hub or role")
        if len(set(link.hubs)) < len(link.hubs):
            raise ValueError(f"links: {link.link} joins a hub to itself: declare the second side with a role")
    known_links = [link.link for link in source.links]
    for satellite in source.satellites:
        parent, known = (
            (satellite.parent.hub, known_hubs) if satellite.parent.hub else (satellite.parent.link, known_links)
        )
        if parent not in known:
            raise ValueError(
                f"satellites: {satellite.name} has the parent {parent}, which this source does not declare; "
                f"declared are: {', '.join([*known_hubs, *known_links])}"
            )


def _check_types(source: SourceDeclaration) -> None:
    """A column has one declared type, whoever declares it; and column names differ by more than case."""
    declared: dict[str, ColumnType] = {}
    spelled: dict[str, str] = {}
    named: list[tuple[str, ColumnType | None]] = [*source.types.items()]
    for hub in source.hubs:
        named += [(hub.source_columns.get(column, column), of) for column, of in hub.business_key.items()]
    for satellite in source.satellites:
        named += satellite.columns.items()
    for name, of in named:
        column = checked_column(name)
        if spelled.setdefault(column.lower(), column) != column:
            raise ValueError(f"column {column} is also spelled {spelled[column.lower()]}: SQL takes them for one")
        if of is not None and declared.setdefault(column, of) != of:
            raise ValueError(f"column {column} is declared {declared[column]} and {of}: declare it once")
    if source.tie_break is not None:
        checked_column(source.tie_break)
    used = {column.lower() for column, _ in named[len(source.types) :]} | {source.applied_timestamp.lower()}
    if unused := [column for column in source.types if column.lower() not in used | {(source.tie_break or "").lower()}]:
        raise ValueError(f"types: {', '.join(unused)} is no column that this source loads")
    if source.applied_timestamp in declared and declared[source.applied_timestamp].kind not in {
        "date",
        "timestamp",
        "text",
    }:
        raise ValueError(
            f"applied_timestamp: {source.applied_timestamp} is declared {declared[source.applied_timestamp]}: "
            "it is a date, a timestamp or text that holds one"
        )
