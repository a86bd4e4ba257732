"""Column types a source may declare, and what each is called in Arrow.

What each is called in a warehouse stands in ``sql/dialect/``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

_SPELLINGS = {
    "text": "text",
    "varchar": "text",
    "string": "text",
    "integer": "integer",
    "int": "integer",
    "bigint": "integer",
    "smallint": "integer",
    "boolean": "boolean",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "datetime": "timestamp",
    "double": "double",
    "float": "double",
    "binary": "binary",
    "blob": "binary",
}
_ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "double": pa.float64(),
    "binary": pa.binary(),
}
_DECIMAL = re.compile(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
MAX_PRECISION = 38
ALLOWED = "text, integer, decimal(precision, scale), boolean, date, timestamp, double or binary"


@dataclass(frozen=True)
class ColumnType:
    """The type of one business column.

    `kind` is one of text, integer (64 bit), decimal, boolean, date, timestamp (UTC, microseconds, without zone),
    double and binary. `precision` and `scale` are set for decimals alone.
    """

    kind: str
    precision: int = 0
    scale: int = 0

    @classmethod
    def parse(cls, text: str) -> ColumnType:
        """Read a declared type, `decimal(10, 2)` for one; ValueError says which are allowed."""
        plain = text.strip().lower()
        if plain in _SPELLINGS:
            return cls(_SPELLINGS[plain])
        if match := _DECIMAL.fullmatch(plain):
            precision, scale = int(match[1]), int(match[2] or 0)
            if not 1 <= precision <= MAX_PRECISION or scale > precision:
                raise ValueError(
                    f"{text!r}: a decimal has 1 to {MAX_PRECISION} digits in all and no more behind the point than that"
                )
            return cls("decimal", precision, scale)
        if plain in {"decimal", "numeric"}:
            raise ValueError(f"{text!r} lacks its size: write decimal(precision, scale), decimal(18, 2) for one")
        raise ValueError(f"{text!r} is no type of this project: write {ALLOWED}")

    @classmethod
    def of_arrow(cls, arrow: pa.DataType) -> ColumnType:
        """The type whose `arrow` this is; ValueError for one that no column may have."""
        if pa.types.is_decimal(arrow) and arrow.precision <= MAX_PRECISION and arrow.scale >= 0:
            return cls("decimal", arrow.precision, arrow.scale)
        for kind, known in _ARROW.items():
            if known == arrow:
                return cls(kind)
        raise ValueError(f"columns of type {arrow} cannot be loaded: deliver {ALLOWED}")

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type a staged column of this type has."""
        return pa.decimal128(self.precision, self.scale) if self.kind == "decimal" else _ARROW[self.kind]

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.kind == "decimal" else self.kind


TEXT = ColumnType("text")
