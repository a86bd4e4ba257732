"""Crashes and overlaps on purpose: a warehouse that dies at a chosen statement, and a vault's contents to compare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from xts_pipeline import Vault
from xts_pipeline.warehouse.duckdb import DuckDBTransaction, DuckDBWarehouse


class Crash(BaseException):
    """The process dies here: nothing catches it on the way."""


class Moments:
    """Counts the moments at which a process could die, one before and one after each statement and commit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, die_at: int | None = None) -> None:
        self.count = 0
        self.die_at = die_at
        execute, append, transaction = DuckDBTransaction._execute, DuckDBTransaction.append, DuckDBWarehouse.transaction

        def dying_execute(itself: DuckDBTransaction, *args: object) -> None:
            self.pass_by()
            execute(itself, *args)  # type: ignore[arg-type]
            self.pass_by()

        def dying_append(itself: DuckDBTransaction, *args: object) -> None:
            self.pass_by()
            append(itself, *args)  # type: ignore[arg-type]
            self.pass_by()

        @contextmanager
        def dying_transaction(itself: DuckDBWarehouse) -> Iterator[DuckDBTransaction]:
            with transaction(itself) as opened:
                yield opened
                self.pass_by()
            self.pass_by()  # committed, and nobody was told

        monkeypatch.setattr(DuckDBTransaction, "_execute", dying_execute)
        monkeypatch.setattr(DuckDBTransaction, "append", dying_append)
        monkeypatch.setattr(DuckDBWarehouse, "transaction", dying_transaction)

    def pass_by(self) -> None:
        self.count += 1
        if self.count == self.die_at:
            raise Crash(f"moment {self.count}")


VAULT_TABLES = {
    "hub_customer": "customer_id, dv_applied_timestamp",
    "hub_account": "account_id, dv_applied_timestamp",
    "lnk_customer_account": "dv_hashkey_lnk_customer_account, dv_applied_timestamp",
    "sat_xt_hub_customer": "dv_hashkey_hub_customer, dv_rectarget, dv_applied_timestamp, dv_hashdiff, "
    "dv_sequence_violation",
    "sat_xt_lnk_customer_account": "dv_hashkey_lnk_customer_account, dv_applied_timestamp, dv_hashdiff, "
    "dv_sequence_violation",
    "sat_address": "dv_hashkey_hub_customer, dv_applied_timestamp, dv_hashdiff, dv_xts_event, city",
    "sat_contact": "dv_hashkey_hub_customer, dv_applied_timestamp, dv_hashdiff, dv_xts_event, phone",
    "sat_holding": "dv_hashkey_lnk_customer_account, dv_applied_timestamp, dv_hashdiff, dv_xts_event, share",
}


def contents(vault: Vault) -> dict[str, list[tuple[object, ...]]]:
    """Every table of the vault, with load timestamps as places in the order of stamps: two runs compare by these."""
    found = {}
    for table, columns in VAULT_TABLES.items():
        frame = vault.query(f"""
            select
                (select count(*) from control.load_batch where load_timestamp < t.dv_load_timestamp) as load, {columns}
            from {table} as t order by all
        """)
        found[table] = [tuple(map(str, row)) for row in frame.itertuples(index=False)]
    return found


SOURCE = {
    "source": "bank",
    "record_source": "BANK",
    "applied_timestamp": "day",
    "hubs": [
        {"hub": "customer", "business_key": {"customer_id": "text"}},
        {"hub": "account", "business_key": {"account_id": "text"}},
    ],
    "links": [{"link": "customer_account", "hubs": ["customer", "account"]}],
    "satellites": [
        {"name": "sat_address", "parent": {"hub": "customer"}, "columns": {"city": "text"}},
        {
            "name": "sat_contact",
            "parent": {"hub": "customer"},
            "columns": {"phone": "text"},
            "xts_assisted": False,
        },
        {"name": "sat_holding", "parent": {"link": "customer_account"}, "columns": {"share": "integer"}},
    ],
}
COLUMNS = ["customer_id", "account_id", "day", "city", "phone", "share"]
DELIVERIES = {
    "2024-01-01": [("1", "a", "2024-01-01", "Bern", "11", 10), ("2", "b", "2024-01-01", "Basel", "22", 20)],
    "2024-01-05": [("1", "a", "2024-01-05", "Bern", "11", 10), ("2", "b", "2024-01-05", "Chur", "22", 30)],
    "2024-01-03": [("1", "a", "2024-01-03", "Genf", "33", 50), ("3", "c", "2024-01-03", "Zug", "44", 40)],
    "2024-01-07": [("1", "a", "2024-01-07", "Genf", "33", 60), ("3", "c", "2024-01-04", "Thun", "44", 40)],
}
