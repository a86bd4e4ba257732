"""What must hold of a satellite's timeline, and what is told of rows that came late."""

from __future__ import annotations

from datetime import datetime, timedelta

from xts_pipeline.checks.check import (
    Check,
    CheckResult,
    Fact,
    Finding,
    count,
    passed,
    question,
    span,
    spoken,
    with_lateness,
    without,
)
from xts_pipeline.metadata import Satellite, SourceModel
from xts_pipeline.views import business_keys_of


def sequence_violations(source: SourceModel, satellite: Satellite) -> Check:
    """No row came late, or which did, the worst first."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"no row of {satellite.name} came late{finding.where}")
        keys, changed = (int(finding.rows[0][column]) for column in ("dv_keys", "dv_changed"))
        facts: dict[str, Fact] = {"keys": keys, "changed": changed}
        if (late_by := span(finding.rows[0]["dv_late_by"])) is not None:
            facts["late_by"] = late_by
        rows = tuple(without(with_lateness(row), "dv_keys", "dv_changed") for row in finding.rows)
        return CheckResult(
            False,
            finding.found,
            rows,
            f"{count(finding.found, 'row')} of {satellite.name} came after a newer one of its key{finding.where}, "
            f"the latest by {rows[0]['dv_late_by']}; {changed:,} changed an answer",
            _advice_on_late_rows(changed),
            facts,
        )

    return Check(
        "sequence_violations",
        satellite.table,
        satellite.name,
        "WARN",
        "Rows that are older than one of the same key that came with an earlier load. Expected where data arrives "
        "late; the timeline is right all the same.",
        satellite.table,
        (question("sequence_violations", source, satellite, keys=business_keys_of(source, satellite.parent)),),
        judge,
        is_of_keys=True,
    )


def _advice_on_late_rows(changed: int) -> str:
    if not changed:
        return "They state what was known already, so that no answer has changed: ask who delivers late"
    return (
        "The timeline has been put right already. Where a row changed an answer, the one known before it came differs "
        "from the one known after: tell whoever published one, and ask who delivers late (`xts violations` lists every "
        "row, and what it did)"
    )


def lateness(source: SourceModel, satellite: Satellite) -> Check:
    """How late rows come, and which keys are the worst: always passes."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.rows:
            return passed(f"no row of {satellite.name} came late{finding.where}")
        first = finding.rows[0]
        figures = {"median": "dv_median", "nine_in_ten": "dv_nine_in_ten", "worst": "dv_late_by"}
        facts: dict[str, Fact] = {"late_rows": int(first["dv_late_rows"]), "late_keys": finding.found}
        facts |= {name: late_by for name, column in figures.items() if (late_by := span(first[column])) is not None}
        worst, median = (
            spoken(of) if isinstance(of := facts.get(name), timedelta) else "?" for name in ("worst", "median")
        )
        rows = tuple(without(with_lateness(row), "dv_median", "dv_nine_in_ten", "dv_late_rows") for row in finding.rows)
        return CheckResult(
            True,
            0,
            rows,
            f"{count(int(first['dv_late_rows']), 'row')} of {count(finding.found, 'key')} of {satellite.name} came "
            f"late{finding.where}, half of them by {median} or less, the worst by {worst}",
            "",
            facts,
        )

    return Check(
        "lateness",
        satellite.table,
        satellite.name,
        "WARN",
        "How late rows come: the distribution, and the worst keys. Never fails; sequence_violations warns.",
        satellite.table,
        (question("lateness", source, satellite, keys=business_keys_of(source, satellite.parent)),),
        judge,
        is_of_keys=True,
    )


def late_rows(source: SourceModel, satellite: Satellite) -> Check:
    """No row came late into a satellite that cannot put it in its place."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"no row of {satellite.name} came late{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'row')} of {satellite.name} came late{finding.where}, and without an XTS nothing "
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
        (question("late_rows", source, satellite),),
        judge,
    )


def timeline_invariant(source: SourceModel, satellite: Satellite, known_at: datetime | None = None) -> Check:
    """The satellite says at every point what its XTS says: now, or as the two were known at `known_at` (UTC)."""
    then = f" as known at {known_at} UTC" if known_at else ""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            keys = f" for the keys touched{finding.where}" if finding.where else ""
            return passed(f"{satellite.name} and its XTS say the same at every point{keys}{then}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{satellite.name} and {satellite.parent.xts_table} disagree at {count(finding.found, 'point')}"
            f"{finding.where and ' of keys touched'}{finding.where}{then}",
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
        (
            question(
                "timeline_invariant",
                source,
                satellite,
                {"known_at": known_at},
                keys=business_keys_of(source, satellite.parent),
                as_known=known_at is not None,
            ),
        ),
        judge,
        is_of_keys=True,
        needs_facts=True,
    )


def xts_complete(source: SourceModel, satellite: Satellite) -> Check:
    """Every row of the satellite has the fact that it was written for."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"every row of {satellite.name} has its fact in {satellite.parent.xts_table}{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'row')} of {satellite.name} without a fact in {satellite.parent.xts_table}"
            f"{finding.where}",
            "The load cycle writes the fact first: rows of the XTS were deleted, or another writer put rows into the "
            "satellite. Restore the XTS, since a late row of these keys would be put in a wrong place",
        )

    return Check(
        "xts_complete",
        satellite.table,
        satellite.name,
        "ERROR",
        "Every row has a fact of its key, applied timestamp and hashdiff in the XTS: of its own load, or, for a "
        "restored state, of one before.",
        satellite.table,
        (question("xts_complete", source, satellite, keys=business_keys_of(source, satellite.parent)),),
        judge,
        needs_facts=True,
    )
