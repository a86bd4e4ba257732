"""What waits for a route: one message that is refused blocks no other, and what is dropped is said."""

from __future__ import annotations

import logging

import pytest

from xts_pipeline.orchestration import outbox
from xts_pipeline.orchestration.memory import Memory
from xts_pipeline.orchestration.notify import ATTEMPTS, Message, RouteError
from xts_pipeline.orchestration.outbox import FAILURES, LOOKS, OUTBOX, REFUSALS, deliver
from xts_pipeline_tests.orchestration.listener import Listener
from xts_pipeline_tests.orchestration.project import Project
from xts_pipeline_tests.orchestration.test_alerts import ROUTE
from xts_pipeline_tests.orchestration.test_run_alerts import listener as listener

LOG = logging.getLogger("test")


def look(project: Project, *titles: str) -> str:
    """Deliver messages after what waits; why the route failed."""
    try:
        deliver(Memory(project.instance), [(ROUTE, Message(title, "body")) for title in titles], LOG, [ROUTE])
    except RouteError as error:
        return str(error)
    return ""


def received(listener: Listener) -> list[str]:
    found = [each["title"] for each in listener.received]
    listener.received.clear()
    return found


@pytest.mark.parametrize("bad", [1, FAILURES + 2])
def test_messages_that_are_refused_block_no_other_and_are_given_up_aloud(
    project: Project, listener: Listener, caplog: pytest.LogCaptureFixture, bad: int
) -> None:
    listener.refused = "bad"
    look(project, *(f"bad {number}" for number in range(bad)))
    found = []
    for number in range(3 * REFUSALS * bad):
        look(project, f"good {number}")
        found += received(listener)
    assert [title for title in found if title.startswith("good")] == [f"good {n}" for n in range(3 * REFUSALS * bad)]
    assert look(project) == ""  # nothing waits
    lost = [int(title.split()[1]) for title in found if title.startswith("[dropped]")]
    assert sum(lost) == bad
    for number in range(bad):
        assert f"bad {number}" in " ".join(each.message for each in caplog.records if "given up" in each.message)


def test_a_route_that_is_down_loses_nothing_and_is_left_alone_after_a_few_failures(
    project: Project, listener: Listener
) -> None:
    listener.status = 500
    for number in range(3 * REFUSALS):
        listener.attempts = 0
        assert f"({number + 1} waiting)" in look(project, f"m{number}")
        assert listener.attempts <= ATTEMPTS + FAILURES - 1
    listener.status = 200
    assert look(project) == ""
    assert sorted(received(listener)) == sorted(f"m{number}" for number in range(3 * REFUSALS))


def test_an_outbox_that_is_full_says_how_many_it_dropped(
    project: Project, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    listener.status = 500
    why = look(project, *(f"m{number}" for number in range(OUTBOX + 30)))
    assert f"({OUTBOX} waiting, 30 dropped)" in why
    assert "dropped 30" in caplog.text
    assert "m0; m1" in caplog.text
    listener.status = 200
    look(project)
    *messages, last = received(listener)
    assert len(messages) == OUTBOX
    assert f"m{OUTBOX + 29}" in messages
    assert "m29" not in messages
    assert last.startswith("[dropped] 30 messages")
    look(project, "next")
    assert received(listener) == ["next"]


def test_a_message_that_is_alone_is_given_up_after_a_day(
    project: Project, listener: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert LOOKS >= 24 * 12
    monkeypatch.setattr(outbox, "LOOKS", 3)
    listener.refused = "bad"
    assert [bool(look(project, *titles)) for titles in (["bad"], [], [], [])] == [True, True, True, False]
    assert "given up" in caplog.text


def test_what_an_older_version_kept_is_sent(project: Project, listener: Listener) -> None:
    Memory(project.instance).set(f"xts/outbox/{ROUTE}", '[{"title": "kept", "body": "b"}]')
    look(project)
    assert received(listener) == ["kept"]
