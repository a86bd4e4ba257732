"""What a check is: one or more statements of `sql/check/`, and how their answer is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from xts_pipeline.ledger import Batch, step_name
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.templates import Renderer, Statement
from xts_pipeline.warehouse import Row, Transaction, Warehouse

ROWS_SHOWN = 20
PARTITIONS_NAMED = 3

Severity: TypeAlias = Literal["WARN", "ERROR"]
Fact: TypeAlias = int | timedelta


@dataclass(frozen=True)
class CheckResult:
    """What a check saw."""

    passed: bool
    found: int  # how many rows, keys or points fail
    rows: tuple[Mapping[str, object], ...]  # the first 20 that fail: bytes as hex, business keys where there are some
    summary: str  # one sentence, without a business key or a delivered value: it goes where keys go out hashed
    advice: str  # what to do; "" when passed
    facts: Mapping[str, Fact] = field(default_factory=dict)  # figures beside `found`, by what they are
    details: str = ""  # what names business keys or delivered values


@dataclass(frozen=True)
class Finding:
    """The rows a check's statements gave, and about what they were asked."""

    found: int
    rows: tuple[Row, ...]
    where: str  # "in batch ...", or "" when it was asked about everything


@dataclass(frozen=True)
class Question:
    """One statement of `sql/check/` with what it is rendered with and the values it binds."""

    template: str
    context: Mapping[str, Any]
    values: Mapping[str, object] = field(default_factory=dict)

    def statement(self, renderer: Renderer, of_batch: bool, loads: int = 1) -> Statement:
        """The statement about one batch or more (whose values it then binds too), or about everything."""
        return renderer.render(self.template, **self.context, of_batch=of_batch, loads=loads, limit=ROWS_SHOWN)


@dataclass(frozen=True)
class Check:
    """One check of one table of a source."""

    name: str
    table: str
    satellite: str | None  # the satellite it is about; None for a check of a hub, a link, an XTS or a source
    severity: Severity
    description: str
    made_with: str = field(repr=False)  # the table whose making in the warehouse is that of `table`
    questions: tuple[Question, ...] = field(repr=False, compare=False)
    judge: Callable[[Finding], CheckResult] = field(repr=False, compare=False)
    needs_facts: bool = field(default=False, repr=False)  # of the satellite, in the XTS
    asks_all: bool = field(default=False, repr=False)  # speaks of no batch: asked once, however many a run has
    is_of_keys: bool = field(default=False, repr=False)  # counts a key of several batches once

    def run(self, warehouse: Warehouse, batch: Batch | None = None) -> CheckResult:
        """Ask the warehouse: about what one batch touched, or, without a batch, about everything."""
        return self._judged(warehouse, lambda transaction: self.ask(transaction, warehouse, batch))

    def run_together(self, warehouse: Warehouse, batches: Sequence[Batch]) -> CheckResult:
        """Ask the warehouse once about what several batches touched; only where `is_of_keys`."""
        if len(batches) == 1:
            return self.run(warehouse, batches[0])
        newest = max(batches, key=lambda batch: batch.load_timestamp)
        stamps = {f"load_timestamp_{number}": batch.load_timestamp for number, batch in enumerate(batches)}
        earliest = [at for batch in batches if (at := batch.earliest_applied_timestamp) is not None]
        values = {**newest.values(), **stamps, "earliest_applied_timestamp": min(earliest, default=None)}
        return self._judged(
            warehouse,
            lambda transaction: self._answer(transaction, warehouse, values, len(batches), told_of_all(batches)),
        )

    def _judged(self, warehouse: Warehouse, ask: Callable[[Transaction], Finding]) -> CheckResult:
        with warehouse.transaction() as transaction:
            if self.made_with not in known_columns(transaction, warehouse):
                return passed(f"{self.table} is not there yet: no batch has brought rows for it")
            if self.needs_facts and not _is_assisted(transaction, warehouse, self):
                return passed(f"the XTS does not speak for {self.table} yet: the next load seeds it")
            return self.judge(ask(transaction))

    def ask(self, transaction: Transaction, warehouse: Warehouse, batch: Batch | None) -> Finding:
        """The answer of the warehouse, to be judged."""
        return self._answer(transaction, warehouse, batch.values() if batch else {}, 1 if batch else 0, told_of(batch))

    def _answer(
        self, transaction: Transaction, warehouse: Warehouse, values: Mapping[str, object], loads: int, where: str
    ) -> Finding:
        found = 0
        rows: list[Row] = []
        for question in self.questions:
            statement = question.statement(warehouse.renderer, loads > 0, loads)
            answer = transaction.rows(statement, {**values, **question.values})
            found += int(answer[0]["dv_found"]) if answer else 0
            rows += answer
        return Finding(found, readable(rows)[:ROWS_SHOWN], where)


