"""What every reader hands over: a named delivery, its columns, and its rows in chunks of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from xts_pipeline.errors import DeliveryError

CHUNK_ROWS = 122_880  # a row group of DuckDB: of larger pieces it writes part twice, again when it checkpoints
_SHOWN_CHARACTERS = 500


@dataclass(frozen=True)
class MalformedRow:
    """A line of a delivery that is not a row of it: its 1-based number, its text (shortened), and why."""

    row_number: int
    text: str
    reason: str


@dataclass(frozen=True)
class Chunk:
    """Some rows of a delivery, in delivery order.

    `table` has the delivery's columns. `row_numbers` (int64, as long as the table) is the 1-based number of each
    row in its delivery: malformed rows are counted, a header and blank lines are not. `malformed` are the rows in
    this stretch that are not in the table.
    """

    table: pa.Table
    row_numbers: pa.Array
    malformed: tuple[MalformedRow, ...]


@dataclass(frozen=True)
class Delivery:
    """A delivery that can be read, more than once, chunk by chunk.

    `name` is what error messages call it. `typed` is False when its values are text by nature (CSV). `chunks()`
    starts a fresh pass over the rows; it raises DeliveryError when the content turns out damaged on the way.
    `fractions` names the columns that are delivered as text only to keep the exact digits of numbers written with
    a fraction or an exponent: without a declared type such a column is binary float, not text.
    """

    name: str
    columns: tuple[str, ...]
    typed: bool
    chunks: Callable[[], Iterator[Chunk]]
    fractions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableDelivery:
    """A table or view of the warehouse itself, or of it the rows of a partition: nothing is read, SQL stages it."""

    table: str
    partition_column: str | None = None

    @property
    def name(self) -> str:
        """What error messages call it."""
        return f"table {self.table}"


Wanted = frozenset[str] | None  # the columns that will be loaded, in lower case; None is all


def is_wanted(column: str, wanted: Wanted) -> bool:
    """Whether a delivered column will be loaded."""
    return wanted is None or column.lower() in wanted


def checked_columns(delivery: str, names: Sequence[object]) -> tuple[str, ...]:
    """Return the column names as text.

    Raises DeliveryError when one is not text, is blank, or occurs twice (names that differ only by case are the
    same name in a warehouse).
    """
    seen: dict[str, str] = {}
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DeliveryError(
                f"{delivery}: column {position} is named {name!r} ({type(name).__name__}); column names must be text"
            )
        if not name.strip():
            raise DeliveryError(f"{delivery}: column {position} has no name; give every column a name")
        earlier = seen.setdefault(name.casefold(), name)
        if len(seen) < position:
            raise DeliveryError(
                f"{delivery}: column {name!r} occurs twice"
                + ("" if earlier == name else f" (also as {earlier!r}: names that differ only by case are the same)")
                + "; rename or drop one of them"
            )
    return tuple(str(name) for name in names)


def shortened(text: str) -> str:
    """Return the text of a malformed row, cut to a length fit for a message, with lone surrogates escaped."""
    cut = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")
