"""Sources side by side: Snowflake locks a table as a whole, and a source waits for another only where both write."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd
import pytest
from fakesnow import patch

from xts_pipeline import Vault
from xts_pipeline.errors import BatchStateError, WarehouseBusyError, WarehouseError
from xts_pipeline.ledger import abandon_batch, all_batches, open_batches, read_steps
from xts_pipeline.locks import locks_of, source_lock, table_lock
from xts_pipeline.templates import Statement
from xts_pipeline.warehouse.snowflake import SnowflakeTransaction, SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings
from xts_pipeline.warehouse.work import current_work
from xts_pipeline_tests import histories as h
from xts_pipeline_tests.snowflake.fake import private_key, shim
from xts_pipeline_tests.snowflake.parity import assert_equal
from xts_pipeline_tests.snowflake.table_locks import PATIENCE, TableLocks, locked_by


def source(name: str, hub: str, satellite: str) -> dict[str, Any]:
    return {
        "source": name,
        "record_source": name.upper(),
        "applied_timestamp": "applied",
        "hubs": [{"hub": hub, "business_key": {"id": "text"}}],
        "satellites": [{"name": satellite, "parent": {"hub": hub}, "columns": {"city": "text"}}],
        "types": {"applied": "timestamp"},
    }


CRM = source("crm", "customer", "sat_city")
APART = source("erp", "supplier", "sat_depot")
BESIDE = source("shop", "customer", "sat_shop")


def rows(*moves: tuple[str, int, str]) -> pd.DataFrame:
    return pd.DataFrame([(key, h.day(day), city) for key, day, city in moves], columns=["id", "applied", "city"])


SOURCES = ("crm", "erp", "shop")
FIRST, SECOND = rows(("a", 1, "Bern"), ("b", 1, "Chur")), rows(("a", 3, "Zug"), ("c", 3, "Zug"))


class Deliveries:
    """A vault of three sources, of which two feed one hub and one XTS, and what was delivered to it."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self.warehouse = vault.warehouse
        self.frames: dict[tuple[str, str], pd.DataFrame] = {}

    def load(self, source: str, frame: pd.DataFrame) -> None:
        partition = f"p{len(self.frames):02d}"
        self.frames[source, partition] = frame
        self.vault.load(source, frame, partition)

    def count(self, sql: str) -> int:
        return int(self.vault.query(f"select count(*) as n from {sql}")["n"][0])


class Doing(threading.Thread):
    """Work in a thread of its own, whose fault is raised where its end is awaited."""

    def __init__(self, work: Callable[..., object], *arguments: object) -> None:
        super().__init__(daemon=True)
        self._todo = lambda: work(*arguments)
        self._fault: BaseException | None = None

    def run(self) -> None:
        try:
            self._todo()
        except BaseException as error:
            self._fault = error

    def end(self) -> None:
        self.join(PATIENCE)
        assert not self.is_alive()
        if self._fault:
            raise self._fault


@pytest.fixture(scope="module")
def account() -> Iterator[Callable[[], SnowflakeWarehouse]]:
    """Gives warehouses, each a database of its own."""

    def new() -> SnowflakeWarehouse:
        database = f"dv_{secrets.token_hex(4)}"
        return SnowflakeWarehouse(
            SnowflakeSettings(account="test", user="loader", database=database, private_key=private_key())
        )

    with patch(), shim():
        yield new


@pytest.fixture(scope="module")
def delivered(account: Callable[[], SnowflakeWarehouse]) -> Iterator[Deliveries]:
    """Every source was loaded once: its tables are there."""
    with Vault.open([CRM, APART, BESIDE], account()) as vault:
        deliveries = Deliveries(vault)
        for name in SOURCES:
            deliveries.load(name, FIRST)
        yield deliveries


