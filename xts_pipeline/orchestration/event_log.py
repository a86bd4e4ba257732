"""Dagster's SQLite event log, with an engine that is kept and batches that are written at once.

Dagster 1.13's own makes an engine for each statement, compiles the statement anew, looks up tables and columns again,
and stores a batch of events one by one: 20 ms of computing an event, of which a year of daily partitions makes four
thousand. dagster.yaml names this one. The files are the same, so that either may go on with those of the other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy as db
from dagster._core.events import ASSET_EVENTS
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClassData
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

BATCH_SIZE_VARIABLE = "DAGSTER_EVENT_BATCH_SIZE"  # Dagster's: how many events it hands over at once; unset, one
BATCH_SIZE = 100
SHARDS = 16  # of which the engine is kept


class EventLog(SqliteEventLogStorage):
    """The SQLite event log; a run's events stand in a shard of the run, those of assets in the index shard too.

    An engine is kept, and no connection: other threads and processes come between as before. What is remembered of the
    index's schema is what is there, since nothing drops a table or a column.
    """

    def __init__(self, base_dir: str | None = None, inst_data: ConfigurableClassData | None = None) -> None:
        """Open the files in a folder; left out: where Dagster has them, below the home of the instance it is put into.

        Every process that writes events makes one of these, so that here Dagster is asked to hand over batches.
        """
        self._engine = lru_cache(maxsize=SHARDS)(self._new_engine)
        self._there: set[tuple[str, str]] = set()
        self._inst_data = inst_data
        os.environ.setdefault(BATCH_SIZE_VARIABLE, str(BATCH_SIZE))
        if base_dir:
            self._open(base_dir)

    def _open(self, folder: str) -> None:
        super().__init__(folder, self._inst_data)
        self._db_lock = threading.RLock()  # type: ignore[assignment]  # a batch has two shards open

    def register_instance(self, instance: dg.DagsterInstance) -> None:
        """Take the place of the instance's event log."""
        if not hasattr(self, "_base_dir"):
            self._open(str(Path(instance.root_directory) / "history" / "runs"))
        super().register_instance(instance)

    @classmethod
    def config_type(cls) -> Any:
        """What dagster.yaml may set: the folder of the files."""
        return {"base_dir": dg.Field(dg.StringSource, is_required=False)}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> EventLog:
        """The event log that dagster.yaml asks for."""
        return cls(config_value.get("base_dir"), inst_data)

    def _new_engine(self, shard: str) -> Engine:
        url = self.conn_string_for_shard(shard)
        return db.create_engine(url, poolclass=NullPool, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine(shard)
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                yield connection

    def has_table(self, table_name: str) -> bool:
        """Whether the index has a table."""
        look = super().has_table
        return self._is_there("table", table_name, lambda: look(table_name))

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        look = super()._has_asset_key_col_on_connection
        return self._is_there("column", column_name, lambda: look(conn, column_name))

    def _is_there(self, what: str, name: str, look: Callable[[], bool]) -> bool:
        if (what, name) not in self._there and look():
            self._there.add((what, name))
        return (what, name) in self._there

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Write events in their order, those of assets in one transaction a shard; others go one by one."""
        for (run, is_of_asset), group in groupby(events, key=lambda event: (event.run_id, _is_of_asset(event))):
            if is_of_asset:
                self._store_asset_events(run, list(group))
            else:
                for event in group:
                    self.store_event(event)

    def _store_asset_events(self, run: str, events: Sequence[EventLogEntry]) -> None:
        """All or none: Dagster stores a batch that fails again, event by event. Hence neither shard is committed before
        both are written."""
        insert = SqlEventLogStorageTable.insert()
        rows = [self._event_to_row(event) for event in events]
        with self._connect(run) as shard, self._connect(INDEX_SHARD_NAME) as index:
            shard.execute(insert, rows)
            ids = [_id_of(index.execute(insert, row).inserted_primary_key) for row in rows]
            self._store_asset_event_tags(index, events, ids)
            newest = {
                (event.get_dagster_event().asset_key, event.dagster_event_type): (event, event_id)
                for event, event_id in zip(events, ids, strict=True)
            }
            for event, event_id in newest.values():
                self._store_asset_event(index, event, event_id)


def _is_of_asset(event: EventLogEntry) -> bool:
    return event.is_dagster_event and event.dagster_event_type in ASSET_EVENTS


def _id_of(inserted: Sequence[Any] | None) -> int:
    """The id that an inserted row was given."""
    if not inserted:
        raise RuntimeError("an event was stored without an id")
    return int(inserted[0])
