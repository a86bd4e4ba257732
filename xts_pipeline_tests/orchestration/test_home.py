"""The settings of a Dagster instance: which will do, and what is said of those that will not."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest

from xts_pipeline.orchestration.home import Home, PoolLimit, judge
from xts_pipeline_tests.orchestration.project import CASE, Project

GOOD = Home(
    is_queued=True,
    max_concurrent_runs=1,
    dequeue_interval=1,
    pools_by_run=True,
    limits={"xts_case": PoolLimit(1, is_explicit=True)},
    slots_freed_after=60,
    tick_retries=240,
    events_one_by_one=False,
)


def failures(home: Home, *, side_by_side: bool = False) -> dict[str, str]:
    judged = judge(home, side_by_side=side_by_side, pools=["xts_case"], has_schedules=True)
    return {of.setting: f"{of.severity}: {of.found}" for of in judged if of.severity != "ok"}


def test_what_is_good_is_good() -> None:
    assert failures(GOOD) == failures(replace(GOOD, max_concurrent_runs=10), side_by_side=True) == {}


@pytest.mark.parametrize(
    ("home", "side_by_side", "setting", "said"),
    [
        (replace(GOOD, is_queued=False), False, "run_coordinator", "ERROR: runs are not queued"),
        (replace(GOOD, dequeue_interval=5), False, "run_coordinator", "WARN: dequeue_interval_seconds is 5"),
        (replace(GOOD, max_concurrent_runs=10), False, "max_concurrent_runs", "ERROR: 10 runs at a time"),
        (replace(GOOD, slots_freed_after=0), False, "run_monitoring", "ERROR: free_slots_after_run_end_seconds"),
        (replace(GOOD, tick_retries=0), False, "scheduler", "ERROR: max_tick_retries is 0"),
        (replace(GOOD, events_one_by_one=True), False, "event_log_storage", "WARN: Dagster's own SQLite files"),
        (replace(GOOD, pools_by_run=False), True, "pools.granularity", "ERROR: pools are held by one op at a time"),
        (replace(GOOD, limits={}), True, "xts_case", "ERROR: no limit is set"),
        (replace(GOOD, limits={"xts_case": PoolLimit(2, True)}), True, "xts_case", "ERROR: the limit is 2"),
        (replace(GOOD, limits={"xts_case": PoolLimit(1, False)}), True, "xts_case", "from default_limit"),
    ],
)
def test_what_is_not_is_said(home: Home, side_by_side: bool, setting: str, said: str) -> None:
    found = failures(home, side_by_side=side_by_side)
    assert list(found) == [setting]
    assert said in found[setting]


def test_every_op_that_opens_the_warehouse_is_in_the_pool_of_its_source(project: Project) -> None:
    project.declare(CASE)
    job = project.definitions.resolve_job_def("load_case")
    pools = {op.name: op.pool for op in job.all_node_defs if isinstance(op, dg.OpDefinition)}
    without = {"checks_case"}  # it only reads
    assert {name for name, pool in pools.items() if pool != "xts_case"} == without
