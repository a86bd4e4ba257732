"""The runs of deliveries, as Dagster has them: which are still to come, at work, or over without having loaded it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

import dagster as dg
from dagster._core.storage.tags import ROOT_RUN_ID_TAG

from xts_pipeline.deliveries import KnownDelivery

DELIVERY_TAG = "xts/delivery"  # on a run: the delivery it was requested for
AT_ONCE = 100  # runs asked for in one question
_TO_COME = {dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.MANAGED}
_OVER = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}


class Standing(Enum):
    """How the runs of a delivery stand."""

    NO_RUN = "no run"  # none was made, or it was deleted
    TO_COME = "to come"  # one waits, and reads what is there when it begins
    AT_WORK = "at work"  # one has begun: what it reads was there before
    OVER = "over"  # every one has ended


def standings(instance: dg.DagsterInstance, wanted: Iterable[KnownDelivery]) -> dict[KnownDelivery, Standing]:
    """How the runs of each delivery stand: those requested for it, those that staged it, and their re-executions."""
    deliveries = list(wanted)
    runs: dict[str, list[dg.DagsterRun]] = {}
    for run in _runs_by_tag(instance, DELIVERY_TAG, [delivery.run_key for delivery in deliveries]):
        runs.setdefault(run.tags[DELIVERY_TAG], []).append(run)
    roots = sorted({delivery.root_run for delivery in deliveries if delivery.root_run})
    for some in _some(roots):
        for run in instance.get_runs(dg.RunsFilter(run_ids=some)):
            runs.setdefault(run.run_id, []).append(run)
    for run in _runs_by_tag(instance, ROOT_RUN_ID_TAG, roots):
        runs.setdefault(run.tags[ROOT_RUN_ID_TAG], []).append(run)
    return {
        delivery: _standing([*runs.get(delivery.run_key, ()), *runs.get(delivery.root_run or "", ())])
        for delivery in deliveries
    }


def _runs_by_tag(instance: dg.DagsterInstance, tag: str, values: Sequence[str]) -> list[dg.DagsterRun]:
    return [run for some in _some(values) for run in instance.get_runs(dg.RunsFilter(tags={tag: some}))]


def _some(values: Sequence[str]) -> list[list[str]]:
    return [list(values[first : first + AT_ONCE]) for first in range(0, len(values), AT_ONCE)]


def _standing(runs: Sequence[dg.DagsterRun]) -> Standing:
    statuses = {run.status for run in runs}
    if statuses - _TO_COME - _OVER:
        return Standing.AT_WORK
    if statuses & _TO_COME:
        return Standing.TO_COME
    return Standing.OVER if statuses else Standing.NO_RUN
