"""`xts status` and `xts abandon`: what is there, what is open, and giving a batch up."""

from __future__ import annotations

import yaml

from xts_pipeline_tests.cli.conftest import Project
from xts_pipeline_tests.test_checks import CRM


def staged(project: Project) -> str:
    with project.vault() as vault:
        return vault.stage("crm", project.deliver("05", (7, "Genf")), partition="2026-01-05").batch.batch_id


def test_status_of_no_vault_is_no_vault(project: Project) -> None:
    result = project.xts("status")
    assert (result.exit_code, "there is no vault" in result.stderr) == (2, True)
    assert not project.folder.joinpath("warehouse.duckdb").exists()


def test_status_tells_how_far_a_source_is(late: Project) -> None:
    status = late.json("status")
    (source,) = status["sources"]
    assert (source["batches"], source["open_batches"], source["rows_staged"]) == (3, 0, 6)
    assert source["newest_batch"]["partition_key"] == "2026-01-02"
    assert source["newest_applied_timestamp"].startswith("2026-01-03")
    assert status["closed_until"] == source["newest_batch"]["load_timestamp"]
    assert {of["table"]: of["rows"] for of in status["tables"]} == {
        "hub_account": 2,
        "hub_customer": 2,
        "lnk_customer_account": 2,
        "sat_city": 4,
        "sat_limit": 4,
        "sat_note": 3,
        "sat_xt_hub_account": 0,
        "sat_xt_hub_customer": 6,
        "sat_xt_lnk_customer_account": 6,
    }
    printed = late.xts("status").stdout
    assert "2026-01-02" in printed
    assert "sat_xt_hub_customer" in printed


def test_status_before_the_first_load_lists_the_source(project: Project) -> None:
    project.vault().close()
    assert "nothing has been loaded yet" in project.xts("status").stdout
    assert project.json("status")["sources"][0]["newest_batch"] is None


def test_an_open_batch_is_shown_with_what_is_missing(project: Project) -> None:
    batch_id = staged(project)
    (batch,) = project.json("status")["open_batches"]
    assert (batch["batch_id"], batch["steps_done"]) == (batch_id, [])
    assert "satellite:sat_city" in batch["steps_missing"]
    assert f"open: batch {batch_id}" in project.xts("status").stdout


def test_status_shows_the_open_batch_of_a_source_no_longer_declared(project: Project) -> None:
    batch_id = staged(project)
    satellite = {"name": "sat_other", "parent": {"hub": "customer"}, "columns": ["city"]}
    project.write("crm.yaml", yaml.safe_dump({**CRM, "source": "other", "links": [], "satellites": [satellite]}))
    result = project.xts("status")
    assert (result.exit_code, "crm (not declared)" in result.stdout) == (0, True)
    assert project.xts("check").exit_code == 1
    assert project.xts("abandon", batch_id, "--yes").exit_code == 0
    assert project.xts("check").exit_code == 0


def test_a_batch_that_has_written_nothing_can_be_given_up(project: Project) -> None:
    batch_id = staged(project)
    asked = project.xts("abandon", batch_id, input="n\n")
    assert (asked.exit_code, len(project.json("status")["open_batches"])) == (1, 1)
    given_up = project.json("abandon", batch_id, "--yes")
    assert (given_up["batch_id"], given_up["status"]) == (batch_id, "abandoned")
    assert project.json("status")["open_batches"] == []
    assert project.load("05", (7, "Genf")).exit_code == 0


def test_a_batch_that_has_written_is_not_given_up(project: Project) -> None:
    project.load("05", (7, "Genf"))
    batch_id = project.json("status")["sources"][0]["newest_batch"]["batch_id"]
    result = project.xts("abandon", batch_id)
    assert (result.exit_code, "done" in result.stderr, "Give up" in result.stderr) == (1, True, False)
    assert project.xts("abandon", "nothing", "--yes").exit_code == 1
