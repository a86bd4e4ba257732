"""What is wrong with the rows of a delivery, told so that the reader can mend them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

SHOWN = 5  # rows a column and fault that a message shows


@dataclass(frozen=True)
class Fault:
    """One thing wrong with one row; `row_number` counts the rows of the delivery from 1."""

    row_number: int
    column: str | None
    what: str  # the kind of fault, the same for all rows that share it
    reason: str  # what is wrong with this row's value


@dataclass
class Faults:
    """Counts every fault, keeps the first rows of each column and kind."""

    counts: dict[tuple[str | None, str], int] = field(default_factory=dict)
    first: dict[tuple[str | None, str], list[Fault]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def add(self, faults: Iterable[Fault]) -> None:
        """Take in the faults of one chunk."""
        for fault in faults:
            kind = (fault.column, fault.what)
            self.counts[kind] = self.counts.get(kind, 0) + 1
            shown = self.first.setdefault(kind, [])
            if len(shown) < SHOWN:
                shown.append(fault)

    def message(self, source: str, delivery: str) -> str:
        """Source, file, each column with its count and first rows, and what to do."""
        lines = [f"source {source}, {delivery}: the batch was stopped and nothing was written."]
        for (column, what), count in self.counts.items():
            where = f"column {column}: " if column else ""
            rows = "; ".join(f"row {fault.row_number}: {fault.reason}" for fault in self.first[column, what])
            more = ", ..." if count > SHOWN else ""
            lines.append(f"  {where}{what}, {count} row{'s' if count > 1 else ''} ({rows}{more})")
        lines.append("Mend the delivery, or declare on_error: quarantine to load the other rows without these.")
        return "\n".join(lines)
