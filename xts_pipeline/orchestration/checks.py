"""The asset checks of a source: those of `xts_pipeline.checks`, asked once a run for the batches of the run.

What the run finished for others is asked about with its own, since the runs that left it behind have asked nothing.

They run when every asset of the run is there: what a satellite's check asks of its hub holds only after the merge. None
blocks: sequence violations are expected data, and no check could stop the steps inside the graph.
"""

# No postponed annotations here: Dagster reads the type of `context` from the function itself.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import dagster as dg

from xts_pipeline.checks import ROWS_SHOWN, Check, CheckResult, checks_of, spoken
from xts_pipeline.ledger import Batch
from xts_pipeline.metadata import OperatedSource
from xts_pipeline.metadata.monitoring import span_of
from xts_pipeline.orchestration.faults import working_vault
from xts_pipeline.orchestration.nodes import SourceNodes
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.orchestration.run_batches import batches_of_partitions, finished_for_others, partitions_of_run
from xts_pipeline.orchestration.schema_drift import DESCRIPTION, SCHEMA_DRIFT, drift_of
from xts_pipeline.vault import Vault

MANY_BATCHES = 20  # from here on, one question about a whole table costs less than one for each batch
SEVERITIES = {"WARN": dg.AssetCheckSeverity.WARN, "ERROR": dg.AssetCheckSeverity.ERROR}


@dataclass(frozen=True)
class AskedCheck:
    """A check and the asset it hangs on."""

    check: Check
    key: dg.AssetCheckKey


def asset_checks(nodes: SourceNodes, operated: OperatedSource) -> dg.AssetChecksDefinition:
    """All checks of a source in one op, each of which can be asked alone."""
    asked = _hung_on_assets(nodes, span_of(operated.open_batch_limit))
    drift = dg.AssetCheckKey(nodes.staged, SCHEMA_DRIFT)
    closed = nodes.of_table(next(iter(nodes.hubs)))  # made by the last op of the cycle, after everything else

    @dg.multi_asset_check(
        name=f"checks_{nodes.name}",
        description="Asks the warehouse what must hold of what this run wrote.",
        specs=[
            dg.AssetCheckSpec(
                key.name,
                asset=key.asset_key,
                description=description,
                additional_deps=[closed] if key.asset_key != closed else None,
                blocking=False,
            )
            for key, description in [*((each.key, each.check.description) for each in asked), (drift, DESCRIPTION)]
        ],
        can_subset=True,
    )
    def ask(context: dg.AssetCheckExecutionContext, vaults: VaultResource) -> Iterator[dg.AssetCheckResult]:
        registered = nodes.batches.get_partition_keys(dynamic_partitions_store=context.instance)
        partitions = partitions_of_run(context.run.tags, registered)
        with working_vault(context, vaults, nodes.catalog) as vault:
            batches = batches_of_partitions(vault, nodes.source, partitions)
            finished = finished_for_others(vault, nodes.source, batches, context.instance, context.run)
            about = sorted([*batches, *finished], key=lambda batch: batch.load_timestamp)
            found = [_evaluated(vault, each, about) for each in asked if each.key in context.selected_asset_check_keys]
        if drift in context.selected_asset_check_keys:
            found.append(drift_of(context.instance, nodes, list(dict.fromkeys(batch.partition_key for batch in about))))
        yield from found  # at the end: what is tried again from the beginning has said nothing yet

    return ask


def _hung_on_assets(nodes: SourceNodes, open_batch_limit: timedelta) -> list[AskedCheck]:
    """Each check with its asset: the satellite, the staging asset, or this source's node of a table it loads."""
    asked = []
    for check in checks_of(nodes.source, open_batch_limit):
        if check.table == nodes.source.rows_table:
            key = nodes.staged
        else:
            key = dg.AssetKey(check.satellite) if check.satellite else nodes.of_table(check.table)
        if key == nodes.staged or key in nodes.outputs.values():
            asked.append(AskedCheck(check, dg.AssetCheckKey(key, check.name)))
    return asked


