"""What can be known of the tick that is being evaluated: whether Dagster keeps a record of it, and tries it again.

Dagster evaluates a sensor or schedule in two ways: as a tick, which has a record and whose requests become runs, and as
a preview ("Preview tick result" in the UI), which has none and whose requests become nothing. Its daemon hands over
the place of the tick's log, which ends in the number of the record; for a preview Dagster makes one up, of a time.
"""

from __future__ import annotations

import dagster as dg

Context = dg.SensorEvaluationContext | dg.ScheduleEvaluationContext


def is_preview(context: Context) -> bool:
    """Whether nothing comes of what this evaluation asks for; False where no log is kept at all, as in tests."""
    return bool(context.log_key) and _tick_id(context) is None


def comes_back(context: Context, at_most: int) -> bool:
    """Whether Dagster tries this tick again, should it fail now, and has not done so `at_most` times yet."""
    tick_id, storage = _tick_id(context), context.instance.schedule_storage
    if tick_id is None or storage is None:
        return False
    retries = getattr(context.instance.scheduler, "max_tick_retries", 0)
    failed = [tick.tick_data.failure_count for tick in storage.get_ticks_by_ids([tick_id])]
    return bool(failed) and failed[0] < min(retries, at_most)


def _tick_id(context: Context) -> int | None:
    last = context.log_key[-1] if context.log_key else ""
    return int(last) if last.isdigit() else None
