"""The workload: a vault with a history of daily heartbeats, and the deliveries that are loaded on top of it.

Deterministic, and written by SQL straight into the tables that the project made; `verify` holds a small history
against one that was loaded day by day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from re import findall

import duckdb
import pyarrow as pa

from xts_pipeline import Vault
from xts_pipeline.warehouse import DuckDBWarehouse
from xts_pipeline.warehouse.duckdb import bound_memory

SQL = Path(__file__).parent / "sql"
EPOCH = datetime(2024, 1, 1)
BEFORE = datetime(2023, 12, 1)  # load timestamp of the empty batch that makes the tables
SOURCE = {
    "source": "bench",
    "record_source": "BENCH",
    "applied_timestamp": "applied",
    "hubs": [{"hub": "customer", "business_key": {"customer_id": "text"}}],
    "satellites": [
        {
            "name": "sat_customer",
            "parent": {"hub": "customer"},
            "columns": {"name": "text", "street": "text", "city": "text", "postcode": "text", "tier": "integer"},
        }
    ],
}
COLUMNS = ("customer_id", "applied", "name", "street", "city", "postcode", "tier")


@dataclass(frozen=True)
class Size:
    """How large a history is: keys, days of heartbeats, and the keys of the batch that is loaded on top."""

    keys: int
    days: int
    batch: int

    @property
    def facts(self) -> int:
        """Rows of the XTS."""
        return self.keys * self.days

    @property
    def name(self) -> str:
        """The size as a file is named by it."""
        return f"{self.keys}_keys_{self.days}_days"


@dataclass(frozen=True)
class Scenario:
    """What arrives: the time it speaks of, and the keys that arrive apart from the rest."""

    name: str
    applied: datetime
    stray: int = 0
    stray_applied: datetime = EPOCH
    replayed: bool = False


def day(number: float) -> datetime:
    """The applied timestamp of a day of the history, or of a moment between two."""
    return EPOCH + timedelta(days=number)


def loaded(number: float) -> datetime:
    """When a day was loaded: at six in the morning."""
    return day(number) + timedelta(hours=6)


def scenarios(size: Size) -> list[Scenario]:
    """Every arrival that is measured. Late by n days: n heartbeats of every key are newer."""
    newest = size.days - 1

    def late(days: int) -> Scenario:
        return Scenario(f"late by {days}", day(newest - days + 0.5))

    return [
        Scenario("in sequence", day(size.days)),
        late(1),
        late(2),
        late(min(10, size.days - 2)),
        Scenario("late by half", day(newest - size.days // 2 + 0.5)),
        Scenario("one late key", day(size.days), stray=1, stray_applied=day(newest - 1.5)),
        Scenario("correction", day(newest - 2)),
        Scenario("replay", day(size.days), replayed=True),
    ]


@cache
def statement(name: str) -> str:
    """The text of a file of bench/sql."""
    return (SQL / f"{name}.sql").read_text()


def execute(connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, object] | None = None) -> None:
    """Run a file of bench/sql with the values it names."""
    text = statement(name)
    connection.execute(text, _bound(text, values or {}))


def arrow(connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, object]) -> pa.Table:
    """The rows a file of bench/sql selects."""
    text = statement(name)
    return connection.sql(text, params=_bound(text, values)).to_arrow_table()


def _bound(text: str, values: Mapping[str, object]) -> dict[str, object]:
    return {bind: values[bind] for bind in set(findall(r"\$(\w+)", text))}


def connect(path: Path, memory: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open a vault's file as the pipeline does, except that nothing is checkpointed until it is asked for."""
    connection = duckdb.connect(str(path))
    bound_memory(connection)
    connection.execute("set checkpoint_threshold = '1TB'")
    connection.execute("pragma disable_checkpoint_on_shutdown")
    if memory:
        connection.execute(f"set memory_limit = '{memory}'")
    return connection


def vault_on(connection: duckdb.DuckDBPyConnection) -> Vault:
    """The vault over an open connection."""
    return Vault.open([SOURCE], DuckDBWarehouse(connection))


def build_history(path: Path, size: Size) -> None:
    """Make a vault's file with the whole history in it."""
    building = path.with_suffix(".building")
    building.unlink(missing_ok=True)
    with duckdb.connect(str(building)) as connection:
        connection.execute("set memory_limit = '2GB'")
        vault = vault_on(connection)
        vault.load("bench", _no_rows(), partition="tables", load_timestamp=BEFORE)
        connection.execute("use vault")
        connection.execute(statement("states"))
        values = {"keys": size.keys, "load_timestamp": loaded(0), "applied_timestamp": day(0)}
        execute(connection, "history_hub", values)
        for number in range(size.days):
            values |= {"day": number, "load_timestamp": loaded(number), "applied_timestamp": day(number)}
            execute(connection, "history_xts", values)
            execute(connection, "history_satellite", values)
            execute(connection, "history_batch", values)
        execute(connection, "history_clock", values)
        connection.execute("checkpoint")
    building.rename(path)


def _no_rows() -> pa.Table:
    types = {"applied": pa.timestamp("us"), "tier": pa.int64()}
    return pa.table({column: pa.array([], types.get(column, pa.string())) for column in COLUMNS})


def delivery(size: Size, scenario: Scenario) -> pa.Table:
    """The rows of a scenario."""
    with duckdb.connect() as connection:
        connection.execute(statement("states"))
        values = {
            "keys": size.keys,
            "day": size.days - 1,
            "every": size.keys // size.batch,
            "applied_timestamp": scenario.applied,
            "stray": scenario.stray,
            "stray_applied": scenario.stray_applied,
            "tier": 1_000,
        }
        return arrow(connection, "delivery", values)


def delivery_of_day(size: Size, number: int) -> pa.Table:
    """What was delivered on a day of the history."""
    with duckdb.connect() as connection:
        connection.execute(statement("states"))
        values = {"keys": size.keys, "day": number, "applied_timestamp": day(number)}
        return arrow(connection, "delivery_of_day", values)
