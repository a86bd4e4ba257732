"""`make run`: loads the two bundled examples through Dagster, in the order of delivery, and shows what happened."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import dagster as dg
from rich import box
from rich.console import Console
from rich.table import Table

from xts_pipeline.cycle import NORMAL
from xts_pipeline.definitions import DEFS_FOLDER, defs
from xts_pipeline.ledger import Batch, Figures, Step, newest_batch, read_steps
from xts_pipeline.metadata import Catalog
from xts_pipeline.orchestration.configured import ConfiguredVault
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse import configured_url

DELIVERED = {
    "sapbw_customer": ("2021-01-01", "2021-01-03", "2021-01-02"),
    "browser_compat": ("2022-08-30", "2023-12-15", "2025-03-25", "2025-08-22", "2025-08-26", "2026-01-30"),
}
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
COLUMNS = ("partition", "satellite", "SWITCH", "branch", "inserted", "copied", "violations", "batch")
NUMBERS = COLUMNS[4:7]


def main() -> int:
    """Load, report, answer; 1 when a run failed."""
    console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)
    replayed: dict[tuple[str, str], bool] = {}
    with dg.DagsterInstance.get() as instance:
        for source, partitions in DELIVERED.items():
            instance.add_dynamic_partitions(f"{source}_batches", sorted(partitions))
            for partition in partitions:
                console.print(f"Dagster runs load_{source}, partition {partition}")
                replayed[source, partition] = _run(instance, source, partition)
    with ConfiguredVault().vault(Catalog.read(sorted(DEFS_FOLDER.glob("*/defs.yaml")))) as vault:
        for source in DELIVERED:
            console.print(f"\n[bold]{source}: load cycles in the order of delivery")
            console.print(_cycles(vault, source, replayed))
        console.print("[bold]Where customer 1004 lived: the timeline before and after the late extract")
        console.print(_corrected_timeline(vault))
        console.print("[bold]Did Chrome support `color-scheme: only light` on 1 June 2022? Two answers, as of")
        console.print(_two_answers(vault))
    if all(replayed.values()):
        console.print("Everything was replayed: the files hold what they held, and nothing in the vault changed.")
    console.print(
        f"The vault is {configured_url()}. Look around: `make ui`, `.venv/bin/xts status`, `.venv/bin/xts violations`."
    )
    return 0


def _run(instance: dg.DagsterInstance, source: str, partition: str) -> bool:
    """Run the load of one partition in this process; whether it was a replay."""
    job = defs.resolve_job_def(f"load_{source}")
    run = job.execute_in_process(instance=instance, partition_key=partition, run_config=QUIET)
    for event in run.get_asset_materialization_events():
        if event.asset_key == dg.AssetKey(["staged", source]):
            return bool(event.materialization.metadata["xts/replayed"].value)
    raise AssertionError(f"the run of {source}, {partition} staged nothing")


def _cycles(vault: Vault, source: str, replayed: dict[tuple[str, str], bool]) -> Table:
    """What each cycle of a source found and wrote, satellite by satellite, from the ledger."""
    table = _table()
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in NUMBERS else "left")
    for partition in DELIVERED[source]:
        batch = newest_batch(vault.warehouse, source, partition)
        for row in _rows(batch, read_steps(vault.warehouse, batch)):
            table.add_row(*row, "replayed" if replayed[source, partition] else "new")
    return table


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))


def _rows(batch: Batch, steps: Sequence[Step]) -> Iterator[tuple[str, ...]]:
    by_name = {step.step: step.figures for step in steps}
    for step in steps:
        if step.kind == "satellite":
            logged = by_name[f"xts:{step.subject}"]
            written = (step.figures.rows_inserted, step.figures.rows_copied, logged.late_rows)
            yield (
                batch.partition_key,
                step.subject,
                _verdict(by_name[f"switch:{step.subject}"]),
                step.figures.verdict or "",
                *(f"{figure:,}" for figure in written),
            )


def _verdict(asked: Figures) -> str:
    if asked.verdict == NORMAL:
        return f"in sequence, {asked.rows_read:,} states"
    return f"{asked.late_rows:,} late, {asked.corrected_rows:,} corrected of {asked.rows_read:,} states"


def _corrected_timeline(vault: Vault) -> Table:
    """Customer 1004 moved away and back: a felony, since the late extract falls between two equal states."""
    before = newest_batch(vault.warehouse, "sapbw_customer", "2021-01-03").load_timestamp
    after = newest_batch(vault.warehouse, "sapbw_customer", "2021-01-02").load_timestamp
    table = _table()
    for column in ("day", "known before it", "known after it", "row"):
        table.add_column(column)
    for day in ("2021-01-01", "2021-01-02", "2021-01-03", "2021-01-04"):
        states = [vault.as_of("sat_sapbw_address", day, known_at) for known_at in (before, after)]
        then, now = (state[state["customer_id"] == "1004"].iloc[0] for state in states)
        table.add_row(day, then["city"], now["city"], f"{now['dv_xts_event']} of {now['dv_applied_timestamp']:%d %b}")
    return table


def _two_answers(vault: Vault) -> Table:
    """One question about the past, as of two moments of knowing."""
    table = _table()
    for column in ("as known after the extract of", "answer", "since version", "true since"):
        table.add_column(column)
    for partition in (DELIVERED["browser_compat"][0], DELIVERED["browser_compat"][-1]):
        known_at = newest_batch(vault.warehouse, "browser_compat", partition).load_timestamp
        states = vault.as_of("sat_mdn_support", valid_at="2022-06-01", known_at=known_at)
        asked = (states["feature"] == "css.properties.color-scheme.only_light") & (states["browser"] == "chrome")
        state = states[asked].iloc[0]
        table.add_row(partition, state["support"], state["version"], f"{state['dv_applied_timestamp']:%Y-%m-%d}")
    return table


if __name__ == "__main__":
    sys.exit(main())
