"""Where Dagster's records go: they are those its own storage would write, and a batch is there whole or not at all."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events.log import EventLogEntry
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from xts_pipeline.orchestration.event_log import BATCH_SIZE_VARIABLE, EventLog
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project

ROOT = Path(__file__).parents[2]
FULL = 7  # events of a batch here
WRITTEN_AT = {"create_timestamp", "migration_completed"}
Rows = dict[tuple[str, str], list[tuple[Any, ...]]]


@pytest.fixture
def events(project: Project) -> list[EventLogEntry]:
    """What two runs say, one over a partition and one over four: assets, partitions, checks, logs and steps."""
    project.declare(CASE, **FOUR).register("case", *FOUR)
    runs = [project.run("case", "d1").run_id, project.run_range("case", "d1", "d4").run_id]
    return [event for run in runs for event in project.instance.all_logs(run)]


def of_assets(events: Sequence[EventLogEntry]) -> list[EventLogEntry]:
    """The materializations of the second run, planned and made."""
    made = (dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED)
    return [event for event in events if event.run_id == events[-1].run_id and event.dagster_event_type in made]


def rows_in(folder: Path) -> Rows:
    """What stands in the files, shard by shard and table by table, without the time at which it was written."""
    found: Rows = {}
    for file in sorted(folder.glob("*.db")):
        with sqlite3.connect(file) as connection:
            for (table,) in connection.execute("select name from sqlite_master where type = 'table'").fetchall():
                columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
                kept = ", ".join(f'"{name}"' for name in columns if name not in WRITTEN_AT)
                found[file.stem, table] = connection.execute(f"select {kept} from {table} order by 1").fetchall()
        connection.close()
    return found


def store(storage: SqliteEventLogStorage, events: Sequence[EventLogEntry]) -> None:
    for at in range(0, len(events), FULL):
        storage.store_event_batch(events[at : at + FULL])


def test_what_is_stored_is_what_dagster_stores(tmp_path: Path, events: list[EventLogEntry]) -> None:
    store(SqliteEventLogStorage(str(tmp_path / "own")), events)
    store(EventLog(str(tmp_path / "kept")), events)
    expected, found = rows_in(tmp_path / "own"), rows_in(tmp_path / "kept")
    assert found == expected
    index = {table: len(rows) for (shard, table), rows in found.items() if shard == "index"}
    assert index["asset_keys"] == 8
    assert index["event_logs"] > 40
    assert index["asset_check_executions"] > 0
    assert index["asset_event_tags"] > 20


def test_either_goes_on_with_the_files_of_the_other(tmp_path: Path, events: list[EventLogEntry]) -> None:
    third = len(events) // 3
    store(SqliteEventLogStorage(str(tmp_path / "own")), events)
    for storage, at in ((SqliteEventLogStorage, 0), (EventLog, third), (SqliteEventLogStorage, 2 * third)):
        last = at + third if at < 2 * third else len(events)
        store(storage(str(tmp_path / "both")), events[at:last])
    assert rows_in(tmp_path / "both") == rows_in(tmp_path / "own")


def test_a_batch_that_fails_leaves_nothing(
    tmp_path: Path, events: list[EventLogEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = EventLog(str(tmp_path))
    batch = of_assets(events)
    storage.store_event(batch[0])
    before = rows_in(tmp_path)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(storage, "_store_asset_event", die)
        with pytest.raises(KeyboardInterrupt):
            storage.store_event_batch(batch[1:])
    assert rows_in(tmp_path) == before
    storage.store_event_batch(batch[1:])
    assert len(rows_in(tmp_path)["index", "event_logs"]) == len(batch)


def test_writers_come_between_each_other(tmp_path: Path, events: list[EventLogEntry]) -> None:
    batch = of_assets(events)
    writers = [EventLog(str(tmp_path)), EventLog(str(tmp_path)), SqliteEventLogStorage(str(tmp_path))]
    threads = [threading.Thread(target=store, args=(writer, batch)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = rows_in(tmp_path)
    for shard in ("index", batch[0].run_id):
        assert set(Counter(row[2] for row in found[shard, "event_logs"]).values()) == {3}, shard


def test_who_watches_a_run_is_told_of_a_batch(tmp_path: Path, events: list[EventLogEntry]) -> None:
    batch = of_assets(events)
    told: list[EventLogEntry] = []
    is_told = threading.Event()

    def see(event: EventLogEntry, _cursor: str) -> None:
        told.append(event)
        if len(told) == len(batch):
            is_told.set()

    with dg.DagsterInstance.local_temp(str(tmp_path), overrides={"event_log_storage": ours()}) as instance:
        watching, writing = instance.event_log_storage, EventLog(str(tmp_path / "history" / "runs"))
        writing.store_event(batch[0])
        watching.watch(batch[0].run_id, None, see)
        store(writing, batch[1:])
        assert is_told.wait(20)
        watching.end_watch(batch[0].run_id, see)
    assert [event.message for event in told] == [event.message for event in batch]


def ours() -> dict[str, Any]:
    return {"module": EventLog.__module__, "class": EventLog.__name__, "config": {}}


@pytest.mark.parametrize("settings", ["dagster.yaml", "dagster.snowflake.yaml"])
def test_the_settings_name_it_and_it_writes_where_dagster_does(
    tmp_path: Path, settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BATCH_SIZE_VARIABLE, raising=False)
    shutil.copy(ROOT / settings, tmp_path / "dagster.yaml")
    ref = InstanceRef.from_dir(str(tmp_path))
    with dg.DagsterInstance.local_temp(str(tmp_path)) as own, dg.DagsterInstance.from_ref(ref) as instance:
        assert isinstance(instance.event_log_storage, EventLog)
        own.add_dynamic_partitions("case_batches", ["d1"])
        assert instance.get_dynamic_partitions("case_batches") == ["d1"]
        assert instance._get_event_batch_size() == 100


def test_a_range_is_stored_in_batches(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[int] = []
    monkeypatch.setenv(BATCH_SIZE_VARIABLE, "3")
    plain = EventLog._store_asset_events
    monkeypatch.setattr(EventLog, "_store_asset_events", lambda *args: (stored.append(len(args[2])), plain(*args))[1])
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides={"event_log_storage": ours()}) as instance:
        loaded = Project(project.folder, instance).declare(CASE, **FOUR)
        loaded.register("case", *FOUR)
        assert loaded.run_range("case", "d1", "d4").success
        for asset in ("sat_case_city", "case/hub_customer", "staged/case"):
            key = dg.AssetKey.from_user_string(asset)
            assert instance.get_materialized_partitions(key) == set(FOUR)
    assert set(stored) == {3}  # Dagster stores the fourth alone
