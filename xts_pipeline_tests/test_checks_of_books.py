"""The checks of lateness, facts, hashes and the ledger: each passes on what the cycle loads, and fails on harm."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import duckdb
import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.checks import checks_of
from xts_pipeline.checks.hashes import SAMPLE, mismatches
from xts_pipeline.ledger import all_batches, utc_now
from xts_pipeline.metadata import ColumnType
from xts_pipeline.warehouse import DuckDBWarehouse
from xts_pipeline_tests.test_checks import CRM, Loaded, frame

CHECKED = ("lateness", "xts_complete", "hashdiff", "ledger_counts")


@pytest.fixture
def late() -> Iterator[Loaded]:
    """Two customers in order, then both late: one by a day, one by two."""
    connection = duckdb.connect(":memory:")
    with Vault.open([CRM], DuckDBWarehouse(connection)) as vault:
        loaded = Loaded(vault, connection)
        loaded.load("01", (1, "Bern"), (2, "Basel"))
        loaded.load("04", (1, "Bern"), (2, "Chur"))
        loaded.load("03", (1, "Zug"))
        loaded.load("02", (1, "Zug"), (2, "Olten"))
        yield loaded


@pytest.mark.parametrize("name", CHECKED)
def test_what_the_cycle_loads_passes_whole_and_batch_by_batch(late: Loaded, name: str) -> None:
    assert late.run(name, "sat_city").passed
    for batch in all_batches(late.vault.warehouse):
        assert late.run(name, "sat_city", batch).passed


def test_lateness_tells_the_distribution_and_the_worst_key(late: Loaded) -> None:
    result = late.run("lateness", "sat_city")
    assert result.facts == {
        "late_rows": 3,
        "late_keys": 2,
        "median": timedelta(days=2),
        "nine_in_ten": timedelta(days=2),
        "worst": timedelta(days=2),
    }
    assert [(row["customer_id"], row["dv_late_by"], row["dv_rows"]) for row in result.rows] == [
        (1, "2 d", 2),
        (2, "2 d", 1),
    ]
    assert "3 rows of 2 keys" in result.summary
    third = all_batches(late.vault.warehouse)[1]
    of_batch = late.run("lateness", "sat_city", third)
    assert of_batch.facts["worst"] == timedelta(days=1)
    assert of_batch.facts["late_rows"] == 1


def test_lateness_without_a_late_row_says_so(late: Loaded) -> None:
    first = all_batches(late.vault.warehouse)[-1]
    assert "no row of sat_city came late" in late.run("lateness", "sat_city", first).summary


def test_violations_count_keys_and_how_late(late: Loaded) -> None:
    assert late.run("sequence_violations", "sat_city").facts == {
        "keys": 2,
        "changed": 3,
        "late_by": timedelta(days=2),
    }


@pytest.mark.parametrize("event", ["insert", "copy"])
def test_a_row_without_its_fact_fails(late: Loaded, event: str) -> None:
    late.execute(
        "delete from vault.sat_xt_hub_customer where dv_rectarget = 'sat_city' and "
        "(dv_hashkey_hub_customer, dv_applied_timestamp) in (select (dv_hashkey_hub_customer, dv_applied_timestamp) "
        f"from vault.sat_city where dv_xts_event = '{event}' limit 1)"
    )
    result = late.run("xts_complete", "sat_city")
    assert not result.passed
    assert result.rows[0]["customer_id"] in {1, 2}
    assert "sat_xt_hub_customer" in result.summary
    assert "late row" in result.advice
    batches = all_batches(late.vault.warehouse)
    assert sum(late.run("xts_complete", "sat_city", batch).found for batch in batches) == result.found
    assert late.run("xts_complete", "sat_limit").passed


def test_a_fact_of_another_load_is_not_the_rows_own(late: Loaded) -> None:
    late.execute(
        "update vault.sat_xt_hub_customer set dv_load_timestamp = dv_load_timestamp - interval 1 hour "
        "where dv_rectarget = 'sat_city'"
    )
    assert not late.run("xts_complete", "sat_city").passed


def test_facts_that_were_seeded_count_neither_as_missing_nor_as_too_many(late: Loaded) -> None:
    assisted = [{**of, "xts_assisted": True} for of in CRM["satellites"]]
    with Vault.open([{**CRM, "satellites": assisted}], DuckDBWarehouse(late.connection.cursor())) as vault:
        loaded = Loaded(vault, late.connection)
        loaded.load("06", (1, "Bern"))
        for name in (*CHECKED, "timeline_invariant"):
            assert loaded.run(name, "sat_note").passed, name
        loaded.execute("delete from vault.sat_note where dv_sid <> 0")
        assert not loaded.run("ledger_counts", "sat_note").passed


@pytest.mark.parametrize("table", ["sat_city", "sat_note"])
def test_a_column_that_was_changed_in_place_has_another_hashdiff(late: Loaded, table: str) -> None:
    column = table.removeprefix("sat_")
    late.execute(f"update vault.{table} set {column} = 'Genf' where dv_sid = 2")
    result = late.run("hashdiff", table)
    assert (result.passed, result.found, len(result.rows)) == (False, 1, 1)
    assert column not in result.rows[0]
    assert "hash rule" in result.advice
    late.execute(f"update vault.{table} set {column} = null where dv_sid = 2")
    assert late.run("hashdiff", table).found == 1


def test_a_row_that_is_older_than_a_column_was_hashed_without_it(late: Loaded) -> None:
    grown = [dict(of) for of in CRM["satellites"]]
    grown[0]["columns"] = {"city": "text", "area": "text", "code": "integer"}
    with Vault.open([{**CRM, "satellites": grown}], DuckDBWarehouse(late.connection.cursor())) as vault:
        rows = frame("06", (1, "Bern"), (3, "Thun")).assign(area=["BE", None], code=[3000, 3600])
        vault.load("crm", rows, partition="06")
        loaded = Loaded(vault, late.connection)
        check = next(
            of for of in checks_of(vault.catalog.source("crm")) if (of.name, of.table) == ("hashdiff", "sat_city")
        )
        assert check.run(vault.warehouse).passed
        loaded.execute("update vault.sat_city set code = 1 where city = 'Olten'")
        assert check.run(vault.warehouse).found == 1


def test_a_column_that_no_batch_has_brought_yet_is_no_matter(late: Loaded) -> None:
    grown = [dict(of) for of in CRM["satellites"]]
    grown[0]["columns"] = {"city": "text", "area": "text"}
    with Vault.open([{**CRM, "satellites": grown}], DuckDBWarehouse(late.connection.cursor())) as vault:
        for check in checks_of(vault.catalog.source("crm")):
            assert check.run(vault.warehouse).passed or check.severity == "WARN", check.name


def test_a_column_that_was_taken_out_of_the_declaration_still_counts(late: Loaded) -> None:
    shrunk = [{**of, "columns": {"other": "text"}} if of["name"] == "sat_city" else of for of in CRM["satellites"]]
    with Vault.open([{**CRM, "satellites": shrunk}], DuckDBWarehouse(late.connection.cursor())) as vault:
        checks = checks_of(vault.catalog.source("crm"))
        assert next(of for of in checks if (of.name, of.table) == ("hashdiff", "sat_city")).run(vault.warehouse).passed


def test_a_row_is_older_than_columns_that_were_declared_among_the_others() -> None:
    """Empty columns all over, and three that came later in the middle: the order they came in tells which to leave."""
    before = [f"c{number:02}" for number in range(12)]
    after = [*before[:6], "n0", "n1", "n2", *before[6:]]

    def declared(columns: list[str]) -> dict[str, Any]:
        satellite = {"name": "sat_wide", "parent": {"hub": "key"}, "columns": dict.fromkeys(columns, "text")}
        hubs = [{"hub": "key", "business_key": {"id": "text"}}]
        return {
            "source": "wide",
            "record_source": "W",
            "applied_timestamp": "day",
            "hubs": hubs,
            "satellites": [satellite],
        }

    def delivered(columns: list[str], day: str) -> pd.DataFrame:
        sparse = {
            name: ["x" if (key + place) % 5 == 0 else None for key in range(30)] for place, name in enumerate(columns)
        }
        return pd.DataFrame({"id": [str(key) for key in range(30)], "day": day, **sparse})

    connection = duckdb.connect(":memory:")
    for columns, day in ((before, "2026-01-01"), (after, "2026-01-02")):
        with Vault.open([declared(columns)], DuckDBWarehouse(connection.cursor())) as vault:
            vault.load("wide", delivered(columns, day), day)
            check = next(of for of in checks_of(vault.catalog.source("wide")) if of.name == "hashdiff")
            assert check.run(vault.warehouse).passed
    connection.execute("update vault.sat_wide set n1 = 'y' where dv_sid = 3")
    with Vault.open([declared(after)], DuckDBWarehouse(connection.cursor())) as vault:
        assert check.run(vault.warehouse).found == 1


def test_a_sample_is_bounded_and_the_same_each_time(late: Loaded) -> None:
    late.load("05", *((customer, f"town {customer}") for customer in range(10, 10 + 2 * SAMPLE)))
    late.execute("update vault.sat_city set city = 'x' where dv_sid > 7")
    found = [late.run("hashdiff", "sat_city").found for _ in range(2)]
    assert found[0] == found[1]
    assert 0 < found[0] <= SAMPLE


def test_no_rows_have_no_mismatch() -> None:
    assert mismatches([], {"a": ColumnType("text")}, "sha256") == []


@pytest.mark.parametrize(
    ("harm", "table", "rows", "recorded"),
    [
        ("delete from vault.sat_city where dv_xts_event = 'copy' and dv_applied_timestamp >= '2026-01-04'",
         "satellite", 1, 2),
        ("insert into vault.sat_xt_hub_customer select * from vault.sat_xt_hub_customer "
         "where dv_rectarget = 'sat_city' limit 1", "xts", 3, 2),
        ("insert into vault.sat_city select * replace (dv_load_timestamp + interval 1 day as dv_load_timestamp) "
         "from vault.sat_city where dv_sid = 2", "satellite", 1, 0),
    ],
)  # fmt: skip
def test_rows_that_the_ledger_does_not_have_fail(late: Loaded, harm: str, table: str, rows: int, recorded: int) -> None:
    late.execute(harm)
    result = late.run("ledger_counts", "sat_city")
    assert (result.passed, result.found) == (False, 1)
    found = {name: result.rows[0][name] for name in ("dv_table", "dv_rows", "dv_recorded")}
    assert found == {"dv_table": table, "dv_rows": rows, "dv_recorded": recorded}
    assert late.run("ledger_counts", "sat_limit").passed


def test_the_counts_of_a_batch_are_its_own(late: Loaded) -> None:
    newest, *_, first = all_batches(late.vault.warehouse)
    late.execute(f"delete from vault.sat_city where dv_load_timestamp = '{first.load_timestamp}' and dv_sid <> 0")
    assert late.run("ledger_counts", "sat_city", first).found == 1
    assert late.run("ledger_counts", "sat_city", newest).passed


def test_a_batch_that_a_dead_run_left_open_fails_after_its_limit(late: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = late.vault.stage("crm", frame("07", (1, "Genf")), partition="07").batch
    assert late.run("open_batches", "crm__rows").passed
    monkeypatch.setattr("xts_pipeline.checks.books.utc_now", lambda: utc_now() + timedelta(hours=3))
    result = late.run("open_batches", "crm__rows")
    assert (result.passed, result.found) == (False, 1)
    assert result.rows[0]["dv_batch_id"] == batch.batch_id
    assert result.rows[0]["dv_open_for"] == "3 h"
    assert "1 batch of crm open" in result.summary
    assert "xts abandon" in result.advice
    assert late.run("open_batches", "crm__rows", batch).passed  # it is the one that is asked about
    patient = checks_of(late.vault.catalog.source("crm"), timedelta(hours=4))[0]
    assert patient.run(late.vault.warehouse).passed
    for _ in late.vault.finish(batch):
        pass
    assert late.run("open_batches", "crm__rows").passed


def test_rows_that_were_kept_out_are_counted_by_reason() -> None:
    lenient: dict[str, Any] = {**CRM, "on_error": "quarantine"}
    with Vault.open([lenient], DuckDBWarehouse(duckdb.connect(":memory:"))) as vault:
        rows = frame("01", (1, "Bern"), (2, "Chur"), (3, "Zug")).astype({"credit": object})
        rows.loc[1, "credit"] = "much"
        vault.load("crm", rows, partition="01")
        vault.load("crm", pd.DataFrame(frame("02", (1, "Bern"))), partition="02")
        second, first = all_batches(vault.warehouse)
        check = next(of for of in checks_of(vault.catalog.source("crm")) if of.name == "rejected_rows")
        result = check.run(vault.warehouse)
        assert (result.passed, result.found, result.rows[0]["dv_rows"]) == (False, 1, 1)
        assert "credit" in str(result.rows[0]["dv_reason"])
        assert "control.rejected_row" in result.advice
        assert check.run(vault.warehouse, first).found == 1
        assert check.run(vault.warehouse, second).passed
