"""The heartbeat of a record target, and what it means at a time of day: a pure decision, then on real loads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import pytest
from pydantic import ValidationError

from xts_pipeline import Vault
from xts_pipeline.freshness import Deadline, FreshnessState, Heartbeat, judge, read_heartbeat
from xts_pipeline.metadata.monitoring import Alert, Freshness, span_of
from xts_pipeline.metadata.operation import OperatedSource
from xts_pipeline.warehouse import DuckDBWarehouse

NOW = datetime(2026, 1, 10, 9)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
FEED: dict[str, Any] = {
    "source": "feed",
    "record_source": "FEED",
    "applied_timestamp": "at",
    "types": {"at": "timestamp"},
    "hubs": [{"hub": "thing", "business_key": {"id": "integer"}}],
    "satellites": [{"name": "sat_thing", "parent": {"hub": "thing"}, "columns": {"state": "text"}}],
}
AGED = Freshness(max_age="26h")
DUE = Freshness(deadline="0 7 * * *", grace="1h")
LAGGING = Freshness(deadline="0 7 * * *", grace="1h", lag="1d")
TODAY = Deadline(datetime(2026, 1, 9, 8), datetime(2026, 1, 10, 8))


def beat(applied: datetime, known: datetime, confirmed: datetime | None = None, **more: Any) -> Heartbeat:
    confirmed = confirmed or known
    return Heartbeat(applied, known, confirmed, more.pop("newest_load", confirmed), **more)


@pytest.mark.parametrize(
    ("heartbeat", "freshness", "deadline", "state", "reason"),
    [
        (None, AGED, None, "unknown", ""),
        (Heartbeat(), AGED, None, "never_seen", ""),
        (beat(NOW - 0.5 * DAY, NOW), AGED, None, "fresh", ""),
        (beat(NOW - timedelta(hours=26), NOW), AGED, None, "fresh", ""),
        (beat(NOW - 2 * DAY, NOW - 2 * DAY), AGED, None, "late", "feed_silent"),
        (beat(NOW - 2 * DAY, NOW - 2 * DAY, newest_load=NOW), AGED, None, "late", "feed_silent"),
        (beat(NOW - 2 * DAY, NOW - DAY), AGED, None, "late", "data_old"),
        (beat(NOW - 2 * DAY, NOW - 2 * DAY, NOW), AGED, None, "late", "data_old"),
        (beat(NOW - DAY, NOW - timedelta(hours=2)), DUE, TODAY, "fresh", ""),
        (beat(NOW - 2 * DAY, NOW - timedelta(hours=2)), DUE, TODAY, "late", "data_old"),
        (beat(NOW - 330 * DAY, NOW - timedelta(hours=2)), DUE, TODAY, "late", "data_old"),
        (beat(TODAY.opened_at, NOW - timedelta(hours=2)), DUE, TODAY, "late", "data_old"),
        (beat(NOW - 2 * DAY, NOW - timedelta(hours=2)), LAGGING, TODAY, "fresh", ""),
        (beat(NOW - 3 * DAY, NOW - timedelta(hours=2)), LAGGING, TODAY, "late", "data_old"),
        (beat(NOW - 2 * DAY, TODAY.opened_at), LAGGING, TODAY, "late", "feed_silent"),
        (beat(NOW - DAY, TODAY.opened_at), DUE, TODAY, "late", "feed_silent"),
        (beat(NOW - DAY, NOW - 2 * DAY, NOW), DUE, TODAY, "late", "data_old"),
        (beat(NOW - 9 * DAY, NOW - 9 * DAY), DUE, None, "fresh", ""),
    ],
)
def test_what_a_heartbeat_means(
    heartbeat: Heartbeat | None, freshness: Freshness, deadline: Deadline | None, state: str, reason: str
) -> None:
    found = judge(heartbeat, NOW, freshness, deadline)
    assert (found.state, found.reason, found.passed) == (state, reason, state == "fresh")
    assert found.summary


def test_how_late_it_is_counts_from_what_was_allowed() -> None:
    assert judge(beat(NOW - 2 * DAY, NOW - 2 * DAY), NOW, AGED).late_by == timedelta(hours=22)
    assert judge(beat(NOW - 2 * DAY, NOW - 2 * DAY), NOW, DUE, TODAY).late_by == timedelta(hours=1)


@pytest.mark.parametrize(("silent", "state"), [(0, "fresh"), (1, "fresh"), (2, "late")])
def test_a_share_of_silent_keys_is_late_though_the_feed_speaks(silent: int, state: str) -> None:
    freshness = Freshness(max_age="26h", max_silent_keys="1%")
    found = judge(beat(NOW, NOW, keys=100, silent_keys=silent), NOW, freshness)
    assert found.state == state
    assert found.state == "fresh" or (found.reason == "silent_keys" and "2 of 100 keys" in found.summary)


class Feed:
    """A vault whose loads are stamped by hand."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault

    def load(self, stamp: datetime, applied: datetime, *keys: int) -> None:
        rows = pd.DataFrame([{"id": key, "state": f"{stamp}", "at": applied} for key in keys or (1,)])
        self.vault.load("feed", rows, load_timestamp=stamp)

    def heartbeat(self, freshness: Freshness = AGED) -> Heartbeat:
        satellite = self.vault.catalog.source("feed").satellite("sat_thing")
        return read_heartbeat(self.vault.warehouse, satellite, freshness)

    def judged(self, now: datetime, freshness: Freshness = AGED) -> FreshnessState:
        return judge(self.heartbeat(freshness), now, freshness)


