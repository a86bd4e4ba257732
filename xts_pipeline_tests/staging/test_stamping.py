"""Stamps, replays, retries, abandoned batches and the closed timestamp."""

from __future__ import annotations

from datetime import datetime, timedelta

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.errors import BatchStateError, DeclarationError
from xts_pipeline.ledger import abandon_batch
from xts_pipeline_tests import histories as h

COLUMNS = ["customer_id", "applied", "city", "name"]


def frame(*rows: tuple[str, int, str]) -> pd.DataFrame:
    return pd.DataFrame([(key, h.day(applied), city, "N") for key, applied, city in rows], columns=COLUMNS)


def counts(vault: Vault) -> dict[str, int]:
    tables = ("hub_customer", "sat_xt_hub_customer", "sat_city", "sat_name", "control.load_batch")
    return {table: int(vault.query(f"select count(*) as n from {table}")["n"][0]) for table in tables}


class Clock:
    """A clock that shows what it is told to."""

    def __init__(self, *times: datetime) -> None:
        self.times = list(times)

    def __call__(self) -> datetime:
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]


def test_the_load_timestamp_strictly_increases_even_when_the_clock_steps_back() -> None:
    noon = datetime(2026, 1, 1, 12)
    clock = Clock(noon, noon, noon - timedelta(hours=1), noon + timedelta(hours=1))
    with Vault.open([h.SOURCE], "duckdb:///:memory:", clock=clock) as vault:
        stamps = [vault.load("crm", frame(("k", applied, "A"))).load_timestamp for applied in range(4)]
    microsecond = timedelta(microseconds=1)
    assert stamps == [noon, noon + microsecond, noon + 2 * microsecond, noon + timedelta(hours=1)]


def test_a_given_load_timestamp_must_be_later_than_every_one_before() -> None:
    with h.new_vault() as vault:
        vault.load("crm", frame(("k", 1, "A")), load_timestamp="2026-01-02")
        before = counts(vault)
        for stamp in ("2026-01-02", "2026-01-01 23:59:59.999999", "2026-01-02 00:30:00+01:00"):
            with pytest.raises(ValueError, match="is not later than 2026-01-02 00:00:00, the newest stamp given"):
                vault.load("crm", frame(("k", 2, "B")), load_timestamp=stamp)
        assert counts(vault) == before
        assert vault.query("select * from staged.crm__rows")["customer_id"].tolist() == ["k"]


def test_the_same_content_with_the_same_load_timestamp_is_a_replay() -> None:
    with h.new_vault() as vault:
        first = vault.load("crm", frame(("k", 1, "A"), ("l", 1, "B")), load_timestamp="2026-01-02")
        before = counts(vault)
        again = vault.load("crm", frame(("l", 1, "B"), ("k", 1, "A")), load_timestamp="2026-01-02T00:00:00Z")
        assert (again.replayed, again.batch_id) == (True, first.batch_id)
        assert counts(vault) == before


def test_the_content_of_a_partitions_newest_batch_is_a_replay_that_changes_nothing() -> None:
    with h.new_vault() as vault:
        first = vault.load("crm", frame(("k", 1, "A")), partition="2026-01-01")
        before = counts(vault)
        again = vault.load("crm", frame(("k", 1, "A ")), partition="2026-01-01")  # a trailing blank is no difference
        assert (again.replayed, again.load_timestamp) == (True, first.load_timestamp)
        result = again.satellites["sat_city"]
        assert (result.branch, result.inserted, result.copied, result.violations) == ("normal", 0, 0, 0)
        assert counts(vault) == before
        assert vault.query("select count(*) as n from staged.crm")["n"][0] == 1


def test_other_content_for_a_known_partition_is_a_new_batch_that_corrects() -> None:
    with h.new_vault() as vault:
        vault.load("crm", frame(("k", 1, "A")), partition="2026-01-01")
        corrected = vault.load("crm", frame(("k", 1, "B")), partition="2026-01-01")
        assert (corrected.replayed, corrected.satellites["sat_city"].inserted) == (False, 1)
        assert vault.as_of("sat_city")["city"].tolist() == ["B"]


