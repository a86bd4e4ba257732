"""Is the feed alive? The newest heartbeat of each record target, and what it means at a time of day.

Two clocks are kept apart. The applied timestamp tells how old the data is; the load timestamp tells when the source
last spoke of its newest state. A backfill of old days has new load timestamps and old applied ones: it moves neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from xts_pipeline.checks import spoken
from xts_pipeline.metadata import Satellite
from xts_pipeline.metadata.monitoring import Freshness, span_of
from xts_pipeline.staging.tables import known_columns
from xts_pipeline.warehouse import Transaction, Warehouse

State: TypeAlias = Literal["fresh", "late", "never_seen", "unknown"]


@dataclass(frozen=True)
class Heartbeat:
    """The newest heartbeat of one record target. Times are UTC; all None when it has none yet.

    A fact that is dated up to a day after its load counts with its load: a date east of UTC, a clock that is fast. One
    that is dated later yet counts for nothing: the future says nothing about the feed.
    """

    applied_timestamp: datetime | None = None  # how new the newest state is
    known_since: datetime | None = None  # the load that brought it first
    confirmed_at: datetime | None = None  # the newest load that stated it
    newest_load: datetime | None = None  # of any state, however old
    keys: int = 0  # of the satellite; counted when a share of silent ones is declared
    silent_keys: int = 0  # those that the newest batches lack


@dataclass(frozen=True)
class Deadline:
    """The newest deadline that is over, grace included: something newer must be known since `opened_at`. UTC.

    What was loaded since may be old all the same: the newest state must be dated after `opened_at`, too, or as long
    before it as the source lags.
    """

    opened_at: datetime
    due_at: datetime


@dataclass(frozen=True)
class FreshnessState:
    """What the heartbeat of a record target means."""

    state: State
    summary: str  # one sentence
    reason: Literal["", "data_old", "feed_silent", "silent_keys"] = ""
    late_by: timedelta | None = None
    heartbeat: Heartbeat | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing needs to be done."""
        return self.state == "fresh"


def judge(
    heartbeat: Heartbeat | None, now: datetime, freshness: Freshness, deadline: Deadline | None = None
) -> FreshnessState:
    """Decide what a heartbeat means at `now`; None is one that could not be read.

    `deadline` is the newest that is over, where the source declares deadlines; None when none is over yet.
    """
    if heartbeat is None:
        return FreshnessState("unknown", "the warehouse is held by a load, so that the heartbeat could not be read")
    if heartbeat.applied_timestamp is None or heartbeat.confirmed_at is None:
        of_future = "but such as are dated more than a day after their load" if heartbeat.newest_load else ""
        return FreshnessState(
            "never_seen", f"no batch has ever brought a state {of_future}".strip(), heartbeat=heartbeat
        )
    overdue = _overdue(heartbeat, now, freshness, deadline)
    if overdue is not None:
        late_by, silent = overdue
        return FreshnessState(
            "late",
            _late_summary(heartbeat, now, late_by, silent),
            "feed_silent" if silent else "data_old",
            late_by,
            heartbeat,
        )
    allowed = freshness.silent_share
    if allowed is not None and heartbeat.silent_keys > allowed * heartbeat.keys:
        share = 100 * heartbeat.silent_keys / heartbeat.keys
        told = (
            f"{heartbeat.silent_keys:,} of {heartbeat.keys:,} keys ({share:.2g}%) are missing in the newest "
            f"{freshness.silent_batches} batches; {freshness.max_silent_keys} may be"
        )
        return FreshnessState("late", told, "silent_keys", None, heartbeat)
    age = spoken(now - heartbeat.applied_timestamp)
    return FreshnessState("fresh", f"the newest state is {age} old", heartbeat=heartbeat)


def _overdue(
    heartbeat: Heartbeat, now: datetime, freshness: Freshness, deadline: Deadline | None
) -> tuple[timedelta, bool] | None:
    """By how much the newest state is late, and whether that is because the feed is silent; None when it is in time."""
    assert heartbeat.applied_timestamp is not None
    assert heartbeat.confirmed_at is not None
    assert heartbeat.known_since is not None
    if freshness.max_age is not None:
        allowed = span_of(freshness.max_age)
        late_by = now - heartbeat.applied_timestamp - allowed
        return (late_by, now - heartbeat.confirmed_at > allowed) if late_by > timedelta(0) else None
    if deadline is None:
        return None
    lag = span_of(freshness.lag) if freshness.lag else timedelta(0)
    is_newer = heartbeat.applied_timestamp > deadline.opened_at - lag
    if is_newer and heartbeat.known_since > deadline.opened_at:
        return None
    return now - deadline.due_at, heartbeat.confirmed_at <= deadline.opened_at


def _late_summary(heartbeat: Heartbeat, now: datetime, late_by: timedelta, silent: bool) -> str:
    assert heartbeat.applied_timestamp is not None
    assert heartbeat.confirmed_at is not None
    newest = f"the newest state is of {heartbeat.applied_timestamp:%Y-%m-%d %H:%M} UTC"
    confirmed = spoken(now - heartbeat.confirmed_at)
    if not silent:
        return f"late by {spoken(late_by)}: data old; {newest}, and a batch stated it {confirmed} ago"
    older = heartbeat.newest_load is not None and heartbeat.newest_load > heartbeat.confirmed_at
    since = "; what was loaded since is older" if older else ""
    return f"late by {spoken(late_by)}: feed silent; {newest}, and came {confirmed} ago{since}"


def read_heartbeat(warehouse: Warehouse, satellite: Satellite, freshness: Freshness) -> Heartbeat:
    """The heartbeat of a satellite's record target, read from the XTS.

    The ledger says which batches state the newest applied timestamps; only their facts are read.
    """
    values = {"satellite": satellite.name, "record_target": satellite.record_target}
    with warehouse.transaction() as transaction:
        if satellite.table not in known_columns(transaction, warehouse):
            return Heartbeat()
        render = warehouse.renderer.render
        (front,) = transaction.rows(render("monitor/front_batches", satellite=satellite, batches=1), values)
        if front["first_load_timestamp"] is None:
            return Heartbeat(newest_load=front["newest_load_timestamp"])
        statement = render("monitor/heartbeat", satellite=satellite)
        (newest,) = transaction.rows(statement, {**values, **front})
        keys, silent = _silent_keys(transaction, warehouse, satellite, freshness)
    return Heartbeat(
        newest["heartbeat"], newest["known_since"], newest["confirmed_at"], front["newest_load_timestamp"], keys, silent
    )


def _silent_keys(
    transaction: Transaction, warehouse: Warehouse, satellite: Satellite, freshness: Freshness
) -> tuple[int, int]:
    """How many keys the satellite has, and how many of them the newest batches lack; not counted when not declared."""
    if freshness.silent_share is None:
        return 0, 0
    render, batches = warehouse.renderer.render, freshness.silent_batches
    values = {"satellite": satellite.name, "record_target": satellite.record_target}
    (front,) = transaction.rows(render("monitor/front_batches", satellite=satellite, batches=batches), values)
    statement = render("monitor/silent_keys", satellite=satellite, batches=batches)
    (counted,) = transaction.rows(statement, {**values, **front})
    return int(counted["all_keys"]), int(counted["silent_keys"])