@pytest.fixture
def feed() -> Iterator[Feed]:
    with Vault.open([FEED], DuckDBWarehouse(duckdb.connect(":memory:"))) as vault:
        yield Feed(vault)


def test_a_feed_that_never_spoke_has_no_heartbeat(feed: Feed) -> None:
    assert feed.heartbeat() == Heartbeat()
    feed.vault.load("feed", pd.DataFrame({"id": [], "state": [], "at": []}))
    assert feed.judged(NOW).state == "never_seen"


def test_a_heartbeat_is_seen_though_nothing_changed(feed: Feed) -> None:
    for days in (2, 1, 0):
        feed.vault.load(
            "feed",
            pd.DataFrame([{"id": 1, "state": "same", "at": NOW - days * DAY}]),
            load_timestamp=NOW - days * DAY,
        )
    assert feed.heartbeat() == Heartbeat(NOW, NOW, NOW, NOW)
    assert feed.judged(NOW + DAY).state == "fresh"


def test_a_history_backfill_does_not_turn_a_silent_feed_green(feed: Feed) -> None:
    feed.load(NOW - 3 * DAY, NOW - 3 * DAY)
    before = feed.judged(NOW)
    assert (before.state, before.reason) == ("late", "feed_silent")
    for day in range(40, 4, -1):  # new loads of old applied days
        feed.load(NOW - timedelta(minutes=day), NOW - day * DAY)
    after = feed.judged(NOW)
    assert (after.state, after.reason, after.late_by) == ("late", "feed_silent", before.late_by)
    assert "what was loaded since is older" in after.summary
    heartbeat = feed.heartbeat()
    assert heartbeat.confirmed_at == NOW - 3 * DAY
    assert heartbeat.newest_load == NOW - timedelta(minutes=5)
    deadline = Deadline(NOW - DAY, NOW)
    assert judge(heartbeat, NOW, DUE, deadline).reason == "feed_silent"
    feed.load(NOW, NOW)
    assert feed.judged(NOW).state == "fresh"


def test_the_newest_state_stated_again_is_no_news_but_a_sign_of_life(feed: Feed) -> None:
    feed.load(NOW - 3 * DAY, NOW - 3 * DAY)
    feed.load(NOW - DAY, NOW - 3 * DAY)
    assert feed.heartbeat() == Heartbeat(NOW - 3 * DAY, NOW - 3 * DAY, NOW - DAY, NOW - DAY)
    assert feed.judged(NOW).reason == "data_old"


def mixed(feed: Feed, stamp: datetime, **applied: datetime) -> None:
    """A batch of several applied timestamps, one a key."""
    rows = [{"id": index, "state": f"{stamp}", "at": at} for index, at in enumerate(applied.values())]
    feed.vault.load("feed", pd.DataFrame(rows), load_timestamp=stamp)


