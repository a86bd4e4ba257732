"""Deliveries: the decisions as plain functions, files on disk, and the ledger with its leases."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from xts_pipeline import Vault, deliveries, delivery_files
from xts_pipeline.deliveries import LEASE, Content, KnownDelivery
from xts_pipeline.delivery_files import FoundFiles, find_files, is_settled
from xts_pipeline.metadata.schedule import Schedule
from xts_pipeline.warehouse import Warehouse

NOW = datetime(2026, 1, 4, 6)
OLD = NOW - timedelta(hours=1)
A, B = "a" * 64, "b" * 64
SOURCE = {
    "source": "shop",
    "record_source": "SHOP",
    "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"id": "text"}}],
}


def known(partition: str = "d1", number: int = 1, digest: str = A, **changed: object) -> KnownDelivery:
    return replace(KnownDelivery("shop", partition, number, digest, None, OLD), **changed)  # type: ignore[arg-type]


def decided(contents: list[Content], *newest: KnownDelivery) -> list[tuple[str, int, str]]:
    found = deliveries.new_deliveries("shop", contents, {each.partition_key: each for each in newest}, NOW)
    return [(each.partition_key, each.delivery_number, each.digest) for each in found]


def test_a_content_is_a_delivery_when_it_differs_from_the_newest_one() -> None:
    assert decided([Content("d1", A)]) == [("d1", 1, A)]
    assert decided([Content("d1", A)], known()) == []
    assert decided([Content("d1", B)], known()) == [("d1", 2, B)]
    assert decided([Content("d1", A)], known(number=2, digest=B)) == [("d1", 3, A)]  # not the same as the first A
    assert decided([Content("d2", A)], known()) == [("d2", 1, A)]


def test_a_file_written_anew_with_the_same_content_is_recognised() -> None:
    newest = {"d1": known(file_state="1 1 1 1")}
    (again,) = deliveries.recognised([Content("d1", A, "1 2 2 1")], newest)
    assert (again.delivery_number, again.file_state) == (1, "1 2 2 1")
    assert deliveries.recognised([Content("d1", A, "1 1 1 1"), Content("d2", A, "x")], newest) == []


@pytest.mark.parametrize(
    ("delivery", "may"),
    [
        (known(), True),
        (known(requested_at=NOW - LEASE + timedelta(seconds=1), requested_by="other"), False),
        (known(requested_at=NOW - LEASE, requested_by="other"), True),
        (known(requested_at=NOW, requested_by="me"), True),
        (known(staged_at=NOW, staged_batch_id="b"), False),
        (known(requested_at=OLD, requested_by="me", staged_at=NOW, staged_batch_id="b"), False),
    ],
)
def test_who_may_request_a_run(delivery: KnownDelivery, may: bool) -> None:
    assert deliveries.waiting([delivery], "me", NOW) == ([delivery] if may else [])


def test_what_waits_goes_by_when_it_was_seen_then_by_partition() -> None:
    late, early, same = known("d1"), known("d9", seen_at=OLD - timedelta(days=1)), known("d0")
    assert deliveries.waiting([late, early, same], "me", NOW) == [early, same, late]


def test_a_run_key_tells_deliveries_of_two_vaults_apart() -> None:
    first = known(number=2).run_key
    assert first.startswith("shop:d1:2:")
    assert first != known(number=2, seen_at=NOW).run_key


def test_the_partition_of_a_tick_is_its_day_in_the_zone_of_the_schedule() -> None:
    tick = datetime(2026, 1, 4, 23, 30, tzinfo=UTC)
    assert Schedule(cron="30 0 * * *", timezone="Europe/Zurich").partition_of(tick) == "2026-01-05"
    assert Schedule(cron="30 23 * * 1-5").partition_of(tick) == "2026-01-04"
    assert Schedule(cron="@daily").partition_of(tick) == "2026-01-04"
    for often in ("*/30 * * * *", "30 * * * *", "30 11,23 * * *", "@hourly"):
        assert Schedule(cron=often).partition_of(tick) == "2026-01-04T23:30"


@pytest.mark.parametrize(
    ("cron", "told"),
    [
        ("0 25 * * *", "hour 25 is not between 0 and 23"),
        ("0-61 * * * *", "minute 61 is not between 0 and 59"),
        ("0 6 1,32 * *", "day 32 is not between 1 and 31"),
        ("0 6 * 13 *", "month 13 is not between 1 and 12"),
        ("0 6 * * 1-8", "weekday 8 is not between 0 and 7"),
    ],
)
def test_a_number_that_no_clock_shows_is_named(cron: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Schedule(cron=cron)


@pytest.mark.parametrize("cron", ["*/15 6-18 * * 1-5", "0 6 1,15 jan-mar 5#2", "0 0 L * *", "@daily", "5 4 31 12 7"])
def test_a_cron_is_taken_as_it_stands(cron: str) -> None:
    assert Schedule(cron=cron).cron == cron


@pytest.mark.parametrize("cron", ["", "6", "0 6 * *", "0 6 * * * *", "every morning at six o'clock", "@noon"])
def test_a_cron_that_is_none_is_refused(cron: str) -> None:
    with pytest.raises(ValueError, match="no cron"):
        Schedule(cron=cron)


@pytest.mark.parametrize(
    ("written", "settled"), [(100.0, False), (95.1, False), (95.0, True), (1.0, True), (104.0, False), (900.0, True)]
)
def test_a_file_settles_some_seconds_after_it_was_written(written: float, settled: bool, tmp_path: Path) -> None:
    """One that a machine with a fast clock writes is not waited for until that hour comes."""
    path = tmp_path / "d1.csv"
    path.write_text("x")
    file = delivery_files.file_of("d1", str(path))
    assert file is not None
    assert is_settled(replace(file, written_at=written), 5, 100.0) is settled
    assert is_settled(replace(file, written_at=100.0), 0, 100.0)


def test_files_are_found_by_their_names(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", ".c.csv", "d.csv.part", "e.txt", "two,three.csv", "a...b.csv", " f.csv"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder.csv").mkdir()
    found = find_files("shop", f"{tmp_path}/{{partition}}.csv")
    assert [file.partition for file in found.files] == ["a", "b"]
    assert sorted(Path(each.partition(": ")[0]).name for each in found.misnamed) == [
        " f.csv",
        "a...b.csv",
        "two,three.csv",
    ]


def test_a_path_may_hold_the_partition_twice_and_what_a_pattern_would_mean(tmp_path: Path) -> None:
    for folder, name in (("1", "1"), ("2", "3")):
        (tmp_path / f"[x]{folder}").mkdir()
        (tmp_path / f"[x]{folder}/a+{name}.csv").write_text("x")
    found = find_files("shop", f"{tmp_path}/[x]{{partition}}/a+{{partition}}.csv")
    assert [file.partition for file in found.files] == ["1"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("d1", "d2", "d3"):
        write(tmp_path, name, name)
    return tmp_path


def write(folder: Path, partition: str, text: str, age: float = 60) -> None:
    path = folder / f"{partition}.csv"
    path.write_text(text)
    stamp = path.stat().st_mtime - age
    os.utime(path, (stamp, stamp))


def found_in(folder: Path) -> FoundFiles:
    return find_files("shop", f"{folder}/{{partition}}.csv")


def newest_after(looked: deliveries.Looked) -> dict[str, KnownDelivery]:
    return {each.partition_key: each for each in deliveries.new_deliveries("shop", looked.contents, {}, NOW)}


def test_a_file_is_read_again_only_when_it_was_written_to(files: Path) -> None:
    newest = newest_after(deliveries.look(found_in(files), {}, 5))
    assert sorted(newest) == ["d1", "d2", "d3"]
    write(files, "d2", "other")
    os.utime(files / "d3.csv")
    looked = deliveries.look(found_in(files), newest, 5)
    assert [content.partition for content in looked.contents] == ["d2"]
    assert looked.too_young == ("d3",)


def test_same_size_and_times_set_back_hide_no_change(files: Path) -> None:
    newest = newest_after(deliveries.look(found_in(files), {}, 5))
    before = (files / "d1.csv").stat()
    (files / "d1.csv").write_text("x1")
    os.utime(files / "d1.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [content.partition for content in deliveries.look(found_in(files), newest, 5).contents] == ["d1"]


def test_a_file_that_is_written_to_while_it_is_read_waits(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = delivery_files.file_of

    def written_meanwhile(partition: str, path: str) -> delivery_files.DeliveredFile | None:
        file = real(partition, path)
        return replace(file, state="another") if file else None

    found = found_in(files)
    monkeypatch.setattr(delivery_files, "file_of", written_meanwhile)
    looked = deliveries.look(found, {}, 5)
    assert (looked.contents, looked.too_young) == ((), ("d1", "d2", "d3"))


def test_a_look_that_takes_long_leaves_the_rest(files: Path) -> None:
    looked = deliveries.look(found_in(files), {}, 5, reading_for=-1)
    assert (looked.contents, looked.unread) == ((), ("d1", "d2", "d3"))


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_in(files)
    (files / "d2.csv").unlink()
    looked = deliveries.look(found, {}, 5)
    assert [content.partition for content in looked.contents] == ["d1", "d3"]
    (fault,) = looked.faults
    assert "d2.csv: cannot be read" in fault


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with Vault.open([SOURCE], f"duckdb:///{tmp_path}/vault.duckdb") as vault:
        yield vault.warehouse


def test_the_ledger_numbers_the_deliveries_of_a_partition(warehouse: Warehouse) -> None:
    numbers = []
    for digest in (A, A, B, B, A):
        newest = deliveries.register(warehouse, "shop", [Content("d1", digest, digest[:3])])
        numbers.append(newest["d1"].delivery_number)
    assert numbers == [1, 1, 2, 2, 3]
    assert deliveries.read_newest(warehouse, "other") == {}


def test_two_who_register_at_once_register_one_delivery(warehouse: Warehouse) -> None:
    threads = [
        threading.Thread(target=deliveries.register, args=(warehouse, "shop", [Content("d1", A), Content("d2", B)]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = warehouse.query("select partition_key, delivery_number from delivery order by all")
    assert rows.to_numpy().tolist() == [["d1", 1], ["d2", 1]]


def test_one_of_two_askers_gets_the_lease(warehouse: Warehouse) -> None:
    newest = deliveries.register(warehouse, "shop", [Content("d1", A), Content("d2", B)])
    seen = deliveries.waiting(newest.values(), "me", NOW)
    mine = deliveries.take_leases(warehouse, "shop", seen[:1], "me", NOW)
    other = deliveries.take_leases(warehouse, "shop", seen, "other", NOW)
    assert [each.partition_key for each in mine] == ["d1"]
    assert [each.partition_key for each in other] == ["d2"]
    assert deliveries.waiting(deliveries.read_newest(warehouse, "shop").values(), "third", NOW) == []


def test_staging_settles_what_was_registered_before_it_and_nothing_later(warehouse: Warehouse) -> None:
    deliveries.register(warehouse, "shop", [Content("d1", A), Content("d2", A)])
    number = deliveries.newest_number(warehouse, "shop", "d1")
    deliveries.register(warehouse, "shop", [Content("d1", B)])  # while the first is staged
    deliveries.mark_staged(warehouse, "shop", "d1", number, "batch")
    newest = deliveries.read_newest(warehouse, "shop")
    assert [each.partition_key for each in deliveries.waiting(newest.values(), "me", NOW)] == ["d2", "d1"]
    deliveries.mark_staged(warehouse, "shop", "d1", 2, "batch 2")
    newest = deliveries.read_newest(warehouse, "shop")
    assert [each.partition_key for each in deliveries.waiting(newest.values(), "me", NOW)] == ["d2"]
    assert newest["d1"].staged_batch_id == "batch 2"
