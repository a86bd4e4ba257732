"""`xts violations`, `xts check` and `xts as-of`: what they find, and their exit codes."""

from __future__ import annotations

from pathlib import Path

import duckdb

from xts_pipeline_tests.cli.conftest import Project


def damage(project: Project, sql: str) -> None:
    with duckdb.connect(str(project.folder / "warehouse.duckdb")) as connection:
        connection.execute(sql)


def test_violations_tell_how_late_and_what_the_satellite_did(late: Project) -> None:
    found = late.json("violations")
    of_city = [row for row in found["violations"] if row["satellite"] == "sat_city"]
    assert [(of["business_key"], of["event"], of["restored"], of["late_seconds"]) for of in of_city] == [
        ({"customer_id": 1}, "insert", 1, 86400.0),
        ({"customer_id": 2}, "none", 0, 86400.0),
    ]
    assert of_city[0]["applied_timestamp"] == "2026-01-02T00:00:00.000000Z"
    targets = {of["record_target"]: of for of in found["record_targets"]}
    assert (targets["sat_city"]["facts"], targets["sat_city"]["violations"]) == (6, 2)
    assert targets["sat_city"]["newest_violation"] == of_city[0]["load_timestamp"]


def test_violations_are_told_by_satellite_and_limit(late: Project) -> None:
    assert {row["satellite"] for row in late.json("violations", "--satellite", "sat_limit")["violations"]} == {
        "sat_limit"
    }
    assert len(late.json("violations", "--satellite", "sat_city", "--limit", "1")["violations"]) == 1
    printed = late.xts("violations", "--limit", "1")
    assert printed.exit_code == 0
    assert "sat_city: 1 of 2; --limit 0 shows all" in printed.stdout
    assert "sat_note keeps no XTS" in printed.stdout
    assert late.xts("violations", "--satellite", "sat_none").exit_code == 2


def test_no_violations_are_told_too(project: Project) -> None:
    project.load("01", (1, "Bern"))
    result = project.xts("violations")
    assert (result.exit_code, "nothing came late" in result.stdout) == (0, True)


def test_a_check_that_warns_fails_only_when_strict(late: Project) -> None:
    assert late.xts("check").exit_code == 0
    strict = late.json("check", "--strict", code=1)
    assert strict["passed"] is False
    failed = [of for of in strict["checks"] if not of["passed"]]
    assert {of["severity"] for of in failed} == {"WARN"}
    assert failed[0]["rows"][0]["customer_id"] == 1


def test_a_check_that_finds_an_error_fails(late: Project) -> None:
    damage(late, "delete from vault.sat_city where dv_xts_event = 'copy'")
    result = late.xts("check")
    assert result.exit_code == 1
    assert "ERROR" in result.stdout
    assert "sat_city and sat_xt_hub_customer disagree at 1 point" in result.stdout
    assert late.xts("check", "--satellite", "sat_city").exit_code == 1
    assert late.xts("check", "--satellite", "sat_limit").exit_code == 0
    assert late.json("check", code=1)["passed"] is False


def test_the_invariant_is_asked_as_it_was_known_after_each_load(late: Project) -> None:
    asked = late.json("check", "--every-load", "--source", "crm")["checks"]
    assert {of["check"] for of in asked} == {"timeline_invariant"}
    assert all(of["passed"] and "as known after each of" in of["summary"] for of in asked)


def test_checks_are_chosen_by_source_and_satellite(late: Project) -> None:
    chosen = late.json("check", "--source", "crm", "--satellite", "sat_note")["checks"]
    assert {of["table"] for of in chosen} == {"sat_note"}
    assert late.xts("check", "--source", "erp").exit_code == 2
    assert late.xts("check", "--satellite", "sat_none").exit_code == 2


def test_as_of_answers_by_valid_and_known_time(late: Project) -> None:
    (batch,) = [of["newest_batch"] for of in late.json("status")["sources"]]
    now = late.json("as-of", "sat_city", "--valid-at", "2026-01-02", "--known-at", batch["load_timestamp"])
    assert (now["final"], now["keys"]) == (True, 2)
    assert [(row["customer_id"], row["city"]) for row in now["rows"]] == [(1, "Zug [old]"), (2, "Chur")]
    assert len(now["rows"][0]["dv_hashkey_hub_customer"]) == 64
    then = late.json("as-of", "sat_city", "--valid-at", "2026-01-02", "--known-at", "2026-01-01")
    assert then["rows"] == []


def test_as_of_prints_what_it_answers_and_until_when_it_is_final(late: Project) -> None:
    result = late.xts("as-of", "sat_city", "--valid-at", "2026-01-02", "--where", "city like 'Zug%'")
    assert result.exit_code == 0
    assert "Zug [old]" in result.stdout
    assert "Chur" not in result.stdout
    assert "closed until" in result.stdout
    assert "1 shown" not in result.stdout
    assert "the first 1 are shown" in late.xts("as-of", "sat_city", "--limit", "1").stdout


def test_null_is_printed_as_nothing(project: Project) -> None:
    file = project.deliver("01", (1, "Bern"), (2, "Chur"))
    text = Path(file).read_text().replace("2,20,Chur,4,in Chur", "2,20,,,")
    assert "2,20,,,,2026" in text
    Path(file).write_text(text)
    assert project.xts("load", "crm", file, "--partition", "2026-01-01").exit_code == 0
    printed = project.xts("as-of", "sat_city").stdout
    assert "Bern" in printed
    assert "nan" not in printed.lower()
    assert [row["city"] for row in project.json("as-of", "sat_city")["rows"]] == ["Bern", None]


def test_as_of_conditions_reach_nothing_but_the_answer(late: Project) -> None:
    assert late.json("as-of", "sat_limit", "--where", "credit > 4")["keys"] == 0
    assert late.json("as-of", "sat_limit", "--where", "credit >= 4 and customer_id = 2")["keys"] == 1
    late.write("secret.csv", "a\n1\n")
    reach = late.xts("as-of", "sat_limit", "--where", "1 in (select a from 'secret.csv')")
    assert (reach.exit_code, "--where" in reach.stderr) == (2, True)
    assert late.xts("as-of", "sat_limit", "--where", "no_column = 1").exit_code == 2
    assert late.xts("as-of", "sat_limit", "--valid-at", "some day").exit_code == 2
    assert late.xts("as-of", "sat_none").exit_code == 2


def test_as_of_before_anything_was_loaded_is_empty(project: Project) -> None:
    project.vault().close()
    answer = project.json("as-of", "sat_city")
    assert (answer["rows"], answer["closed_until"]) == ([], None)
    assert project.xts("as-of", "sat_city").exit_code == 0