@pytest.mark.parametrize("future", [datetime(2099, 1, 1), datetime(9999, 12, 31, 23, 59, 59), NOW + 1.1 * DAY])
def test_a_fact_of_the_future_turns_no_silent_feed_green(feed: Feed, future: datetime) -> None:
    feed.load(NOW - 5 * DAY, NOW - 5 * DAY)
    before = feed.judged(NOW)
    mixed(feed, NOW - 2 * MINUTE, old=NOW - 900 * DAY, typo=future)
    feed.load(NOW - MINUTE, future)
    after = feed.judged(NOW)
    assert (after.state, after.reason, after.late_by) == ("late", "feed_silent", before.late_by)
    heartbeat = feed.heartbeat()
    assert heartbeat == Heartbeat(NOW - 5 * DAY, NOW - 5 * DAY, NOW - 5 * DAY, NOW - MINUTE)
    assert judge(heartbeat, NOW, DUE, Deadline(NOW - DAY, NOW)).state == "late"
    feed.load(NOW, NOW - MINUTE)
    assert feed.judged(NOW).state == "fresh"


def test_a_batch_with_a_fact_of_the_future_counts_by_its_other_facts(feed: Feed) -> None:
    feed.load(NOW - 5 * DAY, NOW - 5 * DAY)
    mixed(feed, NOW, today=NOW - MINUTE, typo=datetime(2099, 1, 1))
    assert feed.heartbeat() == Heartbeat(NOW - MINUTE, NOW, NOW, NOW)
    assert feed.judged(NOW).state == "fresh"


def test_a_feed_of_nothing_but_the_future_says_so(feed: Feed) -> None:
    feed.load(NOW, datetime(2099, 1, 1))
    found = feed.judged(NOW)
    assert found.state == "never_seen"
    assert "dated more than a day after their load" in found.summary


def test_a_date_east_of_utc_counts_with_its_load(feed: Feed) -> None:
    feed.load(NOW - 3 * DAY, NOW - 2.5 * DAY)
    assert feed.heartbeat().applied_timestamp == NOW - 3 * DAY
    assert feed.judged(NOW).reason == "feed_silent"


def test_a_gap_that_is_filled_turns_no_feed_green_that_missed_its_deadline(feed: Feed) -> None:
    feed.load(NOW - 300 * DAY, NOW - 300 * DAY)
    for day in range(290, 2, -40):
        feed.load(NOW - day * MINUTE, NOW - day * DAY)
        assert judge(feed.heartbeat(), NOW, DUE, TODAY).state == "late"
    feed.load(NOW - MINUTE, NOW - 0.5 * DAY)
    assert judge(feed.heartbeat(), NOW, DUE, TODAY).state == "fresh"


def test_a_backfill_with_facts_of_the_future_brings_no_silent_key_back(feed: Feed) -> None:
    freshness = Freshness(max_age="26h", max_silent_keys="10%", silent_batches=1)
    feed.load(NOW - 2 * DAY, NOW - 2 * DAY, *range(10))
    feed.load(NOW - DAY, NOW - DAY, *range(8))
    mixed(feed, NOW, **{f"old{key}": NOW - 900 * DAY for key in range(10)}, typo=datetime(2099, 1, 1))
    assert feed.heartbeat(freshness).silent_keys == 3  # 8 and 9, and the one that the backfill brought