def test_content_a_then_b_then_a_again_are_three_batches() -> None:
    with h.new_vault() as vault:
        loads = [vault.load("crm", frame(("k", 1, city)), partition="2026-01-01") for city in "ABA"]
        assert [load.replayed for load in loads] == [False, False, False]
        assert len({load.batch_id for load in loads}) == 3
        assert vault.as_of("sat_city")["city"].tolist() == ["A"]


def test_a_retry_of_the_same_root_run_resumes_its_own_batch_whatever_came_since() -> None:
    with h.new_vault() as vault:
        first = vault.load("crm", frame(("k", 1, "A")), partition="2026-01-01", root_run="run-1")
        vault.load("crm", frame(("k", 1, "B")), partition="2026-01-01", root_run="run-2")
        again = vault.load("crm", frame(("k", 1, "A")), partition="2026-01-01", root_run="run-1")
        assert again.batch_id == first.batch_id
        assert vault.as_of("sat_city")["city"].tolist() == ["B"]


def test_without_a_partition_a_batch_is_its_own() -> None:
    with h.new_vault() as vault:
        loads = [vault.load("crm", frame(("k", 1, "A"))) for _ in range(2)]
        assert [load.partition for load in loads] == [load.batch_id for load in loads]
        assert counts(vault)["sat_xt_hub_customer"] == 4  # a heartbeat each, for each satellite
        assert counts(vault)["sat_city"] == 2  # the state, and the ghost record


def test_a_satellite_declared_later_is_filled_by_delivering_an_old_partition_again() -> None:
    address_alone = {**h.SOURCE, "satellites": h.SOURCE["satellites"][:1]}  # type: ignore[index]
    with Vault.open([address_alone], "duckdb:///:memory:") as vault:
        vault.load("crm", frame(("k", 1, "A")), partition="2026-01-01")
        grown = Vault.open([h.SOURCE], vault.warehouse)
        again = grown.load("crm", frame(("k", 1, "A")), partition="2026-01-01")
        assert not again.replayed
        assert (again.satellites["sat_city"].inserted, again.satellites["sat_name"].inserted) == (0, 1)


def test_an_empty_batch_is_a_success_that_is_stamped_and_closed_at_once() -> None:
    with h.new_vault() as vault:
        for empty in (frame(), pd.DataFrame()):
            result = vault.load("crm", empty)
            assert (result.rows_staged, result.satellites["sat_city"].inserted) == (0, 0)
            assert vault.closed_until == result.load_timestamp


def test_closed_until_is_the_newest_stamp_or_just_before_the_oldest_open_batch() -> None:
    with h.new_vault() as vault:
        assert vault.closed_until is None
        done = vault.load("crm", frame(("k", 1, "A")))
        assert vault.closed_until == done.load_timestamp
        opened = vault.stage("crm", frame(("k", 2, "B"))).batch
        vault.stage("crm", frame(("k", 3, "C")))
        assert vault.closed_until == opened.load_timestamp - timedelta(microseconds=1)
        last = vault.load("crm", frame(("k", 4, "D")))  # finishes the open ones first
        assert len(last.finished) == 2
        assert vault.closed_until == last.load_timestamp


def test_what_was_known_never_changes() -> None:
    """Every answer at every closed load timestamp is the same after all that is loaded later."""
    loads = [(("k", 1, "A"),), (("k", 5, "A"), ("l", 2, "X")), (("k", 3, "B"),), (("k", 1, "C"), ("l", 1, "Y"))]
    answers: dict[tuple[str, int], object] = {}
    with h.new_vault() as vault:
        for rows in loads:
            vault.load("crm", frame(*rows))
            assert vault.closed_until is not None
            for applied in range(7):
                for stamp in [str(vault.closed_until), *{known for known, _ in answers}]:
                    asked = vault.as_of("sat_city", h.day(applied), stamp)[["customer_id", "city"]].values.tolist()
                    assert answers.setdefault((stamp, applied), asked) == asked


