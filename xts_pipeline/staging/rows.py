"""From a chunk of a delivery to staged rows: values fitted to their types, faults found, hashes made.

All hashes of the pipeline are made here, once, by `hashing`; no SQL makes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xts_pipeline import hashing
from xts_pipeline.errors import DeliveryError
from xts_pipeline.metadata import ColumnType, Hub, SourceModel
from xts_pipeline.staging.columns import Matched
from xts_pipeline.staging.faults import Fault
from xts_pipeline.staging.readers import Chunk
from xts_pipeline.staging.typing import Fitted, fit

APPLIED = pa.timestamp("us")


@dataclass(frozen=True)
class FittedRows:
    """The rows of one chunk in their types; `faults` may name rows that must not be staged."""

    row_numbers: pa.Array
    columns: Mapping[str, pa.Array]  # the staged business columns
    applied: pa.Array  # timestamp[us], UTC without zone
    faults: tuple[Fault, ...]

    def without_faults(self) -> FittedRows:
        """The rows that nothing is wrong with."""
        if not self.faults:
            return self
        bad = pa.array(sorted({fault.row_number for fault in self.faults}), pa.int64())
        good = pc.invert(pc.is_in(self.row_numbers, value_set=bad))
        return FittedRows(
            self.row_numbers.filter(good),
            {name: values.filter(good) for name, values in self.columns.items()},
            self.applied.filter(good),
            (),
        )


def fit_rows(
    source: SourceModel,
    chunk: Chunk,
    matched: Matched,
    types: Mapping[str, ColumnType],
    partition_applied: pa.Scalar | None,
) -> FittedRows:
    """Fit a chunk to its types and find what is wrong with its rows.

    `partition_applied` is the applied timestamp of every row where the source takes it from the partition key.
    """
    faults = list(malformed_faults(chunk))
    columns: dict[str, pa.Array] = {}
    misfits: dict[str, Iterable[int]] = {}
    for name, type_ in types.items():
        fitted = _fitted(source, chunk, matched, name, type_.arrow)
        misfits[name] = fitted.misfits
        faults += _misfits(chunk, name, f"does not fit {type_}", fitted.misfits)
        faults += _unassigned_text(chunk, name, fitted.values)
        columns[name] = fitted.values
    faults += _missing_keys(source, chunk, columns, misfits)
    if partition_applied is not None:
        applied = pa.repeat(partition_applied, chunk.table.num_rows)
    else:
        applied, found = _applied(source, chunk, matched)
        faults += found
    return FittedRows(chunk.row_numbers, columns, applied, tuple(faults))


def _fitted(source: SourceModel, chunk: Chunk, matched: Matched, column: str, target: pa.DataType) -> Fitted:
    """One column in its type; DeliveryError when nothing of what it was delivered as could ever fit."""
    delivered = chunk.table.column(matched.delivered[column])
    declaration = source.declaration
    try:
        return fit(delivered, target, zone=declaration.timezone, ambiguous=declaration.ambiguous_time)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        raise DeliveryError(
            f"source {source.name}: column {column} was delivered as {delivered.type} and cannot be loaded as "
            f"{target}: {error}. Nothing was written."
        ) from error


def malformed_faults(chunk: Chunk) -> tuple[Fault, ...]:
    """A fault for each line of a chunk that is not a row."""
    return tuple(
        Fault(row.row_number, None, "not a row of the file", f"{row.reason}: {row.text[:80]!r}")
        for row in chunk.malformed
    )


def _applied(source: SourceModel, chunk: Chunk, matched: Matched) -> tuple[pa.Array, list[Fault]]:
    declaration = source.declaration
    name = declaration.applied_timestamp
    delivered = chunk.table.column(matched.delivered[name])
    fitted = _fitted(source, chunk, matched, name, APPLIED)
    faults = [*_misfits(chunk, name, "is no applied timestamp", fitted.misfits)]
    for index in pc.indices_nonzero(delivered.is_null()).to_pylist():
        faults.append(_fault(chunk, index, name, "no applied timestamp", "NULL"))
    return fitted.values, faults


def _misfits(chunk: Chunk, column: str, what: str, misfits: Mapping[int, str]) -> Iterator[Fault]:
    for index, reason in misfits.items():
        yield _fault(chunk, index, column, what, reason)


def _unassigned_text(chunk: Chunk, column: str, values: pa.Array) -> Iterator[Fault]:
    if pa.types.is_string(values.type):
        for index in pc.indices_nonzero(hashing.unassigned(values)).to_pylist():
            text = ascii(values[index].as_py())[:80]
            yield _fault(chunk, index, column, "text with code points that Unicode has not assigned", text)


def _missing_keys(
    source: SourceModel, chunk: Chunk, columns: Mapping[str, pa.Array], misfits: Mapping[str, Iterable[int]]
) -> Iterator[Fault]:
    """Rows without a business key, unless the source hangs them on the zero key; and keys with a part missing.

    A part that was delivered and does not fit its type is a fault already.
    """
    for hub in source.hubs:
        named = ", ".join(hub.source_columns)
        nulls = [columns[column].is_null() for column in hub.source_columns]
        nothing = _nothing(hub, columns)
        told = {index for column in hub.source_columns for index in misfits[column]}
        if source.declaration.null_business_key == "refuse":
            for index in _besides(told, nothing):
                yield _fault(chunk, index, named, f"no business key for hub {hub.reference}", "NULL")
        some = nulls[0]
        for null in nulls[1:]:
            some = pc.or_(some, null)
        for index in _besides(told, pc.and_not(some, nothing)):
            yield _fault(chunk, index, named, f"a part of the business key of hub {hub.reference} is missing", "NULL")


def _besides(told: set[int], rows: pa.Array) -> list[int]:
    return [index for index in pc.indices_nonzero(rows).to_pylist() if index not in told]


def _nothing(hub: Hub, columns: Mapping[str, pa.Array]) -> pa.Array:
    """True where every part of a business key is NULL."""
    first, *others = (columns[column].is_null() for column in hub.source_columns)
    for null in others:
        first = pc.and_(first, null)
    return first


def _fault(chunk: Chunk, index: int, column: str, what: str, reason: str) -> Fault:
    return Fault(chunk.row_numbers[index].as_py(), column, what, reason)


def staged_rows(source: SourceModel, batch_id: str, rows: FittedRows) -> pa.Table:
    """The rows as `staged.<source>__rows` takes them, with a hash key a parent, a hashdiff and a record target a
    satellite."""
    declaration = source.declaration
    count = len(rows.row_numbers)

    def constant(value: str | None) -> pa.Array:
        return pa.repeat(pa.scalar(value, pa.string()), count)

    staged: dict[str, pa.Array] = {
        "dv_batch_id": constant(batch_id),
        "dv_row_number": rows.row_numbers,
        "dv_tenant_id": constant(declaration.tenant_id),
        "dv_recordsource": constant(declaration.record_source),
        "dv_applied_timestamp": rows.applied,
        **rows.columns,
        **hash_keys(source, rows.columns),
    }
    for satellite in source.satellites:
        payload = {column: rows.columns[column] for column in satellite.columns}
        staged[satellite.hashdiff] = hashing.hashdiff(payload, algorithm=declaration.hash_algorithm)
        staged[satellite.rectarget] = constant(satellite.record_target)
    return pa.table(staged)


def hash_keys(source: SourceModel, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Staged hash key column: hash keys, of every hub reference and link of a source.

    A hub whose business key is all NULL gets the zero key.
    """
    declaration = source.declaration
    algorithm = declaration.hash_algorithm
    prefix = tuple(part for part in (declaration.tenant_id, declaration.collision_code) if part is not None)
    keys: dict[str, pa.Array] = {}
    business_keys = {
        hub.reference: {column: columns[delivered] for column, delivered in hub.business_key} for hub in source.hubs
    }
    for hub in source.hubs:
        key = hashing.hash_key(business_keys[hub.reference], algorithm=algorithm, prefix=prefix)
        zero = pa.scalar(hashing.zero_key(algorithm), key.type)
        nothing = _nothing(hub, columns)
        keys[hub.staged_hash_key] = pc.if_else(nothing, zero, key) if pc.any(nothing).as_py() else key
    for link in source.links:
        sides = [business_keys[hub.reference] for hub in link.hubs]
        keys[link.staged_hash_key] = hashing.link_hash_key(sides, algorithm=algorithm, prefix=prefix)
    return keys
