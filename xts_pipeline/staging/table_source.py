"""A `kind: table` delivery: rows that are in the warehouse already are staged and hashed there, by SQL alone.

The canonical rule is followed as far as SQL can: business keys are upper-cased in ASCII and refused when they hold
anything else, text is taken to be in NFC, and a binary float has no text. A sample of every batch is hashed again by
`hashing`, the one place that knows the whole rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from xts_pipeline import hashing
from xts_pipeline.errors import DeliveryError
from xts_pipeline.metadata import ColumnType, SourceModel
from xts_pipeline.staging.readers import TableDelivery
from xts_pipeline.staging.rows import hash_keys
from xts_pipeline.warehouse import Row, Transaction, Warehouse

SAMPLED = 200  # rows a batch that are hashed again
TIMESTAMP = ColumnType("timestamp")
OUTSIDE = "lies outside the years 1 to 9999"
TypedColumn = tuple[str, ColumnType]


@dataclass(frozen=True)
class Hash:
    """A staged hash column and the columns it is made of, in the order of the canonical rule."""

    name: str
    columns: tuple[TypedColumn, ...]
    business_key: bool
    zero_when_null: bool = False


@dataclass(frozen=True)
class TableFault:
    """Something that may be wrong with a row: what is counted, and what is said of it."""

    name: str
    kind: str  # missing, partial, foreign, inexact or outside
    columns: tuple[str, ...]
    told: str
    type: ColumnType | None = None


def table_types(source: SourceModel) -> dict[str, ColumnType]:
    """The types of the staged columns, all of them declared; DeliveryError for what SQL alone cannot stage."""
    types = source.declared_types
    if missing := [column for column in source.staged_columns if column not in types]:
        raise DeliveryError(
            f"source {source.name}: a table is staged by SQL, which infers no types: declare those of "
            f"{', '.join(missing)}"
        )
    if floats := [column for column in source.staged_columns if types[column].kind == "double"]:
        raise DeliveryError(
            f"source {source.name}: {', '.join(floats)} is a double, which has no canonical text in SQL: declare a "
            "decimal"
        )
    if source.declaration.timezone != "UTC" or source.declaration.on_error != "stop":
        raise DeliveryError(
            f"source {source.name}: a table is staged with timezone UTC and on_error stop: convert or mend it in a view"
        )
    return {column: types[column] for column in source.staged_columns}


def hashes_of(source: SourceModel, types: Mapping[str, ColumnType]) -> tuple[Hash, ...]:
    """Every staged hash: hash keys of hubs and links, then hashdiffs."""

    def typed(columns: Sequence[str]) -> tuple[TypedColumn, ...]:
        return tuple((column, types[column]) for column in columns)

    zero = source.declaration.null_business_key == "zero_key"
    hubs = [Hash(hub.staged_hash_key, typed(hub.source_columns), True, zero) for hub in source.hubs]
    links = [
        Hash(link.staged_hash_key, typed([column for hub in link.hubs for column in hub.source_columns]), True)
        for link in source.links
    ]
    diffs = [
        Hash(sat.hashdiff, typed(sorted(sat.columns, key=lambda name: (name.lower(), name))), False)
        for sat in source.satellites
    ]
    return (*hubs, *links, *diffs)


def table_context(source: SourceModel, delivery: TableDelivery, types: Mapping[str, ColumnType]) -> dict[str, object]:
    """What `staged/from_table` is rendered with."""
    declaration = source.declaration
    return {
        "source": source,
        "table": delivery.table,
        "partition_column": delivery.partition_column,
        "applied": None if declaration.applied_is_partition else declaration.applied_timestamp,
        "columns": tuple(types.items()),
        "hashes": hashes_of(source, types),
        "algorithm": declaration.hash_algorithm,
    }


def faults_of(source: SourceModel, types: Mapping[str, ColumnType]) -> tuple[TableFault, ...]:
    """What is counted before a table is staged."""
    declaration = source.declaration
    found: list[tuple[str, tuple[str, ...], str, ColumnType | None]] = []
    if not declaration.applied_is_partition:
        column = declaration.applied_timestamp
        found.append(("missing", (column,), f"no applied timestamp in {column}", None))
        found.append(("outside", (column,), f"{column} {OUTSIDE}", TIMESTAMP))
    for hub in source.hubs:
        named = ", ".join(hub.source_columns)
        if declaration.null_business_key == "refuse":
            found.append(("missing", hub.source_columns, f"no business key for hub {hub.reference} in {named}", None))
        if len(hub.source_columns) > 1:
            found.append(("partial", hub.source_columns, f"a part of the business key {named} is missing", None))
        for column in hub.source_columns:
            if types[column].kind == "text":
                told = f"business key {column} holds more than ASCII, which SQL does not upper-case as Python does"
                found.append(("foreign", (column,), told, None))
    for column, type_ in types.items():
        if type_.kind in {"decimal", "integer"}:
            found.append(("inexact", (column,), f"{column} does not fit {type_} exactly", type_))
        if type_.kind in {"date", "timestamp"}:
            found.append(("outside", (column,), f"{column} {OUTSIDE}", type_))
    return tuple(
        TableFault(f"fault_{place}", kind, columns, told, type_)
        for place, (kind, columns, told, type_) in enumerate(found, start=1)
    )


def stage_table(
    transaction: Transaction,
    warehouse: Warehouse,
    source: SourceModel,
    delivery: TableDelivery,
    types: Mapping[str, ColumnType],
    values: Mapping[str, object],
) -> str:
    """Stage the rows of a table under a batch id; gives their fingerprint.

    `values` binds batch_id, partition and partition_applied. DeliveryError when rows are at fault, or when a sample
    does not hash as in Python; the caller's transaction then takes everything back.
    """
    render = warehouse.renderer.render
    context = table_context(source, delivery, types)
    _refuse_faults(transaction, warehouse, source, delivery, types, values)
    bound = {**values, **constants_of(source)}
    transaction.run(render("staged/from_table", **context), bound)
    sample = render(
        "staged/table_sample", source=source, columns=context["columns"], hashes=context["hashes"], limit=SAMPLED
    )
    _check_sample(source, delivery, types, transaction.rows(sample, bound))
    tie_break = source.declaration.tie_break
    statement = render(
        "staged/table_fingerprint",
        source=source,
        hashes=context["hashes"],
        applied_type=TIMESTAMP,
        tie_breaks=((tie_break, types[tie_break]),) if tie_break else (),
    )
    (sums,) = transaction.rows(statement, bound)
    text = f"table\n{sums['dv_rows']} {sums['dv_low']} {sums['dv_high']}\n{source.load_relevant()}"
    return hashlib.sha256(text.encode()).hexdigest()


def constants_of(source: SourceModel) -> dict[str, object]:
    """What `staged/from_table` binds of the declaration; the prefix of hash keys as canonical text."""
    declaration = source.declaration
    prefix = [part for part in (declaration.tenant_id, declaration.collision_code) if part is not None]
    fields = [
        pa.array([text])
        for text in hashing.canonical_text(pa.array(prefix, pa.string()), business_key=True).to_pylist()
    ]
    joined = hashing.joined_text(fields)[0].as_py() + hashing.SEPARATOR if fields else ""
    targets = {f"record_target_{place}": sat.record_target for place, sat in enumerate(source.satellites, start=1)}
    return {
        "hash_prefix": joined,
        "tenant_id": declaration.tenant_id,
        "record_source": declaration.record_source,
        **targets,
    }


def _refuse_faults(
    transaction: Transaction,
    warehouse: Warehouse,
    source: SourceModel,
    delivery: TableDelivery,
    types: Mapping[str, ColumnType],
    values: Mapping[str, object],
) -> None:
    faults = faults_of(source, types)
    statement = warehouse.renderer.render(
        "staged/table_faults", table=delivery.table, partition_column=delivery.partition_column, faults=faults
    )
    (counts,) = transaction.rows(statement, values)
    if wrong := [f"  {fault.told}: {counts[fault.name]} rows" for fault in faults if counts[fault.name]]:
        raise DeliveryError(
            "\n".join(
                [
                    f"source {source.name}, {delivery.name}: the batch was stopped and nothing was written.",
                    *wrong,
                    "Mend the table, or declare a view of it that leaves these rows out.",
                ]
            )
        )


def _check_sample(
    source: SourceModel, delivery: TableDelivery, types: Mapping[str, ColumnType], rows: Sequence[Row]
) -> None:
    """DeliveryError when SQL and Python differ about a hash."""
    columns = {name: pa.array([row[name] for row in rows], type_.arrow) for name, type_ in types.items()}
    expected = hash_keys(source, columns)
    for satellite in source.satellites:
        payload = {column: columns[column] for column in satellite.columns}
        expected[satellite.hashdiff] = hashing.hashdiff(payload, algorithm=source.declaration.hash_algorithm)
    for name, hashes in expected.items():
        for row, hash_ in zip(rows, hashes.to_pylist(), strict=True):
            if bytes(row[name]) != hash_:
                held = {column: row[column] for column in types}
                raise DeliveryError(
                    f"source {source.name}, {delivery.name}: {name} made in SQL differs from Python's for the row "
                    f"{held!r}; nothing was written. Text that is not in Unicode NFC is the likely cause: normalise it "
                    "in a view, or load this source from a file"
                )
