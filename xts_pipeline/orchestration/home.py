"""What a Dagster instance must be set to for the sources to load right and well, and setting the limits of their pools.

Helping (see ARCHITECTURE.md) keeps the timeline right under any of these; what they spare is waiting and lost places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import dagster as dg
from dagster._core.instance.config import PoolGranularity
from dagster._core.run_coordinator import QueuedRunCoordinator
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from xts_pipeline.orchestration.event_log import EventLog

Severity = Literal["ok", "WARN", "ERROR"]


@dataclass(frozen=True)
class PoolLimit:
    """The limit of a pool; one that comes from `default_limit` is not enforced for the first runs of a queue."""

    limit: int
    is_explicit: bool


@dataclass(frozen=True)
class Home:
    """The settings that matter."""

    is_queued: bool  # whether runs are queued at all, rather than started at once
    max_concurrent_runs: int
    dequeue_interval: float
    pools_by_run: bool  # whether a pool is held by a run, rather than by one op at a time
    limits: Mapping[str, PoolLimit]
    slots_freed_after: int  # seconds after a run's end; 0 is never
    tick_retries: int
    events_one_by_one: bool  # whether Dagster's own SQLite event log is used


@dataclass(frozen=True)
class Judged:
    """One setting: whether it will do, what it is, and what to do about it."""

    severity: Severity
    setting: str
    found: str
    advice: str = ""


def read_home(instance: dg.DagsterInstance) -> Home:
    """Read the settings of an instance."""
    coordinator: Any = instance.run_coordinator
    queued = isinstance(coordinator, QueuedRunCoordinator)
    config = instance.get_concurrency_config()
    monitoring = instance.run_monitoring_settings
    limits = instance.event_log_storage.get_pool_limits()
    return Home(
        is_queued=queued,
        max_concurrent_runs=config.run_queue_config.max_concurrent_runs if config.run_queue_config else -1,
        dequeue_interval=float(coordinator.dequeue_interval_seconds) if queued else 0,
        pools_by_run=config.pool_config.pool_granularity is PoolGranularity.RUN,
        limits={limit.name: PoolLimit(limit.limit, not limit.from_default) for limit in limits},
        slots_freed_after=int(monitoring.get("free_slots_after_run_end_seconds") or 0)
        if monitoring.get("enabled")
        else 0,
        tick_retries=int(getattr(instance.scheduler, "max_tick_retries", 0)),
        events_one_by_one=isinstance(instance.event_log_storage, SqliteEventLogStorage)
        and not isinstance(instance.event_log_storage, EventLog),
    )


def set_limits(instance: dg.DagsterInstance, pools: Iterable[str]) -> None:
    """Set the limit of each pool to 1, explicitly."""
    for pool in pools:
        instance.event_log_storage.set_concurrency_slots(pool, 1)


def judge(home: Home, *, side_by_side: bool, pools: Iterable[str], has_schedules: bool) -> list[Judged]:
    """Judge the settings: for one run at a time (DuckDB), or for sources side by side, each by a pool of its own."""
    judged = [_queue(home), *(_side_by_side(home, pools) if side_by_side else [_one_at_a_time(home)])]
    freed = home.slots_freed_after
    judged.append(
        Judged("ok", "run_monitoring", f"places are freed {freed} s after a run's end")
        if freed
        else Judged(
            "ERROR",
            "run_monitoring",
            "free_slots_after_run_end_seconds is not set",
            "a cancelled run holds its place for ever: set it to 60, with enabled: true",
        )
    )
    if home.events_one_by_one:
        judged.append(
            Judged(
                "WARN",
                "event_log_storage",
                "Dagster's own SQLite files, written an event at a time",
                "a long backfill in one run takes twice as long: copy event_log_storage from the shipped file",
            )
        )
    if has_schedules:
        judged.append(
            Judged("ok", "scheduler", f"a tick that fails is tried again {home.tick_retries} times")
            if home.tick_retries
            else Judged(
                "ERROR",
                "scheduler",
                "max_tick_retries is 0",
                "a tick that finds the warehouse busy is given up, and its deliveries wait for the next: set it to 240",
            )
        )
    return judged


def _queue(home: Home) -> Judged:
    if not home.is_queued:
        return Judged("ERROR", "run_coordinator", "runs are not queued", "set the class QueuedRunCoordinator")
    if home.dequeue_interval > 1:
        return Judged(
            "WARN",
            "run_coordinator",
            f"dequeue_interval_seconds is {home.dequeue_interval:g}",
            "a backfill waits that long between any two runs: set it to 1",
        )
    return Judged("ok", "run_coordinator", "runs are queued, and taken from the queue every second")


def _one_at_a_time(home: Home) -> Judged:
    if home.max_concurrent_runs == 1:
        return Judged("ok", "max_concurrent_runs", "one run at a time")
    return Judged(
        "ERROR",
        "max_concurrent_runs",
        f"{home.max_concurrent_runs} runs at a time",
        "one process writes a DuckDB file at a time, and the others wait and fail: set it to 1",
    )


def _side_by_side(home: Home, pools: Iterable[str]) -> list[Judged]:
    judged = [
        Judged("ok", "pools.granularity", "a run holds its pool from beginning to end")
        if home.pools_by_run
        else Judged(
            "ERROR",
            "pools.granularity",
            "pools are held by one op at a time",
            "another run of the source comes in between SWITCH and load: set it to run",
        )
    ]
    for pool in pools:
        limit = home.limits.get(pool)
        if limit is not None and limit.is_explicit and limit.limit == 1:
            judged.append(Judged("ok", pool, "one run of the source at a time"))
            continue
        found = "no limit is set" if limit is None else f"the limit is {limit.limit}"
        if limit is not None and not limit.is_explicit:
            found += ", from default_limit, which is not enforced for the first runs of a queue"
        judged.append(Judged("ERROR", pool, found, "run `xts doctor --fix`, which sets it to 1"))
    return judged
