"""Hubs, links and satellites in every arrangement a source may declare."""

from __future__ import annotations

import hashlib
from typing import Any

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.checks import checks_of
from xts_pipeline.errors import BatchStateError, DeclarationError, WarehouseError

CUSTOMER = {"hub": "customer", "business_key": {"customer_id": "text"}}
ACCOUNT = {"hub": "account", "business_key": {"account_id": "text"}}


def source(name: str = "bank", **changes: Any) -> dict[str, Any]:
    return {"source": name, "record_source": name.upper(), "applied_timestamp": "day", "hubs": [CUSTOMER], **changes}


def satellite(name: str, *columns: str, **parent: Any) -> dict[str, Any]:
    return {"name": name, "parent": parent or {"hub": "customer"}, "columns": dict.fromkeys(columns, "text")}


def frame(columns: str, *rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def test_a_link_carries_its_own_hash_key_and_those_of_its_hubs_and_has_an_xts() -> None:
    declared = source(
        hubs=[CUSTOMER, ACCOUNT],
        links=[{"link": "customer_account", "hubs": ["customer", "account"]}],
        satellites=[satellite("sat_holding", "share", link="customer_account"), satellite("sat_customer", "city")],
    )
    columns = "customer_id account_id day share city"
    with Vault.open([declared], "duckdb:///:memory:") as vault:
        vault.load("bank", frame(columns, ("a", "x", "2024-01-01", "1", "B"), ("a", "y", "2024-01-01", "2", "B")))
        vault.load("bank", frame(columns, ("a", "x", "2024-01-05", "1", "B")))
        late = vault.load("bank", frame(columns, ("a", "x", "2024-01-03", "9", "C")))
        assert late.satellites["sat_holding"].copied == 1
        (link,) = vault.query("""
            select lnk.* from lnk_customer_account as lnk
            inner join hub_account as hub using (dv_hashkey_hub_account) where account_id = 'x'
        """).to_dict("records")
        assert link["dv_hashkey_lnk_customer_account"] == sha256("A||X")
        assert link["dv_hashkey_hub_customer"] == sha256("A")
        assert len(vault.query("select * from sat_xt_lnk_customer_account")) == 4
        assert len(vault.query("select * from lnk_customer_account")) == 2
        answer = vault.as_of("sat_holding", valid_at="2024-01-04")
        assert answer[["customer_id", "account_id", "share"]].values.tolist() == [["a", "x", "9"], ["a", "y", "2"]]


def test_a_link_of_a_hub_to_itself_keeps_its_sides() -> None:
    referrer = {**CUSTOMER, "role": "referrer", "source_columns": {"customer_id": "referrer_id"}}
    declared = source(
        hubs=[CUSTOMER, referrer],
        links=[{"link": "referral", "hubs": ["referrer", "customer"]}],
        satellites=[satellite("sat_referral", "bonus", link="referral")],
    )
    columns = "customer_id referrer_id day bonus"
    with Vault.open([declared], "duckdb:///:memory:") as vault:
        result = vault.load("bank", frame(columns, ("a", "b", "2024-01-01", "1"), ("b", "a", "2024-01-01", "2")))
        assert result.hubs == {"hub_customer": 2}
        assert result.links == {"lnk_referral": 2}
        answer = vault.as_of("sat_referral")
        assert answer[["referrer_customer_id", "customer_customer_id", "bonus"]].values.tolist() == [
            ["a", "b", "2"],
            ["b", "a", "1"],
        ]


def test_several_sources_load_into_one_hub_and_one_xts_side_by_side() -> None:
    crm = source("crm", satellites=[satellite("sat_crm", "city")])
    erp = source("erp", satellites=[satellite("sat_erp", "phone")])
    with Vault.open([crm, erp], "duckdb:///:memory:") as vault:
        first = vault.stage("erp", frame("customer_id day phone", ("a", "2024-01-01", "11"))).batch
        loaded = vault.load("crm", frame("customer_id day city", ("a", "2024-01-02", "B"), ("b", "2024-01-02", "C")))
        assert loaded.finished == ()  # another source's open batch is not its to finish
        assert vault.closed_until is not None
        assert vault.closed_until < first.load_timestamp
        list(vault.finish(first))
        hub = vault.query("select customer_id, dv_recordsource from hub_customer order by all")
        assert hub.values.tolist() == [["a", "CRM"], ["b", "CRM"]]  # the first to finish wins the row
        targets = vault.query("select dv_rectarget, count(*) as n from sat_xt_hub_customer group by all order by all")
        assert targets.values.tolist() == [["sat_crm", 2], ["sat_erp", 1]]
        assert vault.query("select count_if(dv_sequence_violation) as n from sat_xt_hub_customer")["n"][0] == 0


def test_composite_keys_are_hashed_in_alphabetical_column_order_with_tenant_and_collision_code_in_front() -> None:
    hub = {"hub": "customer", "business_key": {"number": "integer", "country": "text"}}
    declared = source(hubs=[hub], satellites=[satellite("sat_a", "city")], tenant_id="acme", collision_code="SAP")
    with Vault.open([declared], "duckdb:///:memory:") as vault:
        vault.load("bank", frame("number country day city", (7, "ch ", "2024-01-01", "Bern")))
        (row,) = vault.query("select * from hub_customer").to_dict("records")
        assert row["dv_hashkey_hub_customer"] == sha256("ACME||SAP||CH||7")
        assert (row["dv_tenant_id"], row["number"], row["country"]) == ("acme", 7, "ch ")
        for table in ("sat_a", "sat_xt_hub_customer"):
            tenants = vault.query(f"select dv_tenant_id from {table} where dv_recordsource <> 'GHOST'")
            assert tenants["dv_tenant_id"].tolist() == ["acme"]


def test_sha1_by_configuration() -> None:
    with Vault.open(
        [source(satellites=[satellite("sat_a", "city")], hash_algorithm="sha1")], "duckdb:///:memory:"
    ) as vault:
        vault.load("bank", frame("customer_id day city", ("a", "2024-01-01", "Bern")))
        sizes = vault.query(
            "select octet_length(dv_hashkey_hub_customer) as n, octet_length(dv_hashdiff) as d from sat_a"
        )
        assert sizes.values.tolist() == [[20, 20], [20, 20]]


def test_each_satellite_has_one_ghost_record_that_is_never_loaded_over() -> None:
    with Vault.open([source(satellites=[satellite("sat_a", "city")])], "duckdb:///:memory:") as vault:
        for day in ("2024-01-01", "2024-01-02"):
            vault.load("bank", frame("customer_id day city", ("a", day, "Bern")))
        (ghost,) = vault.query("select * from sat_a where dv_sid = 0").to_dict("records")
        assert ghost["dv_hashkey_hub_customer"] == bytes(32)
        assert str(ghost["dv_applied_timestamp"]) == "1900-01-01 00:00:00"
        assert len(vault.as_of("sat_a")) == 1


def test_states_before_the_ghost_records_date_are_states_like_others() -> None:
    with Vault.open([source(satellites=[satellite("sat_a", "city")])], "duckdb:///:memory:") as vault:
        vault.load("bank", frame("customer_id day city", ("a", "1848-09-12", "Bern"), ("a", "1900-01-01", "Zug")))
        assert vault.as_of("sat_a", valid_at="1899-01-01")["city"].tolist() == ["Bern"]
        assert vault.as_of("sat_a")["city"].tolist() == ["Zug"]


def test_a_satellite_without_xts_gets_the_standard_load_and_counts_the_late_rows_it_met() -> None:
    standard = {**satellite("sat_a", "city"), "xts_assisted": False}
    columns = "customer_id day city"
    with Vault.open([source(satellites=[standard])], "duckdb:///:memory:") as vault:
        vault.load("bank", frame(columns, ("a", "2024-01-01", "A"), ("a", "2024-01-05", "B"), ("a", "2024-01-06", "B")))
        late = vault.load("bank", frame(columns, ("a", "2024-01-03", "C"), ("b", "2024-01-03", "C")))
        result = late.satellites["sat_a"]
        assert (result.branch, result.inserted, result.copied, result.violations) == ("normal", 2, 0, 1)
        assert len(vault.query("select * from sat_xt_hub_customer")) == 0


def test_a_satellite_that_gets_an_xts_later_is_seeded_from_its_rows_and_then_kept_right() -> None:
    columns = "customer_id day city"
    standard = source(satellites=[{**satellite("sat_a", "city"), "xts_assisted": False}])
    with Vault.open([standard], "duckdb:///:memory:") as vault:
        vault.load(
            "bank", frame(columns, ("a", "2024-01-01", "A"), ("a", "2024-01-05", "B")), load_timestamp="2024-02-01"
        )
        vault.load("bank", frame(columns, ("a", "2024-01-09", "A")), load_timestamp="2024-02-02")
        waiting = vault.stage("bank", frame(columns, ("a", "2024-01-12", "C")), load_timestamp="2024-02-03").batch
        assisted = Vault.open([source(satellites=[satellite("sat_a", "city")])], vault.warehouse)
        late = assisted.load("bank", frame(columns, ("a", "2024-01-03", "C"), ("a", "2024-01-07", "A")))
        seeded = vault.query("select * from sat_xt_hub_customer where dv_load_timestamp < '2024-02-04'")
        assert len(seeded) == 4  # three rows of old, and that of the batch that was waiting
        assert waiting.load_timestamp in set(seeded["dv_load_timestamp"])
        assert late.satellites["sat_a"].branch == "assisted"
        states = vault.query("""
            select strftime(dv_applied_timestamp, '%d') || city as state from sat_a where dv_sid <> 0
            order by dv_applied_timestamp, dv_load_timestamp
        """)
        assert states["state"].tolist() == ["01A", "03C", "05B", "07A", "09A", "12C"]
        with pytest.raises(DeclarationError, match="sat_a: its timeline is kept by the XTS; xts_assisted cannot be"):
            Vault.open([standard], vault.warehouse).load("bank", frame(columns, ("a", "2024-01-13", "D")))


def test_zoned_timestamps_are_utc_and_naive_ones_are_taken_in_the_sources_zone() -> None:
    declared = source(satellites=[satellite("sat_a", "city")], timezone="Europe/Zurich")
    columns = "customer_id day city"
    with Vault.open([declared], "duckdb:///:memory:") as vault:
        rows = [("zoned", "2022-09-16T12:00:00+02:00", "A"), ("naive", "2022-09-16 12:00:00", "A")]
        vault.load("bank", frame(columns, *rows, ("winter", "2022-01-16", "A")))
        applied = vault.as_of("sat_a").set_index("customer_id")["dv_applied_timestamp"].astype(str)
        assert applied.to_dict() == {
            "zoned": "2022-09-16 10:00:00",
            "naive": "2022-09-16 10:00:00",
            "winter": "2022-01-15 23:00:00",
        }


def test_the_applied_timestamp_may_be_the_partitions_date() -> None:
    declared = source(satellites=[satellite("sat_a", "city")], applied_timestamp="partition")
    with Vault.open([declared], "duckdb:///:memory:") as vault:
        vault.load("bank", frame("customer_id city", ("a", "Bern")), partition="2024-01-04")
        assert str(vault.as_of("sat_a")["dv_applied_timestamp"][0]) == "2024-01-04 00:00:00"
        with pytest.raises(
            ValueError, match="applied_timestamp is the partition's date, and partition 'monday' is none"
        ):
            vault.load("bank", frame("customer_id city", ("a", "Bern")), partition="monday")


def test_a_column_added_to_a_satellite_is_added_to_its_table_and_one_taken_out_is_refused() -> None:
    columns = "customer_id day city phone"
    one, two = source(satellites=[satellite("sat_a", "city")]), source(satellites=[satellite("sat_a", "city", "phone")])
    with Vault.open([one], "duckdb:///:memory:") as vault:
        vault.load("bank", frame(columns, ("a", "2024-01-01", "Bern", "1"), ("a", "2024-01-05", "Chur", "1")))
        grown = Vault.open([two], vault.warehouse)
        late = grown.load("bank", frame(columns, ("a", "2024-01-03", "Genf", "2")))
        assert late.satellites["sat_a"].branch == "assisted"
        states = vault.query("select city, phone from sat_a where dv_sid <> 0 order by dv_applied_timestamp")
        assert states.fillna("").values.tolist() == [["Bern", ""], ["Genf", "2"], ["Chur", ""]]
        with pytest.raises(DeclarationError, match="column phone was taken out of the declaration"):
            Vault.open([one], vault.warehouse).load("bank", frame(columns, ("a", "2024-01-07", "Bern", "1")))


def test_a_file_named_like_a_schema_works(tmp_path: Any) -> None:
    """In DuckDB the file's name is its catalog's: vault.duckdb has a catalog and a schema of that name."""
    with Vault.open([source(satellites=[satellite("sat_a", "city")])], f"duckdb:///{tmp_path}/vault.duckdb") as vault:
        vault.load("bank", frame("customer_id day city", ("a", "2024-01-01", "Bern")), partition="p")
        assert vault.query("select city from sat_a where dv_sid <> 0")["city"].tolist() == ["Bern"]
        assert len(vault.query("select * from bank")) == 1


def test_a_renamed_file_works(tmp_path: Any) -> None:
    first, renamed = tmp_path / "first.duckdb", tmp_path / "renamed.duckdb"
    declared = source(satellites=[satellite("sat_a", "city")])
    with Vault.open([declared], f"duckdb:///{first}") as vault:
        vault.load("bank", frame("customer_id day city", ("a", "2024-01-01", "Bern")))
    first.rename(renamed)
    with Vault.open([declared], f"duckdb:///{renamed}") as vault:
        vault.load("bank", frame("customer_id day city", ("a", "2024-01-02", "Chur")))
        assert len(vault.query("select * from staged.bank")) == 1
        assert vault.as_of("sat_a")["city"].tolist() == ["Chur"]


def test_the_vaults_tables_may_live_in_another_schema(tmp_path: Any) -> None:
    declared = source(satellites=[satellite("sat_a", "city")])
    with Vault.open([declared], f"duckdb:///{tmp_path}/w.duckdb?vault_schema=raw_vault") as vault:
        vault.load("bank", frame("customer_id day city", ("a", "2024-01-01", "Bern")))
        assert vault.query("select city from raw_vault.sat_a where dv_sid <> 0")["city"].tolist() == ["Bern"]
        assert vault.as_of("sat_a")["city"].tolist() == ["Bern"]
        assert len(vault.query("select * from sat_a")) == 2
    for url in ("duckdb:///w.duckdb?schema=x", "duckdb:///w.duckdb?vault_schema=a-b", "postgres:///x", "w.duckdb"):
        with pytest.raises(DeclarationError, match="warehouse"):
            Vault.open([declared], url)


INTERNAL_WORDS = (
    "applied batch known facts states staged_rows touched points standing wanted missing restored payloads compared "
    "previous_hashdiff contradicting_rows tie_break hub_0 link newest judged order select group table rows values "
    "load_timestamp batch_id source record_target is_late"
)


def test_a_column_may_have_any_name_that_the_statements_use_themselves() -> None:
    columns = INTERNAL_WORDS.split()
    hub = {"hub": "thing", "business_key": {"where": "text", "from": "text"}}
    declared = source(hubs=[hub], satellites=[satellite("sat_a", *columns, hub="thing")], tie_break="order")
    with Vault.open([declared], "duckdb:///:memory:") as vault:
        for day, value in (("2024-01-01", "a"), ("2024-01-05", "a"), ("2024-01-03", "b"), ("2024-01-07", "c")):
            row = {"where": "w", "from": "f", "day": day, **dict.fromkeys(columns, value)}
            vault.load("bank", pd.DataFrame([row, {**row, "order": "0", "values": "loser"}]))
        states = vault.query('select "values" from sat_a where dv_sid <> 0 order by dv_applied_timestamp')
        assert states["values"].tolist() == ["a", "b", "a", "c"]
        assert vault.as_of("sat_a", valid_at="2024-01-03")["select"].tolist() == ["b"]
        for check in checks_of(vault.catalog.source("bank")):
            result = check.run(vault.warehouse)
            assert result.passed or check.severity == "WARN", f"{check.name}: {result}"


BOTH = {"hubs": [CUSTOMER, ACCOUNT], "links": [{"link": "ca", "hubs": ["customer", "account"]}]}
ROW = {"customer_id": "a", "account_id": "x", "day": "2024-01-01", "city": "B", "phone": "1"}
CHANGED_DECLARATIONS = {
    "the parent of a satellite": (
        source(**BOTH, satellites=[satellite("sat_a", "city")]),
        source(**BOTH, satellites=[satellite("sat_a", "city", hub="account")]),
        "satellite sat_a hangs on hub_customer by dv_hashkey_hub_customer since its first batch",
    ),
    "the order of a link's hubs": (
        source(**BOTH),
        source(**{**BOTH, "links": [{"link": "ca", "hubs": ["account", "customer"]}]}),
        "the hubs of a link and their order never change",
    ),
    "the collision code": (
        source(**BOTH),
        source(**BOTH, collision_code="X"),
        "part of every hash key and never change",
    ),
    "the tenant": (source(**BOTH), source(**BOTH, tenant_id="t"), "part of every hash key and never change"),
    "the spelling of a satellite": (
        source(**BOTH, satellites=[satellite("sat_a", "city")]),
        source(**BOTH, satellites=[satellite("sat_A", "city")]),
        "sat_A is spelled sat_a since its first batch",
    ),
    "the spelling of a column": (
        source(**BOTH, satellites=[satellite("sat_a", "city")]),
        source(**BOTH, satellites=[satellite("sat_a", "City")]),
        "column City of bank is spelled city since its first batch",
    ),
}


@pytest.mark.parametrize("what", CHANGED_DECLARATIONS)
def test_what_hash_keys_and_tables_rest_on_never_changes(what: str) -> None:
    first, second, told = CHANGED_DECLARATIONS[what]
    with Vault.open([first], "duckdb:///:memory:") as vault:
        vault.load("bank", pd.DataFrame([ROW]))
        before = vault.query("select count(*) as n from control.load_batch")["n"][0]
        with pytest.raises(DeclarationError) as raised:
            Vault.open([second], vault.warehouse).load("bank", pd.DataFrame([ROW]))
        assert told in str(raised.value)
        assert vault.query("select count(*) as n from control.load_batch")["n"][0] == before


@pytest.mark.parametrize("columns", [["city"], ["city", "phone", "zip"], ["phone", "zip"]])
def test_an_open_batch_is_finished_as_it_was_declared_or_not_at_all(columns: list[str]) -> None:
    """Finished under other columns its rows would lose a value that their hashdiff holds."""
    first = source(**BOTH, satellites=[satellite("sat_a", "city", "phone")])
    with Vault.open([first], "duckdb:///:memory:") as vault:
        waiting = vault.stage("bank", pd.DataFrame([ROW])).batch
        changed = Vault.open([source(**BOTH, satellites=[satellite("sat_a", *columns)])], vault.warehouse)
        with pytest.raises(BatchStateError, match=r"was staged for sat_a as \(.*city, phone\), declared now is"):
            list(changed.finish(waiting))
        assert len(vault.query("select * from sat_xt_hub_customer")) == 0
        list(vault.finish(waiting))
        assert vault.as_of("sat_a")[["city", "phone"]].values.tolist() == [["B", "1"]]


def test_an_answer_is_given_while_a_column_is_declared_and_not_yet_loaded() -> None:
    with Vault.open([source(**BOTH, satellites=[satellite("sat_a", "city")])], "duckdb:///:memory:") as vault:
        vault.load("bank", pd.DataFrame([ROW]))
        grown = Vault.open([source(**BOTH, satellites=[satellite("sat_a", "city", "phone")])], vault.warehouse)
        assert grown.as_of("sat_a")["city"].tolist() == ["B"]


@pytest.mark.parametrize("name", ["my-vault", "données", "with blank", "vault", "vault.2", 'a"b'])
def test_a_file_may_have_any_name(tmp_path: Any, name: str) -> None:
    declared = source(satellites=[satellite("sat_a", "city")])
    with Vault.open([declared], f"duckdb:///{tmp_path}/{name}.duckdb") as vault:
        vault.load("bank", pd.DataFrame([ROW]), partition="p")
        assert vault.as_of("sat_a")["city"].tolist() == ["B"]
        assert len(vault.query("select * from bank")) == 1


@pytest.mark.parametrize("name", ["control", "staged", "o'clock"])
def test_a_file_name_that_sql_cannot_carry_is_refused(tmp_path: Any, name: str) -> None:
    with pytest.raises(WarehouseError, match="rename the file"):
        Vault.open([source()], f"duckdb:///{tmp_path}/{name}.duckdb")


@pytest.mark.parametrize(
    "sql",
    [
        "commit; delete from sat_a; select 1",
        "rollback; create table t (a int)",
        "delete from sat_a",
        "copy sat_a to 'x.csv'",
        "",
    ],
)
def test_a_query_cannot_write(sql: str) -> None:
    with Vault.open([source(satellites=[satellite("sat_a", "city")])], "duckdb:///:memory:") as vault:
        vault.load("bank", pd.DataFrame([ROW]))
        with pytest.raises(WarehouseError, match="query takes one SELECT"):
            vault.query(sql)
        assert len(vault.query("select * from sat_a;")) == 2
        assert len(vault.query("with a as (from sat_a) select * from a")) == 2