def told_of(batch: Batch | None) -> str:
    """About what a check was asked, to stand behind a sentence."""
    return f" in batch {batch.batch_id} (partition {batch.partition_key!r})" if batch else ""


def told_of_all(batches: Sequence[Batch]) -> str:
    """About which batches a check was asked at once, to stand behind a sentence."""
    keys = [repr(batch.partition_key) for batch in batches]
    more = f" and {len(keys) - PARTITIONS_NAMED} more" if len(keys) > PARTITIONS_NAMED else ""
    return f" in {len(keys)} batches (partitions {', '.join(keys[:PARTITIONS_NAMED])}{more})"


def question(
    name: str, source: SourceModel, satellite: Satellite, bound: Mapping[str, object] | None = None, **context: Any
) -> Question:
    """A question about a satellite, with the values such questions bind and what else is `bound`."""
    values = {
        "source": source.name,
        "record_target": satellite.record_target,
        "step": step_name("satellite", satellite.name),
        "satellite": satellite.name,
        **(bound or {}),
    }
    return Question(f"check/{name}", {"satellite": satellite, **context}, values)


def passed(summary: str, **facts: Fact) -> CheckResult:
    """The result of a check that found nothing wrong."""
    return CheckResult(True, 0, (), summary, "", facts)


def count(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spoken(span: timedelta) -> str:
    """A span of time in its two largest units: `2 d 3 h`, `40 min`, `0.25 s`."""
    seconds = span.total_seconds()
    parts = [
        (span.days, "d"),
        (span.seconds // 3600, "h"),
        (span.seconds % 3600 // 60, "min"),
        (span.seconds % 60, "s"),
    ]
    if seconds < 1:
        return f"{seconds:g} s"
    first = next(index for index, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def span(microseconds: object) -> timedelta | None:
    """A span of time as SQL gives it."""
    return None if microseconds is None else timedelta(microseconds=int(str(microseconds).partition(".")[0]))


def with_lateness(row: Row) -> Row:
    """The row with how late it was in words."""
    late_by = span(row["dv_late_by"])
    return {**row, "dv_late_by": "unknown" if late_by is None else spoken(late_by)}


def without(row: Row, *names: str) -> Row:
    """The row without some columns, such as figures that every row carries."""
    return {name: value for name, value in row.items() if name not in names}


def readable(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows without the count they carry, bytes as hex; each once, since a hub that holds a key twice repeats them."""
    shown = ({name: _shown(value) for name, value in row.items() if name != "dv_found"} for row in rows)
    return tuple({tuple(row.items()): row for row in shown}.values())


def _is_assisted(transaction: Transaction, warehouse: Warehouse, check: Check) -> bool:
    """Whether the satellite's XTS holds its facts; not before the load that seeds it."""
    rows = transaction.rows(warehouse.renderer.render("control/satellites"), check.questions[0].values)
    return any(row["satellite"] == check.satellite and row["xts_assisted"] for row in rows)


def _shown(value: object) -> object:
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else value
