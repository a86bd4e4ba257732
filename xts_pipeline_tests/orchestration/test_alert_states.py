"""States that last: another kind of fault is news, the same one is not; and what a message may hold."""

from __future__ import annotations

from typing import Any

import dagster as dg
import duckdb
import pytest

from xts_pipeline.ledger import utc_now
from xts_pipeline.orchestration.memory import Draft, Memory
from xts_pipeline.orchestration.news import news, repeated
from xts_pipeline.orchestration.notices import Notice
from xts_pipeline_tests.orchestration.listener import Listener
from xts_pipeline_tests.orchestration.project import CASE, HEADER, Project
from xts_pipeline_tests.orchestration.test_alerts import ALERTED, ROUTE, SHORT, finished, look
from xts_pipeline_tests.orchestration.test_run_alerts import listener as listener

CANARY = "ann-4111"


def titles(listener: Listener) -> list[str]:
    found = [each["title"] for each in listener.received]
    listener.received.clear()
    return found


def told(draft: Draft, notice: Notice) -> bool:
    draft.changes.update(repeated(draft, notice, ROUTE))
    changes = news(draft, notice, ROUTE)
    draft.changes.update(changes)
    return bool(changes)


def test_another_kind_of_fault_is_told_until_the_state_ends(project: Project) -> None:
    draft = Draft(Memory(project.instance))

    def seen(at: float, *kinds: str) -> Notice:
        return Notice("case", "hashdiff", "sat", "ERROR", not kinds, "", kinds=kinds, at=at)

    assert [told(draft, seen(at, *kinds)) for at, kinds in enumerate(["a", "a", "ab", "b", "a"])] == [
        *(True, False, True, False, False)
    ]
    assert told(draft, seen(6))
    assert not told(draft, seen(5, "a"))  # older than the end, and looked at later
    assert told(draft, seen(7, "a"))
    assert not told(draft, seen(6.5))  # older than the fault
    assert told(draft, seen(8))


def test_a_state_that_an_older_version_kept_is_read(project: Project) -> None:
    memory = Memory(project.instance)
    memory.set(f"xts/state/case/hashdiff/sat/{ROUTE}", "failing")
    assert news(memory, Notice("case", "hashdiff", "sat", "ERROR", True, "", at=1.0), ROUTE)
    memory.set(f"xts/state/case/hashdiff/sat/{ROUTE}", "passing")
    assert not news(memory, Notice("case", "hashdiff", "sat", "ERROR", True, "", at=1.0), ROUTE)


def test_each_new_column_of_a_drift_is_told(project: Project, listener: Listener) -> None:
    project.declare(ALERTED)
    for partition, header in (("d1", HEADER), ("d2", HEADER), ("d3", (*SHORT, "iban"))):
        project.deliver("case", partition, [(1, "2021-01-01", "SYDNEY", "x")], header)
        finished(project, project.run("case", partition))
    assert [each["message"].splitlines()[0].split(": ")[1] for each in listener.received] == ["mood (d1)", "iban (d3)"]


def test_other_damaged_keys_are_told_and_the_same_are_not(project: Project, listener: Listener) -> None:
    project.declare(ALERTED)
    rows = [(key, "2021-01-01", f"CITY {key}") for key in (1, 2)]
    project.deliver("case", "d1", rows, SHORT)
    finished(project, project.run("case", "d1"))
    for key, partition in ((1, "d2"), (1, "d3"), (2, "d4")):
        with duckdb.connect(str(project.folder / "vault.duckdb")) as connection:
            connection.execute("use vault.main")
            connection.execute(f"delete from vault.vault.sat_case_city where city = 'CITY {key}'")
        project.deliver("case", partition, [(key, "2021-01-02", f"CITY {key}")], SHORT)
        finished(project, project.run("case", partition))
        found = [title for title in titles(listener) if "timeline_invariant" in title]
        assert len(found) == (0 if partition == "d3" else 1), partition