def test_silent_keys_are_those_the_newest_batches_lack_whatever_came_since(feed: Feed) -> None:
    freshness = Freshness(max_age="26h", max_silent_keys="10%", silent_batches=2)
    feed.load(NOW - 3 * DAY, NOW - 3 * DAY, *range(1, 11))
    feed.load(NOW - 2 * DAY, NOW - 2 * DAY, *range(1, 11))
    assert feed.heartbeat(freshness).silent_keys == 0
    feed.load(NOW - DAY, NOW - DAY, *range(1, 10))
    assert feed.heartbeat(freshness).silent_keys == 0  # 10 was in the one before
    feed.load(NOW, NOW, *range(1, 9))
    feed.load(NOW + timedelta(minutes=1), NOW - 9 * DAY, *range(1, 11))  # a backfill brings no key back
    found = feed.judged(NOW, freshness)
    assert (feed.heartbeat(freshness).keys, feed.heartbeat(freshness).silent_keys) == (10, 1)
    assert found.state == "fresh"
    feed.load(NOW + timedelta(minutes=2), NOW + timedelta(minutes=2), *range(1, 9))
    assert feed.judged(NOW, freshness).reason == "silent_keys"


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({}, "max_age: 26h"),
        ({"max_age": "26h", "deadline": "0 7 * * *"}, "one of max_age"),
        ({"max_age": "26 hours"}, "like 26h or 30min"),
        ({"max_age": "0h"}, "is no duration"),
        ({"max_age": "26h", "grace": "2h"}, "grace goes with a deadline"),
        ({"max_age": "26h", "lag": "1d"}, "lag goes with a deadline"),
        ({"deadline": "seven"}, "five fields"),
        ({"deadline": "0 7 * * *", "timezone": "Mars"}, "no IANA time zone"),
        ({"max_age": "26h", "max_silent_keys": "1"}, "like 1%"),
        ({"max_age": "26h", "max_silent_keys": "101%"}, "like 1%"),
    ],
)
def test_a_fault_says_what_to_write(declared: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Freshness(**declared)


def test_freshness_needs_a_satellite_with_heartbeats() -> None:
    plain = [{**FEED["satellites"][0], "xts_assisted": False}]
    with pytest.raises(ValidationError, match="leave xts_assisted on"):
        OperatedSource(**{**FEED, "satellites": plain, "freshness": {"max_age": "26h"}})


def test_a_url_in_the_place_of_a_variable_is_not_repeated() -> None:
    with pytest.raises(ValidationError, match="name of an environment variable") as raised:
        Alert(route="slack://xoxb-token")
    assert all("xoxb" not in fault["msg"] for fault in raised.value.errors())


def test_an_alert_names_checks_there_are_and_a_severity() -> None:
    with pytest.raises(ValidationError, match="violations is no check"):
        Alert(checks=["violations"])
    alert = Alert(checks=["freshness"], severity="ERROR")
    assert [alert.wants("freshness", "ERROR"), alert.wants("freshness", "WARN"), alert.wants("lateness", "ERROR")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "span"), [("26h", timedelta(hours=26)), ("1.5d", timedelta(hours=36)), ("30min", timedelta(minutes=30))]
)
def test_a_duration_is_a_number_and_a_unit(text: str, span: timedelta) -> None:
    assert span_of(text) == span


@pytest.mark.parametrize(
    ("alert", "told"),
    [
        ({"checks": []}, "alerts of nothing"),
        ({"checks": ["sequence_violations"], "severity": "ERROR"}, "write severity: WARN"),
        ({"checks": ["hashdiff", "schema_drift"], "severity": "ERROR"}, "schema_drift can never alert"),
        ({"checks": ["freshness"]}, "declares no freshness"),
        ({"checks": ["late_rows"]}, "every satellite keeps an XTS"),
        ({"checks": ["rejected_rows"]}, "on_error: quarantine"),
    ],
)
def test_an_alert_that_can_never_fire_is_refused(alert: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        OperatedSource(**{**FEED, "alerts": [alert]})


def test_alerts_that_can_fire_are_taken() -> None:
    plain = [*FEED["satellites"], {**FEED["satellites"][0], "name": "sat_plain", "xts_assisted": False}]
    alerts = [{"severity": "ERROR"}, {"checks": ["freshness", "run_failure"], "severity": "ERROR"}]
    alerts.append({"checks": ["late_rows", "rejected_rows", "sequence_violations", "hashdiff", "freshness"]})
    freshness = {"max_age": "26h", "severity": "ERROR"}
    source = {**FEED, "satellites": plain, "on_error": "quarantine", "freshness": freshness, "alerts": alerts}
    assert len(OperatedSource(**source).alerts) == 3
    with pytest.raises(ValidationError, match="freshness can never alert"):
        OperatedSource(**{**source, "freshness": {"max_age": "26h"}})
    with pytest.raises(ValidationError, match="keeps an XTS"):
        OperatedSource(**{**FEED, "satellites": plain[1:], "alerts": [{"checks": ["xts_complete"]}]})