def test_a_batch_of_which_only_staged_rows_are_written_may_be_abandoned() -> None:
    with h.new_vault() as vault:
        batch = vault.stage("crm", frame(("k", 1, "A")), partition="2026-01-01").batch
        assert abandon_batch(vault.warehouse, batch.batch_id, h.day(0)).status == "abandoned"
        assert vault.closed_until == batch.load_timestamp
        with pytest.raises(BatchStateError, match="was abandoned: load the partition again"):
            list(vault.finish(batch))
        again = vault.load("crm", frame(("k", 1, "A")), partition="2026-01-01")  # no replay target
        assert (again.replayed, again.satellites["sat_city"].inserted) == (False, 1)


def test_a_batch_that_has_written_is_finished_never_abandoned() -> None:
    with h.new_vault() as vault:
        batch = vault.stage("crm", frame(("k", 1, "A")), partition="2026-01-01").batch
        for result in vault.finish(batch):
            if result.step.kind == "xts":
                break
        with pytest.raises(BatchStateError, match=r"has written already \(xts:sat_city\)"):
            abandon_batch(vault.warehouse, batch.batch_id, h.day(0))


def test_a_source_taken_out_of_the_declaration_with_an_open_batch_is_an_error_that_says_how_to_finish() -> None:
    with h.new_vault() as vault:
        batch = vault.stage("crm", frame(("k", 1, "A")), partition="2026-01-01").batch
        other = {**h.SOURCE, "source": "other", "satellites": []}
        with pytest.raises(BatchStateError, match=f"source crm is not declared.*{batch.batch_id}.*xts abandon"):
            Vault.open([other], vault.warehouse)


def test_a_satellite_taken_out_with_an_open_batch_is_an_error_that_names_the_step() -> None:
    with h.new_vault() as vault:
        vault.stage("crm", frame(("k", 1, "A")), partition="2026-01-01")
        shrunk = Vault.open([{**h.SOURCE, "satellites": h.SOURCE["satellites"][:1]}], vault.warehouse)  # type: ignore[index]
        with pytest.raises(BatchStateError, match="sat_name is no longer declared: declare it again"):
            shrunk.load("crm", frame(("k", 2, "B")))


def test_staged_rows_of_open_batches_and_of_the_newest_one_are_kept() -> None:
    with h.new_vault() as vault:
        vault.load("crm", frame(("old", 1, "A")))
        waiting = vault.stage("crm", frame(("open", 2, "B"))).batch
        newest = vault.stage("crm", frame(("new", 3, "C"))).batch
        kept = vault.query("select distinct dv_batch_id from staged.crm__rows")["dv_batch_id"]
        assert set(kept) == {waiting.batch_id, newest.batch_id}


def test_a_changed_hash_algorithm_is_refused() -> None:
    with h.new_vault() as vault:
        vault.load("crm", frame(("k", 1, "A")))
        with pytest.raises(DeclarationError, match="this vault was made with sha256, the sources declare sha1"):
            Vault.open([{**h.SOURCE, "hash_algorithm": "sha1"}], vault.warehouse)


def test_two_stamps_that_overlap_are_given_one_after_the_other() -> None:
    """Whoever begins second fails on the clock's row at once, rather than give the same stamp."""
    with h.new_vault() as vault:
        take = vault.warehouse.renderer.render("control/take_clock")
        with vault.warehouse.transaction() as first:
            first.run(take, {})
            with pytest.raises(Exception, match="onflict") as raised, vault.warehouse.transaction() as second:
                second.run(take, {})
        assert vault.warehouse.is_conflict(raised.value)
