"""`xts load`: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import json

import pytest

from xts_pipeline_tests.cli.conftest import Project


def test_a_load_prints_branch_and_counts_of_each_satellite(late: Project) -> None:
    result = late.load("02", (1, "Olten"), (2, "Chur"))
    assert result.exit_code == 0
    (line,) = [line.split() for line in result.stdout.splitlines() if line.startswith("sat_city")]
    assert line == ["sat_city", "assisted", "2", "1", "0", "2", "2"]
    assert "crm, partition 2026-01-02" in result.stdout
    assert "new keys: hub_customer 0, hub_account 0, lnk_customer_account 0" in result.stdout


def test_a_load_for_machines_has_every_figure(project: Project) -> None:
    loaded = project.json("load", "crm", project.deliver("01", (1, "Bern")), "--partition", "2026-01-01")
    assert loaded["satellites"]["sat_city"] == {
        "branch": "normal",
        "inserted": 1,
        "copied": 0,
        "violations": 0,
        "late_keys": 0,
        "rows_read": 1,
    }
    assert (loaded["source"], loaded["partition"], loaded["replayed"]) == ("crm", "2026-01-01", False)
    assert loaded["hubs"] == {"hub_customer": 1, "hub_account": 1}
    assert loaded["load_timestamp"].endswith("Z")


def test_a_delivery_that_came_before_is_replayed(project: Project) -> None:
    project.load("01", (1, "Bern"))
    again = project.load("01", (1, "Bern"))
    assert again.exit_code == 0
    assert "replayed" in again.stdout
    assert "nothing was written" in again.stdout


def test_columns_that_are_not_declared_are_named(project: Project) -> None:
    path = project.deliver("01", (1, "Bern"))
    text = project.folder.joinpath(path).read_text().splitlines()
    project.write("01.csv", "\n".join([f"{text[0]},phone", f"{text[1]},123"]))
    assert "not declared: phone" in project.xts("load", "crm", path).stdout


def test_an_older_open_batch_is_finished_and_said_so(project: Project) -> None:
    with project.vault() as vault:
        vault.stage("crm", project.deliver("01", (1, "Bern")), partition="2026-01-01")
    assert "finished first, since still open: partition 2026-01-01" in project.load("02", (1, "Zug")).stdout


def test_rejected_rows_are_counted(project: Project) -> None:
    project.declare(on_error="quarantine")
    path = project.deliver("01", (1, "Bern"))
    project.write("01.csv", project.folder.joinpath(path).read_text() + "x,10,Bern,4,n,2026-01-01\n")
    result = project.xts("load", "crm", path, "--partition", "2026-01-01")
    assert result.exit_code == 0
    assert "1 row staged, 1 rejected" in result.stdout
    assert project.json("status")["rejected"]["rows"] == 1
    assert "customer_id" in project.xts("status").stdout


def test_a_faulty_delivery_is_refused_without_a_traceback(project: Project) -> None:
    project.write("bad.csv", "customer_id,account_id,city,credit,note,extract_date\n1,10,Bern,many,n,2026-01-01\n")
    result = project.xts("load", "crm", "bad.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "column credit" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_load_timestamp_must_be_later_than_every_one_before(project: Project) -> None:
    first = ("load", "crm", project.deliver("01", (1, "Bern")), "--load-timestamp", "2026-01-05 06:00:00+01:00")
    assert project.json(*first)["load_timestamp"] == "2026-01-05T05:00:00.000000Z"
    second = project.xts("load", "crm", project.deliver("02", (1, "Zug")), "--load-timestamp", "2026-01-04")
    assert second.exit_code == 1
    assert "not later" in second.stderr
    assert project.xts("load", "crm", "--load-timestamp", "soon").exit_code == 2


def test_what_is_called_wrong_ends_with_2(project: Project) -> None:
    path = project.deliver("01", (1, "Bern"))
    unknown = project.xts("load", "erp", path)
    assert (unknown.exit_code, "declared are: crm" in unknown.stderr) == (2, True)
    assert project.xts("load", "crm", "no.csv").exit_code == 2
    assert project.xts("load").exit_code == 2
    assert project.xts("load", "crm", path, "--sources", "nowhere").exit_code == 2
    assert project.xts("load", "crm", path, "--warehouse", "duckdb:///no/such/folder.duckdb").exit_code == 2


def test_a_warehouse_that_is_none_is_refused(project: Project) -> None:
    project.write("notes.txt", "x" * 20_000)
    result = project.xts("load", "crm", project.deliver("01", (1, "Bern")), "--warehouse", "duckdb:///notes.txt")
    assert result.exit_code == 1
    assert "notes.txt" in result.stderr
    assert project.xts("status", "--warehouse", "oracle://x").exit_code == 1


@pytest.mark.parametrize("name", ["rows.csv", "rows.json"])
def test_a_file_of_data_is_no_warehouse_and_nothing_is_loaded_into_memory(project: Project, name: str) -> None:
    text = "id,city\n1,Bern\n" if name.endswith("csv") else '[{"id": 1}]'
    project.write(name, text)
    delivery = project.deliver("01", (1, "Bern"))
    result = project.xts("load", "crm", delivery, "--partition", "2026-01-01", "--warehouse", f"duckdb:///{name}")
    assert result.exit_code == 1
    assert f"{name} " in result.stderr
    assert "no DuckDB database" in result.stderr
    assert project.folder.joinpath(name).read_text() == text


def test_sources_are_found_in_the_working_folder(project: Project, monkeypatch: object) -> None:
    declared = project.folder.joinpath("crm.yaml").read_text()
    component = "type: xts_pipeline.XtsSource\nattributes:\n" + "".join(f"  {line}\n" for line in declared.splitlines())
    project.write("xts_pipeline/defs/crm/defs.yaml", component)
    project.write("xts_pipeline/defs/mart/defs.yaml", "type: other.Component\nattributes: {}\n")
    path = project.deliver("01", (1, "Bern"))
    assert project.xts("load", "crm", path, "--sources", "xts_pipeline/defs").exit_code == 0
    monkeypatch.delenv("XTS_SOURCES")  # type: ignore[attr-defined]
    assert project.json("status")["sources"][0]["source"] == "crm"
    assert project.xts("status", "--sources", str(project.folder / "xts_pipeline" / "defs" / "mart")).exit_code == 2


def test_a_load_explains_what_each_step_cost(project: Project) -> None:
    path = project.deliver("01", (1, "Bern"), (2, "Chur"))
    steps = project.json("load", "crm", path, "--partition", "2026-01-01", "--explain")["steps"]
    assert [step["step"] for step in steps[:2]] == ["staging and commits", "switch:sat_city"]
    written = {step["step"]: step["rows_written"] for step in steps}
    assert (written["staging and commits"], written["xts:sat_city"], written["satellite:sat_city"]) == (2, 2, 2)
    assert all(step["milliseconds"] >= 0 for step in steps)
    assert {step["step"]: step["rows_scanned"] for step in steps}["xts:sat_city"] >= 2
    again = project.xts("load", "crm", path, "--partition", "2026-01-01", "--explain").stdout
    assert "what the steps cost when they were done" in again
    assert "rows scanned" in again


def test_a_load_says_why_rows_were_rejected(project: Project) -> None:
    project.declare(on_error="quarantine")
    path = project.deliver("01", (1, "Bern"))
    text = project.folder.joinpath(path).read_text()
    project.write("01.csv", text + "2,20,Bern,many,n,2026-01-01\n3,30,Bern,many,n,2026-01-01\n")
    told = project.json("load", "crm", path, "--partition", "2026-01-01")["rejected"]
    assert sum(reason["row_count"] for reason in told) == 2
    assert min(reason["first_row_number"] for reason in told) == 2
    again = project.xts("load", "crm", path, "--partition", "2026-01-01")
    assert "credit" in again.stdout
    assert "row 2:" in again.stdout


def test_a_refusal_is_told_to_machines_as_json(project: Project) -> None:
    project.write("01.csv", "customer_id,city\n1,Bern\n")
    refused = project.xts("load", "crm", str(project.folder / "01.csv"), "--json")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert set(json.loads(refused.stderr)) == {"error", "message"}
