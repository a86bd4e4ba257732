"""Each check passes on what the cycle loads, and fails on a vault that was broken on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pandas as pd
import pytest
from sqlglot import exp

from xts_pipeline import Vault
from xts_pipeline.checks import ROWS_SHOWN, Check, CheckResult, checks_of, invariant_at_every_load, spoken
from xts_pipeline.cli.statements import statements_of
from xts_pipeline.cycle import insert_xts, switch
from xts_pipeline.ledger import Batch, all_batches
from xts_pipeline.metadata import Catalog
from xts_pipeline.templates import renderer, template_names
from xts_pipeline.warehouse import DuckDBWarehouse
from xts_pipeline_tests.parsing import parse

CRM: dict[str, Any] = {
    "source": "crm",
    "record_source": "CRM",
    "applied_timestamp": "extract_date",
    "types": {"extract_date": "date"},
    "hubs": [
        {"hub": "customer", "business_key": {"customer_id": "integer"}},
        {"hub": "account", "business_key": {"account_id": "integer"}},
    ],
    "links": [{"link": "customer_account", "hubs": ["customer", "account"]}],
    "satellites": [
        {"name": "sat_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}},
        {"name": "sat_limit", "parent": {"link": "customer_account"}, "columns": {"credit": "integer"}},
        {"name": "sat_note", "parent": {"hub": "customer"}, "columns": {"note": "text"}, "xts_assisted": False},
    ],
}


@dataclass
class Loaded:
    """A vault, and the connection through which a test breaks it."""

    vault: Vault
    connection: duckdb.DuckDBPyConnection

    def load(self, day: str, *rows: tuple[int, str]) -> Batch:
        """Load customers and their cities as of a day of January 2026."""
        self.vault.load("crm", frame(day, *rows), partition=day)
        return all_batches(self.vault.warehouse)[0]

    def check(self, name: str, table: str) -> Check:
        found = [of for of in checks_of(self.vault.catalog.source("crm")) if (of.name, of.table) == (name, table)]
        assert len(found) == 1
        return found[0]

    def run(self, name: str, table: str, batch: Batch | None = None) -> CheckResult:
        return self.check(name, table).run(self.vault.warehouse, batch)

    def failing(self, batch: Batch | None = None) -> set[tuple[str, str]]:
        checks = checks_of(self.vault.catalog.source("crm"))
        return {(of.name, of.table) for of in checks if not of.run(self.vault.warehouse, batch).passed}

    def execute(self, sql: str) -> None:
        self.connection.execute(sql)


def frame(day: str, *rows: tuple[int, str]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "customer_id": customer,
                "account_id": 10 * customer,
                "city": city,
                "credit": len(city),
                "note": f"lives in {city}",
                "extract_date": f"2026-01-{day}",
            }
            for customer, city in rows
        ]
    )


@pytest.fixture
def crm() -> Iterator[Loaded]:
    connection = duckdb.connect(":memory:")
    with Vault.open([CRM], DuckDBWarehouse(connection)) as vault:
        yield Loaded(vault, connection)


@pytest.fixture
def in_order(crm: Loaded) -> Loaded:
    crm.load("01", (1, "Bern"), (2, "Basel"))
    crm.load("03", (1, "Bern"), (2, "Chur"))
    return crm


def at(day: int) -> datetime:
    return datetime(2026, 1, day)


def test_a_table_that_no_batch_has_made_passes_and_says_so(crm: Loaded) -> None:
    for check in checks_of(crm.vault.catalog.source("crm")):
        result = check.run(crm.vault.warehouse)
        assert result == CheckResult(True, 0, (), result.summary, "")
        assert f"{check.table} is not there yet" in result.summary


def test_everything_passes_on_what_came_in_order(in_order: Loaded) -> None:
    assert in_order.failing() == set()
    assert all(in_order.failing(batch) == set() for batch in all_batches(in_order.vault.warehouse))


def test_every_table_of_the_source_has_its_checks(crm: Loaded) -> None:
    names: dict[str, set[str]] = {}
    for check in checks_of(crm.vault.catalog.source("crm")):
        names.setdefault(check.table, set()).add(check.name)
        warns = {"sequence_violations", "late_rows", "lateness", "open_batches", "rejected_rows"}
        assert check.severity == ("WARN" if check.name in warns else "ERROR")
        assert check.satellite == (check.table if check.table in {"sat_city", "sat_limit", "sat_note"} else None)
        assert check.description
    any_satellite = {"unique_keys", "keys_in_parent", "ghost_present", "hashdiff", "ledger_counts"}
    assisted = {"sequence_violations", "lateness", "timeline_invariant", "xts_complete", *any_satellite}
    assert names == {
        "crm__rows": {"open_batches", "rejected_rows"},
        "hub_customer": {"unique_keys"},
        "hub_account": {"unique_keys"},
        "lnk_customer_account": {"unique_keys", "keys_in_parent"},
        "sat_xt_hub_customer": {"unique_keys"},
        "sat_xt_hub_account": {"unique_keys"},
        "sat_xt_lnk_customer_account": {"unique_keys"},
        "sat_city": assisted,
        "sat_limit": assisted,
        "sat_note": {"late_rows", *any_satellite},
    }


def test_sequence_violations_name_the_keys_and_how_late_the_worst_first(in_order: Loaded) -> None:
    in_order.load("02", (1, "Zug"))
    newest = in_order.load("01", (2, "Olten"))
    result = in_order.run("sequence_violations", "sat_city")
    assert (result.passed, result.found) == (False, 2)
    assert [(row["customer_id"], row["dv_applied_timestamp"], row["dv_late_by"]) for row in result.rows] == [
        (2, at(1), "2 d"),
        (1, at(2), "1 d"),
    ]
    assert {row["dv_newest_before"] for row in result.rows} == {at(3)}
    assert result.rows[0]["dv_load_timestamp"] == newest.load_timestamp
    assert re.fullmatch(r"[0-9a-f]{64}", str(result.rows[0]["dv_hashkey"]))
    assert "2 rows of sat_city" in result.summary
    assert "2 d" in result.summary
    assert result.advice


def test_late_rows_that_state_what_was_known_have_changed_no_answer(crm: Loaded) -> None:
    crm.load("01", (1, "Bern"), (2, "Chur"))
    crm.load("03", (1, "Zug"), (2, "Chur"))
    restated = crm.run("sequence_violations", "sat_city", crm.load("02", (1, "Bern"), (2, "Chur")))
    assert (restated.found, restated.facts["changed"]) == (2, 0)
    assert "no answer has changed" in restated.advice
    corrected = crm.run("sequence_violations", "sat_city", crm.load("02", (1, "Bern"), (2, "Olten")))
    assert (corrected.found, corrected.facts["changed"]) == (2, 1)
    assert "1 changed an answer" in corrected.summary
    assert crm.run("sequence_violations", "sat_city").facts["changed"] == 1


def test_sequence_violations_of_a_batch_are_its_own(in_order: Loaded) -> None:
    first = in_order.load("02", (1, "Zug"))
    second = in_order.load("02", (1, "Zug"), (2, "Olten"))
    third = in_order.load("04", (1, "Zug"))
    assert [in_order.run("sequence_violations", "sat_city", batch).found for batch in (first, second, third)] == [
        1,
        2,
        0,
    ]
    assert first.batch_id in in_order.run("sequence_violations", "sat_city", first).summary


def test_sequence_violations_of_a_link_show_the_keys_of_its_hubs(in_order: Loaded) -> None:
    in_order.load("02", (1, "Zug"))
    (row,) = in_order.run("sequence_violations", "sat_limit").rows
    assert (row["customer_id"], row["account_id"]) == (1, 10)


def test_only_the_first_rows_are_shown_and_all_are_counted(crm: Loaded) -> None:
    many = [(customer, "Bern") for customer in range(1, ROWS_SHOWN + 6)]
    crm.load("03", *many)
    crm.load("01", *many)
    result = crm.run("sequence_violations", "sat_city")
    assert (result.found, len(result.rows)) == (ROWS_SHOWN + 5, ROWS_SHOWN)


def test_late_rows_count_what_a_satellite_without_xts_cannot_put_right(in_order: Loaded) -> None:
    assert in_order.run("late_rows", "sat_note").passed
    batch = in_order.load("02", (2, "Zug"))
    result = in_order.run("late_rows", "sat_note")
    assert (result.passed, result.found) == (False, 1)
    assert (result.rows[0]["dv_partition_key"], result.rows[0]["dv_late_rows"]) == ("02", 1)
    assert "xts_assisted" in result.advice
    assert in_order.run("late_rows", "sat_note", batch).found == 1
    assert in_order.run("late_rows", "sat_note", all_batches(in_order.vault.warehouse)[1]).passed


def test_the_invariant_holds_whatever_came_late(in_order: Loaded) -> None:
    batch = in_order.load("02", (1, "Zug"), (2, "Olten"))
    assert in_order.failing() == {
        ("sequence_violations", "sat_city"),
        ("sequence_violations", "sat_limit"),
        ("late_rows", "sat_note"),
    }
    assert in_order.run("timeline_invariant", "sat_city", batch).passed


def test_the_invariant_fails_where_a_restored_state_is_gone(in_order: Loaded) -> None:
    in_order.load("02", (1, "Zug"))
    in_order.execute("delete from vault.sat_city where dv_xts_event = 'copy'")
    result = in_order.run("timeline_invariant", "sat_city")
    assert (result.passed, result.found) == (False, 1)
    (row,) = result.rows
    assert (row["customer_id"], row["dv_applied_timestamp"]) == (1, at(3))
    assert row["dv_hashdiff_of_xts"] != row["dv_hashdiff_of_satellite"]
    assert in_order.run("timeline_invariant", "sat_limit").passed


def test_the_invariant_fails_where_the_satellite_has_no_state(in_order: Loaded) -> None:
    in_order.execute("delete from vault.sat_city where city in ('Basel', 'Chur')")
    result = in_order.run("timeline_invariant", "sat_city")
    assert [(row["dv_applied_timestamp"], row["dv_hashdiff_of_satellite"]) for row in result.rows] == [
        (at(1), None),
        (at(3), None),
    ]


def test_the_invariant_fails_where_the_xts_has_no_state(in_order: Loaded) -> None:
    in_order.execute(
        "delete from vault.sat_xt_hub_customer where dv_applied_timestamp = timestamp '2026-01-01' "
        "and dv_hashkey_hub_customer in (select dv_hashkey_hub_customer from vault.sat_city where city = 'Chur')"
    )
    (row,) = in_order.run("timeline_invariant", "sat_city").rows
    assert (row["dv_applied_timestamp"], row["dv_hashdiff_of_xts"]) == (at(1), None)


def test_the_invariant_of_a_batch_looks_at_its_keys_alone(in_order: Loaded) -> None:
    batch = in_order.load("04", (1, "Bern"))
    in_order.execute("delete from vault.sat_city where city = 'Basel'")
    assert in_order.run("timeline_invariant", "sat_city", batch).passed
    assert in_order.run("timeline_invariant", "sat_city", all_batches(in_order.vault.warehouse)[1]).found == 1


def test_the_invariant_leaves_out_a_batch_whose_satellite_step_is_not_recorded(in_order: Loaded) -> None:
    vault = in_order.vault
    model = vault.catalog.source("crm")
    batch = vault.stage("crm", frame("02", (1, "Zug")), partition="02").batch
    for satellite in model.satellites:
        switch(vault.warehouse, model, satellite, batch)
    insert_xts(vault.warehouse, model, model.satellite("sat_city"), batch)
    assert in_order.run("timeline_invariant", "sat_city").passed
    assert in_order.run("timeline_invariant", "sat_city", batch).passed
    in_order.execute(f"update control.load_step set recorded_at = now() where batch_id = '{batch.batch_id}'")
    assert in_order.run("timeline_invariant", "sat_city").found == 1


def test_a_row_that_was_overruled_since_is_missed_as_it_was_known_before(in_order: Loaded) -> None:
    model = in_order.vault.catalog.source("crm")
    warehouse, city = in_order.vault.warehouse, model.satellite("sat_city")
    in_order.load("01", (1, "Thun"))
    in_order.load("05", (1, "Thun"))
    assert invariant_at_every_load(warehouse, model, city).passed
    in_order.execute("delete from vault.sat_city where city = 'Bern' and dv_applied_timestamp = timestamp '2026-01-01'")
    assert in_order.run("timeline_invariant", "sat_city").passed
    result = invariant_at_every_load(warehouse, model, city)
    before_overruled = sorted(batch.load_timestamp for batch in all_batches(warehouse))[:2]
    assert not result.passed
    assert {row["dv_known_at"] for row in result.rows} == set(before_overruled)


def test_a_satellite_that_is_to_get_an_xts_passes_until_it_is_seeded(in_order: Loaded) -> None:
    assisted = [{**satellite, "xts_assisted": True} for satellite in CRM["satellites"]]
    model = Catalog.read([{**CRM, "satellites": assisted}]).source("crm")
    (check,) = [of for of in checks_of(model) if (of.name, of.table) == ("timeline_invariant", "sat_note")]
    result = check.run(in_order.vault.warehouse)
    assert result.passed
    assert "seeds" in result.summary


@pytest.mark.parametrize(
    "table", ["hub_customer", "lnk_customer_account", "sat_xt_hub_customer", "sat_xt_lnk_customer_account", "sat_city"]
)
def test_a_key_that_stands_twice_in_a_table_fails_there(in_order: Loaded, table: str) -> None:
    key = in_order.connection.execute(f"select * from vault.{table}").description[1][0]
    in_order.execute(
        f"insert into vault.{table} select * from vault.{table} where {key} = (select min({key}) from vault.{table}) "
        "order by dv_load_timestamp limit 1"
    )
    result = in_order.run("unique_keys", table)
    assert (result.passed, result.found, len(result.rows)) == (False, 1, 1)
    assert result.rows[0]["dv_rows"] == 2
    assert "customer_id" in result.rows[0]
    assert {found for name, found in in_order.failing() if name == "unique_keys"} == {table}
    assert in_order.run("unique_keys", table, in_order.load("05", (9, "Genf"))).passed


@pytest.mark.parametrize("table", ["sat_xt_hub_customer", "sat_city"])
def test_a_row_that_stands_twice_fails_in_the_batch_that_brought_it(in_order: Loaded, table: str) -> None:
    second, first = all_batches(in_order.vault.warehouse)
    in_order.execute(
        f"insert into vault.{table} select * from vault.{table} where dv_load_timestamp = '{second.load_timestamp}' "
        "order by dv_hashkey_hub_customer limit 1"
    )
    assert in_order.run("unique_keys", table, second).found == 1
    assert in_order.run("unique_keys", table, first).passed


def test_a_key_missing_in_its_hub_fails_in_satellite_and_link(in_order: Loaded) -> None:
    in_order.execute("delete from vault.hub_customer where customer_id = 2")
    assert in_order.failing() == {
        ("keys_in_parent", "sat_city"),
        ("keys_in_parent", "sat_note"),
        ("keys_in_parent", "lnk_customer_account"),
    }
    result = in_order.run("keys_in_parent", "sat_city")
    assert (result.found, result.rows[0]["dv_missing_in"], result.rows[0]["dv_rows"]) == (1, "hub_customer", 2)
    assert "hub_customer" in result.summary


def test_a_key_missing_in_its_link_fails_in_the_satellite(in_order: Loaded) -> None:
    in_order.execute("delete from vault.lnk_customer_account")
    assert in_order.failing() == {("keys_in_parent", "sat_limit")}
    assert in_order.run("keys_in_parent", "sat_limit").found == 2


def test_keys_of_an_open_batch_need_no_hub_row_yet(in_order: Loaded) -> None:
    vault = in_order.vault
    batch = vault.stage("crm", frame("05", (7, "Genf")), partition="05").batch
    for result in vault.finish(batch):
        assert in_order.failing() == set(), result.step.step


def test_a_ghost_that_is_gone_doubled_or_changed_fails(in_order: Loaded) -> None:
    assert in_order.run("ghost_present", "sat_city").passed
    in_order.execute("update vault.sat_city set dv_applied_timestamp = timestamp '1900-01-02' where dv_sid = 0")
    changed = in_order.run("ghost_present", "sat_city")
    in_order.execute("insert into vault.sat_city select * from vault.sat_city where dv_sid = 0")
    doubled = in_order.run("ghost_present", "sat_city")
    in_order.execute("delete from vault.sat_city where dv_sid = 0")
    gone = in_order.run("ghost_present", "sat_city")
    assert [(of.passed, of.found) for of in (changed, doubled, gone)] == [(False, 1), (False, 2), (False, 1)]
    assert "no ghost record" in gone.summary
    assert in_order.failing() == {("ghost_present", "sat_city")}


@pytest.mark.parametrize("dialect", ["duckdb", "snowflake"])
def test_every_check_and_monitor_statement_parses_as_one_query(dialect: str) -> None:
    model = Catalog.read([CRM]).source("crm")
    rendered = {}
    for of_batch in (True, False):
        for entry in statements_of(model, model.declared_types, dialect):
            if entry.name.startswith(("check/", "monitor/")):
                context = {**entry.context, "of_batch": of_batch} if "of_batch" in entry.context else entry.context
                rendered[entry.name, entry.subject, of_batch] = renderer(dialect).render(entry.name, **context).sql
    assert {name for name, _, _ in rendered} == {of for of in template_names() if of.startswith(("check/", "monitor/"))}
    for where, sql in rendered.items():
        parsed = parse(sql, dialect)
        assert len(parsed) == 1, where
        assert isinstance(parsed[0], exp.Select), where


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(days=400, hours=2), "400 d 2 h"),
        (timedelta(hours=25), "1 d 1 h"),
        (timedelta(minutes=61), "1 h 1 min"),
        (timedelta(days=1, seconds=5), "1 d"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(microseconds=250_000), "0.25 s"),
        (timedelta(0), "0 s"),
    ],
)
def test_a_span_of_time_is_told_in_its_two_largest_units(span: timedelta, words: str) -> None:
    assert spoken(span) == words
