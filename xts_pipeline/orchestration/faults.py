"""What an op does with a fault: what may pass by itself is tried again, what is wrong with the data is not.

No op has a retry policy of Dagster's: that one retries every exception, and a run that is being cancelled too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import dagster as dg
import duckdb

from xts_pipeline.errors import UnreachableError, WarehouseBusyError, XtsError
from xts_pipeline.metadata import Catalog
from xts_pipeline.orchestration.resource import VaultResource
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse import working_on
from xts_pipeline.warehouse.duckdb import is_held

# 5, 15, 35, 75 seconds on average, each between nothing and twice that, so that two that met do not meet again
RETRIES = dg.RetryPolicy(max_retries=4, delay=5, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
BACKFILL_TAGS = frozenset({"dagster/backfill", "dagster/asset_partition_range_start"})
Context = dg.AssetExecutionContext | dg.AssetCheckExecutionContext


def is_transient(fault: Exception) -> bool:
    """Whether a fault may pass by itself: a lock that another process holds, a database that cannot be reached."""
    if isinstance(fault, duckdb.IOException):
        return is_held(fault)
    return isinstance(fault, WarehouseBusyError | UnreachableError)


@contextmanager
def told_apart(context: Context) -> Iterator[None]:
    """Ask for a retry of the op after a transient fault; fail it for good, in plain words, after one of the data's.

    Anything else passes through: it is a fault of this project or of the machine, and its traceback is wanted.
    """
    try:
        yield
    except Exception as fault:
        if is_transient(fault):
            attempt = context.op_execution_context.retry_number + 1
            context.log.warning(f"attempt {attempt} of {RETRIES.max_retries + 1} failed, which may pass: {fault}")
            pause = RETRIES.calculate_delay(attempt)
            raise dg.RetryRequested(max_retries=RETRIES.max_retries, seconds_to_wait=pause) from fault
        if isinstance(fault, XtsError):
            raise dg.Failure(description=str(fault), allow_retries=False) from fault
        raise


@contextmanager
def working_vault(context: Context, vaults: VaultResource, catalog: Catalog) -> Iterator[Vault]:
    """The vault for the work of one op, its faults told apart; an op that has to wait for it says for whom."""
    backfill = not BACKFILL_TAGS.isdisjoint(context.run.tags)
    with told_apart(context), working_on(run=context.run.run_id, backfill=backfill), ExitStack() as stack:
        try:
            vault = stack.enter_context(vaults.vault(catalog, patience=0))
        except WarehouseBusyError as busy:
            context.log.warning(f"waiting: {busy}{_in_progress(context)}")
            vault = stack.enter_context(vaults.vault(catalog))
        yield vault


def _in_progress(context: Context) -> str:
    """The other runs that are in progress, of which one may be who holds it."""
    started = context.instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]), limit=6)
    others = [f"{run.job_name} ({run.run_id})" for run in started if run.run_id != context.run.run_id]
    return f". In progress: {', '.join(others)}" if others else ". No other run is in progress"
