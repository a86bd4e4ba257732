"""Whether the hashdiffs in a satellite are those of its columns: a sample of rows, hashed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from xts_pipeline import hashing
from xts_pipeline.checks.check import (
    ROWS_SHOWN,
    Check,
    CheckResult,
    Finding,
    count,
    passed,
    question,
    readable,
    told_of,
)
from xts_pipeline.ledger import Batch
from xts_pipeline.metadata import ColumnType, Satellite, SourceModel
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.warehouse import Row, Transaction, Warehouse

SAMPLE = 200  # rows; those with the smallest hashdiffs, which is a sample at random and the same each time


@dataclass(frozen=True)
class HashdiffCheck(Check):
    """Asks for rows, and hashes them again by the code that hashed them at staging."""

    model: Satellite = field(kw_only=True, repr=False, compare=False)
    algorithm: hashing.Algorithm = field(kw_only=True, repr=False)

    def ask(self, transaction: Transaction, warehouse: Warehouse, batch: Batch | None) -> Finding:
        """The sampled rows whose hashdiff is another."""
        (asked,) = self.questions
        made = known_columns(transaction, warehouse)[self.model.table]
        types = {column: ColumnType.parse(type_) for column, type_ in made.items()}
        # the columns it has, whatever is declared now: its rows were hashed with those
        asked = replace(asked, context={**asked.context, "columns": tuple(types)})
        statement = asked.statement(warehouse.renderer, batch is not None)
        rows = transaction.rows(statement, {**(batch.values() if batch else {}), **asked.values})
        wrong = mismatches(rows, types, self.algorithm)
        kept = [{name: row[name] for name in row if name not in types} for row in wrong[:ROWS_SHOWN]]
        return Finding(len(wrong), readable(kept), told_of(batch))


def hashdiff(source: SourceModel, satellite: Satellite) -> Check:
    """The hashdiffs of sampled rows are those of their columns."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"the hashdiffs of up to {SAMPLE} sampled rows of {satellite.name} are right{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'sampled row')} of {satellite.name} with another hashdiff than its columns have"
            f"{finding.where}",
            "Columns were changed in place, or rows were written with another hash rule: restore them, since changes "
            "of these keys will be missed or loaded twice",
        )

    return HashdiffCheck(
        "hashdiff",
        satellite.table,
        satellite.name,
        "ERROR",
        f"The hashdiffs of up to {SAMPLE} sampled rows, made again in Python from their columns, are equal.",
        satellite.table,
        (question("hashdiff", source, satellite, sample=SAMPLE, columns=tuple(satellite.columns)),),
        judge,
        model=satellite,
        algorithm=source.declaration.hash_algorithm,
    )


def mismatches(rows: Sequence[Row], types: Mapping[str, ColumnType], algorithm: hashing.Algorithm) -> list[Row]:
    """The rows whose `dv_hashdiff` is not that of their columns; `types` names the columns in the order they came.

    A row that is older than a column has NULL there and was hashed without it and those that came after it.
    """
    columns = list(types)
    wrong = _wrong(rows, types, algorithm)
    for known in range(len(columns) - 1, 0, -1):
        may_be = [row for row in wrong if all(row[name] is None for name in columns[known:])]
        still = _wrong(may_be, {name: types[name] for name in columns[:known]}, algorithm)
        right = {id(row) for row in may_be} - {id(row) for row in still}
        wrong = [row for row in wrong if id(row) not in right]
    return wrong


def _wrong(rows: Sequence[Row], types: Mapping[str, ColumnType], algorithm: hashing.Algorithm) -> list[Row]:
    if not rows:
        return []
    columns = {name: pa.array([row[name] for row in rows], of.arrow) for name, of in types.items()}
    hashes = hashing.hashdiff(columns, algorithm=algorithm).to_pylist()
    return [row for row, made in zip(rows, hashes, strict=True) if bytes(row["dv_hashdiff"]) != made]