def _evaluated(vault: Vault, asked: AskedCheck, batches: Sequence[Batch]) -> dg.AssetCheckResult:
    """One evaluation for all batches of a run; about everything when the run has no partitions."""
    about = _about(asked.check, batches)
    results = _results(vault, asked.check, about)
    batches_failed = [
        batch.batch_id for batch, result in zip(about, results, strict=True) if batch and not result.passed
    ]
    shown = _shown(vault, asked.check, about, results)
    return dg.AssetCheckResult(
        passed=all(result.passed for result in results),
        asset_key=asked.key.asset_key,
        check_name=asked.key.name,
        severity=SEVERITIES[asked.check.severity],
        description=_description(shown, len(results)),
        metadata={
            "xts/found": sum(result.found for result in shown),
            "xts/partitions": ", ".join(batch.partition_key for batch in batches) or "all",
            **({"xts/batches": batches_failed} if batches_failed else {}),
            **_figures(shown),
            **_joined("xts/advice", [result.advice for result in shown]),
            **_joined("xts/details", [result.details for result in shown]),
            **_table(shown),
        },
    )


def _results(vault: Vault, check: Check, about: Sequence[Batch | None]) -> list[CheckResult]:
    """The result of each; of batches that are asked about together and have nothing to tell, that of their first."""
    results: list[CheckResult] = []
    for at in range(0, len(about), MANY_BATCHES):
        some = about[at : at + MANY_BATCHES]
        batches = [batch for batch in some if batch]
        if (
            check.is_of_keys
            and len(batches) == MANY_BATCHES
            and not _tells(check.run_together(vault.warehouse, batches))
        ):
            results += [check.run(vault.warehouse, batches[0])] * len(batches)
        else:
            results += [check.run(vault.warehouse, batch) for batch in some]
    return results


def _tells(result: CheckResult) -> bool:
    return not result.passed or bool(result.rows)


def _description(shown: Sequence[CheckResult], asked: int) -> str:
    told = "; ".join(result.summary for result in shown[:3]) + (" ..." if len(shown) > 3 else "")
    is_plain = len(shown) == 1 and shown[0].passed and not shown[0].rows
    return f"{told}, and the same of {asked - 1} more" if is_plain and asked > 1 else told


def _shown(
    vault: Vault, check: Check, about: Sequence[Batch | None], results: Sequence[CheckResult]
) -> Sequence[CheckResult]:
    """The results that say something, the newest batch first; where they do not add up, one about all their batches."""
    told = [at for at, result in enumerate(results) if not result.passed]
    told = told or [at for at, result in enumerate(results) if result.rows]
    together = [batch for at in told if (batch := about[at])]
    if check.is_of_keys and len(together) > 1:
        return [check.run_together(vault.warehouse, together)]
    return [results[at] for at in reversed(told)] or results[:1]


def _about(check: Check, batches: Sequence[Batch]) -> Sequence[Batch | None]:
    """What to ask a check about: each batch of the run, or (None) everything.

    A warning speaks of what came with a batch. An error speaks of the tables as they stand, so that everything may be
    asked at once in place of many batches.
    """
    if not batches or check.asks_all or (check.severity == "ERROR" and len(batches) >= MANY_BATCHES):
        return [None]
    return batches


def _figures(shown: Sequence[CheckResult]) -> dict[str, Any]:
    """What the check counted beside the failing rows; figures of several results do not add up, and are left out."""
    facts = shown[0].facts if len(shown) == 1 else {}
    return {f"xts/{name}": of if isinstance(of, int) else spoken(of) for name, of in facts.items()}


def _joined(name: str, texts: Sequence[str]) -> dict[str, Any]:
    different = dict.fromkeys(text for text in texts if text)
    return {name: "; ".join(different)} if different else {}


def _table(failed: Sequence[CheckResult]) -> dict[str, Any]:
    """The first failing rows as a table; a column that only some batches have is empty in the others."""
    rows = [row for result in failed for row in result.rows][:ROWS_SHOWN]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if not columns:
        return {}
    records = [dg.TableRecord({name: _cell(row.get(name)) for name in columns}) for row in rows]
    schema = dg.TableSchema([dg.TableColumn(name, "string") for name in columns])
    return {"xts/rows": dg.MetadataValue.table(records, schema)}


def _cell(value: object) -> str | int | float | bool | None:
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
