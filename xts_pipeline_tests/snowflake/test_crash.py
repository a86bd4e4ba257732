"""A load that dies at any statement on Snowflake, DDL and uploads included, and the next one that rolls it forward."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from fakesnow import patch

from xts_pipeline import Vault
from xts_pipeline.orchestration.snowflake_resource import connecting
from xts_pipeline.staging.making import open_control
from xts_pipeline.warehouse.snowflake import SnowflakeSession, SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings
from xts_pipeline_tests import histories as h
from xts_pipeline_tests.crash import Crash
from xts_pipeline_tests.snowflake.fake import private_key, shim
from xts_pipeline_tests.snowflake.parity import rows_of

SOURCE = {
    **h.SOURCE,
    "satellites": [{"name": "sat_city", "parent": {"hub": "customer"}, "columns": ["city"]}],
}
DELIVERIES = {
    "2024-01-05": [("a", h.day(4), "Bern"), ("b", h.day(4), "Chur")],
    "2024-01-03": [("a", h.day(2), "Basel"), ("c", h.day(2), "Zug")],
}
TABLES = ("hub_customer", "sat_xt_hub_customer", "sat_city")


class Moments:
    """Counts the statements a session runs; dies before or after one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, die_at: int | None = None) -> None:
        self.count = 0
        self.die_at = die_at
        execute = SnowflakeSession.execute

        def dying_execute(itself: SnowflakeSession, *args: Any) -> Any:
            self.pass_by()
            result = execute(itself, *args)
            self.pass_by()
            return result

        monkeypatch.setattr(SnowflakeSession, "execute", dying_execute)

    def pass_by(self) -> None:
        self.count += 1
        if self.count == self.die_at:
            raise Crash(f"moment {self.count}")


@pytest.fixture(scope="module")
def account() -> Iterator[None]:
    with patch(), shim():
        yield


def new_warehouse() -> SnowflakeWarehouse:
    database = f"dv_{secrets.token_hex(4)}"
    return SnowflakeWarehouse(
        SnowflakeSettings(account="test", user="loader", database=database, private_key=private_key())
    )


def deliver(warehouse: SnowflakeWarehouse, partition: str) -> None:
    """As a process does: open the vault, load, close."""
    frame = pd.DataFrame(DELIVERIES[partition], columns=["customer_id", "applied", "city"])
    with Vault.open([SOURCE], warehouse) as vault:
        vault.load("crm", frame, partition)


def found(warehouse: SnowflakeWarehouse) -> dict[str, list[tuple[str, ...]]]:
    """Every table, with load timestamps as places in the order of stamps."""
    with Vault.open([SOURCE], warehouse) as vault:
        stamps = sorted(
            str(stamp) for stamp in vault.query("select load_timestamp from control.load_batch")["load_timestamp"]
        )
        places = {stamp: f"load {place}" for place, stamp in enumerate(stamps)}
        return {
            table: sorted(tuple(places.get(value, value) for value in row) for row in rows_of(vault, table))
            for table in TABLES
        }


@pytest.fixture(scope="module")
def undisturbed(account: None) -> dict[str, list[tuple[str, ...]]]:
    warehouse = new_warehouse()
    for partition in DELIVERIES:
        deliver(warehouse, partition)
    return found(warehouse)


def count_moments(monkeypatch: pytest.MonkeyPatch) -> int:
    """Those of the first load into a new database, all DDL in it, and of the second."""
    with monkeypatch.context() as counting:
        moments = Moments(counting)
        warehouse = new_warehouse()
        for partition in DELIVERIES:
            deliver(warehouse, partition)
    return moments.count


def die_and_go_on(
    monkeypatch: pytest.MonkeyPatch,
    moment: int,
    expected: dict[str, list[tuple[str, ...]]],
    *,
    other_first: bool,
    warehouse: SnowflakeWarehouse | None = None,
) -> None:
    """Die at a moment, then deliver again: the delivery that died, or the other one first, which rolls it forward."""
    warehouse = warehouse or new_warehouse()
    remaining = list(DELIVERIES)

    def deliver_all() -> None:
        for partition in DELIVERIES:
            deliver(warehouse, partition)
            remaining.remove(partition)

    with monkeypatch.context() as dying:
        Moments(dying, die_at=moment)
        with pytest.raises(Crash):
            deliver_all()
    again = remaining if not other_first else [*remaining[:1], *DELIVERIES]
    for partition in again:
        deliver(warehouse, partition)
    assert found(warehouse) == expected, f"died at moment {moment}"
    opened = Vault.open([SOURCE], warehouse)
    assert opened.query("select count(*) as pending from control.pending_statement")["pending"][0] == 0
    assert opened.query("select count(*) as opened from control.load_batch where status = 'open'")["opened"][0] == 0


@pytest.mark.parametrize("share", [0.08, 0.3, pytest.param(0.62, marks=pytest.mark.long), 0.97])
def test_a_load_that_dies_is_rolled_forward_and_nothing_is_there_twice(
    account: None, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """At a few moments of the first load (making control tables, making tables, staging, steps) and of the second."""
    die_and_go_on(monkeypatch, int(share * count_once(monkeypatch)), undisturbed, other_first=False)


def test_a_load_that_dies_over_http_is_rolled_forward_and_replayed(
    over_http: SnowflakeWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the second load, whose rows are staged and whose steps are not all done."""
    reference = beside(over_http)
    with monkeypatch.context() as counting:
        moments = Moments(counting)
        for partition in DELIVERIES:
            deliver(reference, partition)
    expected = found(reference)
    die_and_go_on(monkeypatch, int(0.8 * moments.count), expected, other_first=False, warehouse=over_http)
    deliver(over_http, "2024-01-03")  # a replay
    assert found(over_http) == expected


def beside(warehouse: SnowflakeWarehouse) -> SnowflakeWarehouse:
    """Another database on the same server."""
    settings = warehouse.settings.model_copy(update={"database": warehouse.settings.database + "_2"})
    return SnowflakeWarehouse(settings, connecting(settings))


_COUNTED: list[int] = []


def count_once(monkeypatch: pytest.MonkeyPatch) -> int:
    if not _COUNTED:
        _COUNTED.append(count_moments(monkeypatch))
    return _COUNTED[0]


@pytest.mark.long
def test_a_load_that_dies_at_any_moment_is_rolled_forward(
    account: None, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for moment in range(1, count_once(monkeypatch) + 1):
        die_and_go_on(monkeypatch, moment, undisturbed, other_first=bool(moment % 2))


def test_a_replay_writes_nothing_and_keeps_its_stamp(account: None, undisturbed: dict[str, Any]) -> None:
    warehouse = new_warehouse()
    with Vault.open([SOURCE], warehouse) as vault:
        frame = pd.DataFrame(DELIVERIES["2024-01-05"], columns=["customer_id", "applied", "city"])
        first = vault.load("crm", frame, "2024-01-05")
        before = {table: rows_of(vault, table) for table in TABLES}
        again = vault.load("crm", frame.iloc[::-1], "2024-01-05")
        assert (again.replayed, again.batch_id, again.load_timestamp) == (True, first.batch_id, first.load_timestamp)
        assert {table: rows_of(vault, table) for table in TABLES} == before


def test_control_tables_that_are_there_are_not_made_again(account: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader may have no right to DDL, and opening a vault must not cost its statements."""
    warehouse = new_warehouse()
    open_control(warehouse, "sha256")
    moments = Moments(monkeypatch)
    open_control(warehouse, "sha256")
    assert moments.count == 2 * 2  # before and after two queries
