"""The asset checks: what must hold of every table of a source, asked of the warehouse itself.

Each is a statement of `sql/check/`, about the rows one batch touched or about everything. Checks read only; the
Dagster layer and `xts check` run the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from xts_pipeline.ledger import Batch, step_name
from xts_pipeline.metadata import Hub, Link, Parent, Satellite, SourceModel
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.templates import Renderer, Statement
from xts_pipeline.views import business_keys_of
from xts_pipeline.warehouse import Row, Transaction, Warehouse

ROWS_SHOWN = 20

Severity: TypeAlias = Literal["WARN", "ERROR"]


@dataclass(frozen=True)
class CheckResult:
    """What a check saw."""

    passed: bool
    found: int  # how many rows, keys or points fail
    rows: tuple[Mapping[str, object], ...]  # the first 20 that fail: bytes as hex, business keys where there are some
    summary: str  # one sentence
    advice: str  # what to do; "" when passed


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

    def statement(self, renderer: Renderer, of_batch: bool) -> Statement:
        """The statement about one batch (whose values it then binds too), or about everything."""
        return renderer.render(self.template, **self.context, of_batch=of_batch, limit=ROWS_SHOWN)


@dataclass(frozen=True)
class Check:
    """One check of one table of a source."""

    name: str
    table: str
    satellite: str | None  # the satellite it is about; None for a check of a hub, a link or an XTS
    severity: Severity
    description: str
    made_with: str = field(repr=False)  # the table whose making in the warehouse is that of `table`
    questions: tuple[Question, ...] = field(repr=False, compare=False)
    judge: Callable[[Finding], CheckResult] = field(repr=False, compare=False)

    def run(self, warehouse: Warehouse, batch: Batch | None = None) -> CheckResult:
        """Ask the warehouse: about what one batch touched, or, without a batch, about everything."""
        with warehouse.transaction() as transaction:
            if self.made_with not in known_columns(transaction, warehouse):
                return _passed(f"{self.table} is not there yet: no batch has brought rows for it")
            if self.name == "timeline_invariant" and not _is_assisted(transaction, warehouse, self):
                return _passed(f"the XTS does not speak for {self.table} yet: the next load seeds it")
            return self.judge(self._ask(transaction, warehouse, batch))

    def _ask(self, transaction: Transaction, warehouse: Warehouse, batch: Batch | None) -> Finding:
        found = 0
        rows: list[Row] = []
        for question in self.questions:
            statement = question.statement(warehouse.renderer, batch is not None)
            values = {**(batch.values() if batch else {}), **question.values}
            answer = transaction.rows(statement, values)
            found += int(answer[0]["dv_found"]) if answer else 0
            rows += answer
        where = f" in batch {batch.batch_id} (partition {batch.partition_key!r})" if batch else ""
        return Finding(found, _readable(rows)[:ROWS_SHOWN], where)


def checks_of(source: SourceModel) -> list[Check]:
    """Every check of the tables of one source: those of its hubs and links, of their XTS, and of its satellites."""
    parents = {on.table: on.parent for on in _keyed(source)}
    checks = [_unique_keys(source, parent.table, parent, (parent.hash_key,)) for parent in parents.values()]
    checks += [_unique_facts(source, parent) for parent in parents.values()]
    checks += [_hubs_of_link(source, link) for link in source.links]
    for satellite in source.satellites:
        checks += _checks_of_satellite(source, satellite)
    return checks


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


def _checks_of_satellite(source: SourceModel, satellite: Satellite) -> Iterable[Check]:
    if satellite.xts_assisted:
        yield _sequence_violations(source, satellite)
        yield _timeline_invariant(source, satellite)
    else:
        yield _late_rows(source, satellite)
    key = (satellite.parent.hash_key, "dv_applied_timestamp", "dv_load_timestamp")
    yield _unique_keys(source, satellite.table, satellite.parent, key, satellite.name)
    yield _parent_of_satellite(source, satellite)
    yield _ghost_present(source, satellite)


def _sequence_violations(source: SourceModel, satellite: Satellite) -> Check:
    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return _passed(f"no row of {satellite.name} came late{finding.where}")
        rows = tuple(_with_lateness(row) for row in finding.rows)
        return CheckResult(
            False,
            finding.found,
            rows,
            f"{_count(finding.found, 'row')} of {satellite.name} came after a newer one of its key{finding.where}, "
            f"the latest by {rows[0]['dv_late_by']}",
            "The timeline has been put right already. Answers known before these rows came differ from those known "
            "after: tell whoever published one, and ask who delivers late (`xts violations` lists every row)",
        )

    return Check(
        "sequence_violations",
        satellite.table,
        satellite.name,
        "WARN",
        "Rows that are older than one of the same key that came with an earlier load. Expected where data arrives "
        "late; the timeline is right all the same.",
        satellite.table,
        (_question("sequence_violations", source, satellite, keys=business_keys_of(source, satellite.parent)),),
        judge,
    )


def _late_rows(source: SourceModel, satellite: Satellite) -> Check:
    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return _passed(f"no row of {satellite.name} came late{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{_count(finding.found, 'row')} of {satellite.name} came late{finding.where}, and without an XTS nothing "
            "puts them in their place",
            f"The timeline of these keys may be wrong. Declare {satellite.name} with xts_assisted: true, "
            "so that rows to come are put in their place",
        )

    return Check(
        "late_rows",
        satellite.table,
        satellite.name,
        "WARN",
        "Rows that came after a newer one of their key, into a satellite that keeps no XTS to put them in place.",
        satellite.table,
        (_question("late_rows", source, satellite),),
        judge,
    )


def _timeline_invariant(source: SourceModel, satellite: Satellite) -> Check:
    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            keys = f" for the keys touched{finding.where}" if finding.where else ""
            return _passed(f"{satellite.name} and its XTS say the same at every point{keys}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{satellite.name} and {satellite.parent.xts_table} disagree at {_count(finding.found, 'point')}"
            f"{finding.where and ' of keys touched'}{finding.where}",
            "Something other than the load cycle wrote or deleted rows of one of the two. Find out what, restore the "
            "tables, and publish nothing about these keys until then",
        )

    return Check(
        "timeline_invariant",
        satellite.table,
        satellite.name,
        "ERROR",
        "At every point of every key, the state the XTS wants is the state the satellite has. Rows of open batches "
        "whose step for this satellite is not recorded are left out.",
        satellite.table,
        (_question("timeline_invariant", source, satellite, keys=business_keys_of(source, satellite.parent)),),
        judge,
    )


def _unique_facts(source: SourceModel, parent: Parent) -> Check:
    columns = (parent.hash_key, "dv_rectarget", "dv_applied_timestamp", "dv_load_timestamp", "dv_hashdiff")
    return _unique_keys(source, parent.xts_table, parent, columns)


def _unique_keys(
    source: SourceModel, table: str, parent: Parent, key_columns: tuple[str, ...], satellite: str | None = None
) -> Check:
    named = ", ".join(key_columns)

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return _passed(f"every row of {table} is the only one of its key{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{_count(finding.found, 'key')} of {table} ({named}) stand in more than one row{finding.where}",
            "The load cycle writes a key once: look for another writer or a restored copy of the table, and remove the "
            "rows that are too many by hand",
        )

    question = Question(
        "check/unique_keys",
        {"table": table, "key_columns": key_columns, "keys": business_keys_of(source, parent)},
    )
    return Check(
        "unique_keys",
        table,
        satellite,
        "ERROR",
        f"No two rows of the table share {named}.",
        satellite or parent.table,
        (question,),
        judge,
    )


def _parent_of_satellite(source: SourceModel, satellite: Satellite) -> Check:
    on = next(on for on in _keyed(source) if on.staged_hash_key == satellite.staged_hash_key)
    step = step_name("hub", on.reference) if isinstance(on, Hub) else step_name("link", on.parent.name)
    question = _key_question(source, satellite.table, satellite.parent.hash_key, satellite.parent, step, has_ghost=True)
    return _keys_in_parent(
        satellite.table,
        satellite.name,
        (question,),
        f"Every key of the satellite is in {satellite.parent.table}; the ghost, and rows whose batch has not got that "
        "far yet, are left out.",
    )


def _hubs_of_link(source: SourceModel, link: Link) -> Check:
    questions = tuple(
        _key_question(
            source, link.table, hub.staged_hash_key, hub.parent, step_name("hub", hub.reference), has_ghost=False
        )
        for hub in link.hubs
    )
    hubs = ", ".join(dict.fromkeys(hub.table for hub in link.hubs))
    return _keys_in_parent(link.table, None, questions, f"Every hash key the link holds of its hubs is in {hubs}.")


def _key_question(source: SourceModel, table: str, key: str, parent: Parent, step: str, *, has_ghost: bool) -> Question:
    return Question(
        "check/keys_in_parent",
        {"table": table, "key": key, "parent": parent, "has_ghost": has_ghost},
        {"source": source.name, "step": step, "parent_table": parent.table},
    )


def _keys_in_parent(table: str, satellite: str | None, questions: tuple[Question, ...], description: str) -> Check:
    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return _passed(f"no key of {table} is missing in its parents{finding.where}")
        parents = ", ".join(sorted({str(row["dv_missing_in"]) for row in finding.rows}))
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{_count(finding.found, 'key')} of {table} missing in {parents}{finding.where}",
            "Rows of the parent were deleted, or another writer put rows here: restore the parent, or load a delivery "
            "that states these keys again",
        )

    return Check("keys_in_parent", table, satellite, "ERROR", description, table, questions, judge)


def _ghost_present(source: SourceModel, satellite: Satellite) -> Check:
    def judge(finding: Finding) -> CheckResult:
        right = sum(1 for row in finding.rows if row["dv_is_ghost"])
        if (right, finding.found) == (1, 1):
            return _passed(f"{satellite.name} has its ghost record")
        if not finding.found:
            summary = f"{satellite.name} has no ghost record"
        elif finding.found > 1:
            summary = f"{satellite.name} has {finding.found} rows of dv_sid 0 where its one ghost record should be"
        else:
            summary = f"the ghost record of {satellite.name} has not the zero hash key, applied 1900-01-01"
        return CheckResult(
            False,
            max(finding.found, 1),
            finding.rows,
            summary,
            "The ghost is written when the table is made and never touched: put it back with the statement that "
            f"`xts render --satellite {satellite.name} load/ghost` prints, after removing what is wrong",
        )

    question = Question("check/ghost_present", {"satellite": satellite, "algorithm": source.declaration.hash_algorithm})
    return Check(
        "ghost_present",
        satellite.table,
        satellite.name,
        "ERROR",
        "The satellite has exactly one ghost record: dv_sid 0, the zero hash key, applied 1900-01-01.",
        satellite.table,
        (question,),
        judge,
    )


def _keyed(source: SourceModel) -> tuple[Hub | Link, ...]:
    return (*source.hubs, *source.links)


def _question(name: str, source: SourceModel, satellite: Satellite, **context: Any) -> Question:
    values = {
        "source": source.name,
        "record_target": satellite.record_target,
        "step": step_name("satellite", satellite.name),
        "satellite": satellite.name,
    }
    return Question(f"check/{name}", {"satellite": satellite, **context}, values)


def _is_assisted(transaction: Transaction, warehouse: Warehouse, check: Check) -> bool:
    """Whether the satellite's XTS holds its facts; not before the load that seeds it."""
    rows = transaction.rows(warehouse.renderer.render("control/satellites"), check.questions[0].values)
    return any(row["satellite"] == check.satellite and row["xts_assisted"] for row in rows)


def _passed(summary: str) -> CheckResult:
    return CheckResult(True, 0, (), summary, "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _readable(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows without the count they carry, bytes as hex; each once, since a hub that holds a key twice repeats them."""
    shown = ({name: _shown(value) for name, value in row.items() if name != "dv_found"} for row in rows)
    return tuple({tuple(row.items()): row for row in shown}.values())


def _shown(value: object) -> object:
    return bytes(value).hex() if isinstance(value, bytes | bytearray | memoryview) else value


def _with_lateness(row: Row) -> Row:
    """The row with how late it was in words."""
    microseconds = row["dv_late_by"]
    late_by = "unknown" if microseconds is None else spoken(timedelta(microseconds=int(microseconds)))
    return {**row, "dv_late_by": late_by}
