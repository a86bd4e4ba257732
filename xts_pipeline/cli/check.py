"""`xts check`: is the vault as it must be?"""

from __future__ import annotations

import click
from rich.text import Text

from xts_pipeline.checks import Check, CheckResult, checks_of, invariant_at_every_load
from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say, short_hash, shown
from xts_pipeline.metadata import SourceModel
from xts_pipeline.vault import Vault

INVARIANT = "timeline_invariant"
STYLES = {"ok": "green", "WARN": "yellow", "ERROR": "bold red"}


@click.command(short_help="Run the checks; the exit code tells.")
@click.option("--source", metavar="S", help="Only the tables of this source.")
@click.option("--satellite", metavar="S", help="Only this satellite.")
@click.option("--strict", is_flag=True, help="A WARN fails too.")
@click.option(
    "--every-load",
    is_flag=True,
    help="Ask the timeline invariant alone, as the vault knew it after each load: a whole check a load.",
)
@vault_options
def check(settings: Settings, source: str | None, satellite: str | None, strict: bool, every_load: bool) -> None:
    """Run the checks of the vault's tables over everything they hold.

    Exit code 1 when an ERROR check fails; sequence violations and late rows are WARN, and fail with --strict alone.
    """
    models = [settings.source(source)] if source else list(settings.catalog.sources.values())
    if satellite:
        owner, _ = settings.satellite(satellite)
        if owner not in models:
            raise click.BadParameter(f"satellite {satellite} is fed by source {owner.name}, not by {source}")
        models = [owner]
    chosen = {of: model for model in models for of in checks_of(model) if satellite in {None, of.satellite}}
    if every_load:
        chosen = {of: model for of, model in chosen.items() if of.name == INVARIANT}
    with settings.standing_vault() as vault:
        results = [(of, _result(vault, model, of, every_load=every_load)) for of, model in chosen.items()]
    failed = [of for of, result in results if not result.passed and (strict or of.severity == "ERROR")]
    if settings.as_json:
        print_json({"passed": not failed, "checks": [_document(of, result) for of, result in results]})
    else:
        _print(results)
    if failed:
        raise SystemExit(1)


def _result(vault: Vault, model: SourceModel, of: Check, *, every_load: bool) -> CheckResult:
    if every_load and of.satellite:
        return invariant_at_every_load(vault.warehouse, model, model.satellite(of.satellite))
    return of.run(vault.warehouse)


def _document(of: Check, result: CheckResult) -> dict[str, object]:
    return {
        "check": of.name,
        "table": of.table,
        "satellite": of.satellite,
        "severity": of.severity,
        "passed": result.passed,
        "found": result.found,
        "summary": result.summary,
        "advice": result.advice,
        "rows": result.rows,
    }


def _print(results: list[tuple[Check, CheckResult]]) -> None:
    lines = []
    for of, result in results:
        word = "ok" if result.passed else of.severity
        lines.append((Text(word, style=STYLES[word]), of.table, of.name, result.summary))
    print_table(["", "table", "check", "what was seen"], lines)
    for of, result in results:
        if not result.passed:
            _print_failure(of, result)
    counts = {word: sum(1 for text, *_ in lines if str(text) == word) for word in STYLES}
    say(", ".join(f"{number} {word}" for word, number in counts.items() if number))


def _print_failure(of: Check, result: CheckResult) -> None:
    say(f"{of.table}, {of.name}: {result.summary}", style=STYLES[of.severity])
    say(f"  {result.advice}.")
    if not result.rows:
        return
    names = [name for name in result.rows[0] if name != "dv_hashkey" or not _has_business_key(result)]
    more = f"the first {len(result.rows)} of {result.found:,}" if len(result.rows) < result.found else ""
    print_table(
        [name.removeprefix("dv_").replace("_", " ") for name in names],
        [[_cell(name, row[name]) for name in names] for row in result.rows],
        title=more,
    )


def _has_business_key(result: CheckResult) -> bool:
    """Whether every row is told apart by a business key, so that its hash may be left out."""
    keys = [name for name in result.rows[0] if not name.startswith("dv_")]
    return bool(keys) and all(row[name] is not None for row in result.rows for name in keys)


def _cell(name: str, value: object) -> object:
    return short_hash(value) if name.startswith("dv_hash") and value is not None else shown_or_number(value)


def shown_or_number(value: object) -> object:
    """A number as it is, so that it stands to the right; anything else as text."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else shown(value)
