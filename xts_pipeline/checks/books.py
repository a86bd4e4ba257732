"""What must hold of the ledger: batches that end, rows that were counted right, rows that were kept out."""

from __future__ import annotations

from datetime import timedelta

from xts_pipeline.checks.check import Check, CheckResult, Finding, Question, count, passed, question, spoken
from xts_pipeline.ledger import step_name, utc_now
from xts_pipeline.metadata import Satellite, SourceModel


def open_batches(source: SourceModel, limit: timedelta) -> Check:
    """No batch of the source is open for longer than a run takes: its run is dead, and nothing has finished it."""

    def judge(finding: Finding) -> CheckResult:
        now = utc_now()
        old = tuple(
            {"dv_open_for": spoken(now - row["dv_started_at"]), **row}
            for row in finding.rows
            if now - row["dv_started_at"] > limit
        )
        if not old:
            return passed(f"no batch of {source.name} is open for longer than {spoken(limit)}")
        return CheckResult(
            False,
            len(old),
            old,
            f"{count(len(old), 'batch').replace('batchs', 'batches')} of {source.name} open for longer than "
            f"{spoken(limit)}, the oldest for {old[0]['dv_open_for']}",
            "Its run has died: load the source again, any partition, which finishes it from its staged rows; or give "
            "it up with `xts abandon <batch>` if nothing of it was written. Until then answers are final only up to it",
        )

    return Check(
        "open_batches",
        source.rows_table,
        None,
        "WARN",
        "The ledger has no open batch that a run has left behind.",
        source.rows_table,
        (Question("check/open_batches", {}, {"source": source.name}),),
        judge,
        asks_all=True,
    )


def rejected_rows(source: SourceModel) -> Check:
    """No row of a delivery had to be kept out."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"no row of {source.name} was kept out{finding.where}")
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'row')} of {source.name} kept out{finding.where}",
            "Read them in control.rejected_row, mend them at the source, and deliver the partition again: its rows "
            "then come as a correction",
            details=f"kept out, among others: {finding.rows[0]['dv_reason']}",
        )

    return Check(
        "rejected_rows",
        source.rows_table,
        None,
        "WARN",
        "No row was kept out of the vault for not fitting its declaration (on_error: quarantine).",
        source.rows_table,
        (Question("check/rejected_rows", {}, {"source": source.name}),),
        judge,
    )


def ledger_counts(source: SourceModel, satellite: Satellite) -> Check:
    """The tables hold, load by load, as many rows as the ledger says were written."""

    def judge(finding: Finding) -> CheckResult:
        if not finding.found:
            return passed(f"{satellite.name} and its XTS hold what the ledger says was written{finding.where}")
        first = finding.rows[0]
        return CheckResult(
            False,
            finding.found,
            finding.rows,
            f"{count(finding.found, 'load')} of {satellite.name} with other rows than the ledger recorded"
            f"{finding.where}, such as {first['dv_rows']} in {first['dv_table']} for {first['dv_recorded']} recorded",
            "Rows were deleted or written by something other than the load cycle, or a table was restored without the "
            "control schema: find out what, and restore both together",
        )

    asked = question("ledger_counts", source, satellite)
    values = {**asked.values, "xts_step": step_name("xts", satellite.name)}
    return Check(
        "ledger_counts",
        satellite.table,
        satellite.name,
        "ERROR",
        "For every load, the satellite and its XTS hold as many rows as the ledger recorded.",
        satellite.table,
        (Question(asked.template, asked.context, values),),
        judge,
    )