def statements_of_steps(
    delivered: Deliveries, monkeypatch: pytest.MonkeyPatch
) -> dict[tuple[str, str], list[Statement]]:
    """(source, step): what its transaction runs, in a second load of every source."""
    found: dict[tuple[str, str], list[Statement]] = {}
    execute = SnowflakeTransaction._execute

    def noting(itself: SnowflakeTransaction, statement: Statement, values: Mapping[str, object]) -> Any:
        work = current_work()
        if work.step and ":" in work.step:
            found.setdefault((str(work.source), work.step), []).append(statement)
        return execute(itself, statement, values)

    with monkeypatch.context() as patching:
        patching.setattr(SnowflakeTransaction, "_execute", noting)
        for name in SOURCES:
            delivered.load(name, SECOND)
    return found


def test_before_its_record_a_step_locks_nothing_that_a_step_of_another_source_locks(
    delivered: Deliveries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But the table that both write. The record, which locks the ledger, is the last statement before the commit."""
    locked: dict[str, set[str]] = {}
    steps = statements_of_steps(delivered, monkeypatch)
    assert len(steps) == 3 * 4
    for (name, step), statements in steps.items():
        told = [statement.name for statement in statements]
        assert told[:2] == ["control/take_lock", "control/step_state"], step
        assert (told[2] == "control/take_lock") == (not step.startswith("switch:")), step
        assert told.index("control/record_step") == len(told) - 1, step
        tables = [locked_by(statement.sql) for statement in statements[:-1]]
        assert tables[0] == f"control.{source_lock(name)}"
        locked.setdefault(name, set()).update(table for table in tables if table)
    for name, hub, satellite in (("crm", "customer", "sat_city"), ("erp", "supplier", "sat_depot")):
        written = (f"hub_{hub}", f"sat_xt_hub_{hub}", satellite)
        assert locked[name] == {f"control.{lock}" for lock in locks_of(name, written)}
    assert not locked["crm"] & locked["erp"]
    shared = {f"control.{table_lock(table)}" for table in ("hub_customer", "sat_xt_hub_customer")}
    assert locked["crm"] & locked["shop"] == shared


LONG = [pytest.param(table, marks=pytest.mark.long) for table in ("sat_xt_hub_customer", "hub_customer")]


@pytest.mark.parametrize("table", ["sat_city", *LONG])
def test_a_source_is_loaded_while_a_step_of_another_is_under_way(
    delivered: Deliveries, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """From its first statement to its last, nobody waiting for anybody."""
    locks = TableLocks(monkeypatch)
    held, beside = Doing(delivered.load, "crm", SECOND), Doing(delivered.load, "erp", SECOND)
    with locks.stopped(held, "crm", f'insert into "VAULT"."{table.upper()}"'):
        beside.start()
        beside.end()
        assert [batch.source for batch in open_batches(delivered.warehouse)] == ["crm"]
    held.end()
    assert locks.waited == []
    assert not open_batches(delivered.warehouse)


def test_two_sources_of_one_hub_wait_for_each_other_at_that_hub_alone(
    delivered: Deliveries, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = TableLocks(monkeypatch)
    new_key = rows(("a", 7, "Visp"), ("new", 7, "Visp"))
    held, beside = Doing(delivered.load, "crm", new_key), Doing(delivered.load, "shop", new_key)
    with locks.stopped(held, "crm", 'insert into "VAULT"."HUB_CUSTOMER"'):
        beside.start()
        locks.await_waiter("shop", f"control.{table_lock('hub_customer')}")
        (waiting,) = (batch for batch in open_batches(delivered.warehouse) if batch.source == "shop")
        assert [step.kind for step in read_steps(delivered.warehouse, waiting) if not step.is_done] == ["hub"]
    for loading in (held, beside):
        loading.end()
    assert locks.waited == [("shop", f"control.{table_lock('hub_customer')}")]
    assert delivered.count("hub_customer where id = 'new'") == 1


def test_a_second_run_of_a_source_waits_for_the_step_and_finds_it_done(
    delivered: Deliveries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It helps: the open batch's step is under way in the first run, and nothing of it is there twice."""
    locks = TableLocks(monkeypatch)
    moved, late = rows(("a", 20, "Thun"), ("d", 20, "Thun")), rows(("a", 10, "Basel"), ("b", 1, "Basel"))
    held, beside = Doing(delivered.load, "crm", moved), Doing(delivered.load, "crm", late)
    with locks.stopped(held, "crm", 'insert into "VAULT"."SAT_XT_HUB_CUSTOMER"'):
        beside.start()
        locks.await_waiter("crm", f"control.{source_lock('crm')}")
    for loading in (held, beside):
        loading.end()
    assert {table for _, table in locks.waited} <= {f"control.{source_lock('crm')}", "control.load_batch"}
    with Vault.open([CRM], "duckdb:///:memory:") as duckdb:
        for batch in reversed(all_batches(delivered.warehouse)):
            if batch.source == "crm":
                frame = delivered.frames["crm", batch.partition_key]
                duckdb.load("crm", frame, batch.partition_key, load_timestamp=batch.load_timestamp)
        assert assert_equal(delivered.vault, duckdb, "sat_city") > 7


def test_a_batch_is_not_given_up_while_a_step_of_it_writes(
    delivered: Deliveries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gives it up waits for that step, and then finds what it wrote."""
    locks = TableLocks(monkeypatch)
    held = Doing(delivered.load, "erp", rows(("a", 30, "Brig")))
    with locks.stopped(held, "erp", 'insert into "VAULT"."SAT_XT_HUB_SUPPLIER"'):
        (batch,) = open_batches(delivered.warehouse)
        giving_up = Doing(abandon_batch, delivered.warehouse, batch.batch_id, h.day(2000))
        giving_up.start()
        locks.await_waiter("", f"control.{source_lock('erp')}")
    with pytest.raises(BatchStateError, match=r"has written already|is done"):
        giving_up.end()
    held.end()
    assert not open_batches(delivered.warehouse)


def test_what_is_declared_later_gets_its_lock_and_a_lost_one_is_told(account: Callable[[], SnowflakeWarehouse]) -> None:
    warehouse = account()
    with Vault.open([CRM], warehouse) as vault:
        vault.load("crm", FIRST, "one")
    with Vault.open([CRM, BESIDE], warehouse) as vault:
        vault.load("shop", FIRST, "one")
        own = [source_lock("shop"), table_lock("sat_shop")]
        others = [*locks_of("crm", ["hub_customer", "sat_xt_hub_customer", "sat_city"]), table_lock("control.delivery")]
        for lock in (*own, *others):
            assert vault.query(f"select count(*) as n from control.{lock}")["n"].tolist() == [1], lock
        batch = vault.stage("shop", SECOND, "two").batch
        with warehouse.session() as session:  # as a step finds it that comes while another load makes the lock
            session.execute(f"delete from control.{own[0]}")
        with pytest.raises(WarehouseBusyError, match="is being made by another load"):
            list(vault.finish(batch))
        with warehouse.session() as session:  # as in a vault that is older than the locks
            session.execute(f"drop table control.{own[0]}")
            session.execute(f"delete from control.table_column where table_name = '{own[0]}'")
        with pytest.raises(WarehouseError, match="let the owner role run `xts init`"):
            list(vault.finish(batch))
        vault.load("shop", SECOND, "two")
        assert not open_batches(warehouse)


def test_lock_names_are_identifiers_and_no_source_shares_one_with_a_table() -> None:
    long = "s" * 255
    names = [source_lock(long), table_lock(long), source_lock(long[1:]), source_lock("x"), table_lock("x")]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 255 for name in names)
    assert source_lock(long + "t") != source_lock(long + "u")
    assert source_lock("CRM") == source_lock("crm")
    assert table_lock("control.delivery") == "lock_of_table_control_delivery"
