"""What must hold of keys: unique, known to their hub or link, and one ghost record."""

from __future__ import annotations

from xts_pipeline.checks.check import Check, CheckResult, Finding, Question, count, passed
from xts_pipeline.ledger import step_name
from xts_pipeline.metadata import Hub, Link, Parent, Satellite, SourceModel
from xts_pipeline.views import business_keys_of


def keyed(source: SourceModel) -> tuple[Hub | Link, ...]:
    """Everything of a source that has a hash key."""
    return (*source.hubs, *source.links)


def unique_facts(source: SourceModel, parent: Parent) -> Check:
    """No two facts of an XTS are the same."""
    columns = (parent.hash_key, "dv_rectarget", "dv_applied_timestamp", "dv_load_timestamp", "dv_hashdiff")
    return unique_keys(source, parent.xts_table, parent, columns)


def unique_keys(
    source: SourceModel, table: str, parent: Parent, key_columns: tuple[str, ...], satellite: str | None = None
) -> Check:
    """No two rows of a table share the columns that must be unique in it."""
    named = ", ".join(key_columns)

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"every row of {table} is the only one of its key{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'key')} of {table} ({named}) stand in more than one row{finding.where}",
            "The load cycle writes a key once: look for another writer or a restored copy of the table, and remove the "
            "rows that are too many by hand",
        )

    asked = Question(
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
        (asked,),
        judge,
        is_of_keys=True,
    )


def parent_of_satellite(source: SourceModel, satellite: Satellite) -> Check:
    """Every key of a satellite is in its hub or link."""
    on = next(on for on in keyed(source) if on.staged_hash_key == satellite.staged_hash_key)
    step = step_name("hub", on.reference) if isinstance(on, Hub) else step_name("link", on.parent.name)
    asked = _key_question(source, satellite.table, satellite.parent.hash_key, satellite.parent, step, has_ghost=True)
    return _keys_in_parent(
        satellite.table,
        satellite.name,
        (asked,),
        f"Every key of the satellite is in {satellite.parent.table}; the ghost, and rows whose batch has not got that "
        "far yet, are left out.",
    )


def hubs_of_link(source: SourceModel, link: Link) -> Check:
    """Every key that a link holds is in its hub."""
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
            return passed(f"no key of {table} is missing in its parents{finding.where}")
        parents = ", ".join(sorted({str(row["dv_missing_in"]) for row in finding.rows}))
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'key')} of {table} missing in {parents}{finding.where}",
            "Rows of the parent were deleted, or another writer put rows here: restore the parent, or load a delivery "
            "that states these keys again",
        )

    return Check("keys_in_parent", table, satellite, "ERROR", description, table, questions, judge, is_of_keys=True)


def ghost_present(source: SourceModel, satellite: Satellite) -> Check:
    """A satellite has its one ghost record."""

    def judge(finding: Finding) -> CheckResult:
        right = sum(1 for row in finding.rows if row["dv_is_ghost"])
        if (right, finding.found) == (1, 1):
            return passed(f"{satellite.name} has its ghost record")
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

    asked = Question("check/ghost_present", {"satellite": satellite, "algorithm": source.declaration.hash_algorithm})
    return Check(
        "ghost_present",
        satellite.table,
        satellite.name,
        "ERROR",
        "The satellite has exactly one ghost record: dv_sid 0, the zero hash key, applied 1900-01-01.",
        satellite.table,
        (asked,),
        judge,
    )