def test_freshness_is_told_by_its_sensor_alone(project: Project, listener: Listener) -> None:
    alerts = [{"checks": ["freshness"], "route": ROUTE}]
    project.declare({**ALERTED, "freshness": {"max_age": "26h"}, "alerts": alerts})
    project.deliver("case", "d1", [(1, "2021-01-01", "SYDNEY")], SHORT)
    project.deliver("case", "d2", [(1, utc_now().date().isoformat(), "SYDNEY")], SHORT)
    late = project.run("case", "d1")
    assert not next(each for each in late.get_asset_check_evaluations() if each.check_name == "freshness").passed
    look(project, "heartbeats_case")
    assert titles(listener) == ["[WARN] case: freshness on sat_case_city"]
    project.run("case", "d2")
    look(project, "heartbeats_case")
    assert titles(listener) == ["[resolved] case: freshness on sat_case_city"]
    finished(project, late)  # looked at when it is no longer so
    assert titles(listener) == []


def quarantining(keys: str) -> dict[str, Any]:
    columns = {"city": "integer", "mood": "text"}
    satellite = {"name": "sat_case_city", "parent": {"hub": "customer"}, "columns": columns}
    alerts = [{"route": ROUTE, "keys": keys}]
    return {**CASE, "satellites": [satellite], "on_error": "quarantine", "alerts": alerts}


REJECTED = {
    "a value that does not fit": [(1, "2021-01-01", f"{CANARY}'s", "calm")],
    "two states of a key": [(CANARY, "2021-01-01", "1", "calm"), (CANARY, "2021-01-01", "2", "calm")],
    "no key": [("", "2021-01-01", "5", CANARY)],
    "no day": [(1, CANARY, "5", "calm")],
}


@pytest.mark.parametrize("kind", REJECTED)
@pytest.mark.parametrize("on_error", ["quarantine", "stop"])
def test_a_message_with_hashed_keys_holds_nothing_that_was_delivered(
    project: Project, listener: Listener, kind: str, on_error: str
) -> None:
    project.declare({**quarantining("hashed"), "on_error": on_error})
    project.deliver("case", "d1", [*REJECTED[kind], (7, "2021-01-02", "6", "calm")])
    finished(project, project.run("case", "d1", raise_on_error=False))
    assert listener.received
    assert CANARY not in str(listener.received)


@pytest.mark.parametrize("kind", list(REJECTED)[:2])
def test_a_message_with_clear_keys_says_why_rows_were_kept_out(project: Project, listener: Listener, kind: str) -> None:
    project.declare(quarantining("clear"))
    project.deliver("case", "d1", [*REJECTED[kind], (7, "2021-01-02", "6", "calm")])
    finished(project, project.run("case", "d1"))
    (message,) = [each for each in listener.received if "rejected_rows" in each["title"]]
    assert CANARY in message["message"]


def test_a_late_key_is_named_by_its_hash(project: Project, listener: Listener) -> None:
    project.declare(quarantining("hashed"))
    for partition, day in (("d1", "2021-01-03"), ("d2", "2021-01-01")):
        project.deliver("case", partition, [(CANARY, day, "5", CANARY)])
        finished(project, project.run("case", partition))
    assert [each["title"] for each in listener.received] == ["[WARN] case: sequence_violations on sat_case_city"]
    assert CANARY not in str(listener.received)


def test_the_last_of_two_evaluations_of_a_run_is_told_once(project: Project, listener: Listener) -> None:
    project.declare(ALERTED)
    project.deliver("case", "d1", [(1, "2021-01-01", "SYDNEY", "x")], HEADER)
    result = project.run("case", "d1")
    (drift,) = [each for each in result.get_asset_check_evaluations() if each.check_name == "schema_drift"]
    run = project.instance.get_run_by_id(result.run_id)
    assert run is not None
    event = dg.DagsterEvent(dg.DagsterEventType.ASSET_CHECK_EVALUATION.value, run.job_name, event_specific_data=drift)
    project.instance.report_dagster_event(event, run.run_id)
    finished(project, result)
    assert titles(listener) == ["[WARN] case: schema_drift on staged/case"]
