"""The faults that common SQL for this pattern has, each by name. What they share: right on tidy data, wrong on late."""

from __future__ import annotations

import pandas as pd

from xts_pipeline import Vault
from xts_pipeline_tests import histories as h
from xts_pipeline_tests import oracle


def load_keys(vault: Vault, **keys: oracle.History) -> dict[str, list[oracle.Row]]:
    """Load one history a key, all keys side by side; gives the rows of sat_city, checked against the oracle."""
    loads = max(len(history) for history in keys.values())
    city = {key: [*history, *[{}] * (loads - len(history))] for key, history in keys.items()}
    name = {key: [dict.fromkeys(batch, "N") for batch in history] for key, history in city.items()}
    histories = {"sat_city": city, "sat_name": name}
    h.load_frames(vault, h.frames(histories))
    h.assert_right(vault, histories)
    return {key: sorted(rows) for key, rows in h.satellite_rows(vault, "sat_city").items()}


def test_switch_sees_heartbeats_which_the_satellite_has_not() -> None:
    """The satellite's newest row is of day 1; only the XTS knows that A was still true on day 5."""
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A"}, {5: "A"}, {3: "B"}])
        assert rows["k"][1:] == [oracle.Row(3, 2, "B", "insert"), oracle.Row(5, 2, "A", "copy")]


def test_an_on_time_key_does_not_hide_a_late_one() -> None:
    with h.new_vault() as vault:
        rows = load_keys(vault, late=[{1: "A"}, {5: "A"}, {3: "B"}], on_time=[{1: "A"}, {5: "A"}, {9: "B"}])
        assert oracle.Row(5, 2, "A", "copy") in rows["late"]
        assert rows["on_time"] == [oracle.Row(1, 0, "A", "insert"), oracle.Row(9, 2, "B", "insert")]


def test_the_next_record_is_the_nearest_later_one_not_the_newest() -> None:
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A"}, {5: "A"}, {7: "C"}, {9: "A"}, {3: "B"}])
        assert [row for row in rows["k"] if row.event == "copy"] == [oracle.Row(5, 4, "A", "copy")]


def test_two_late_rows_of_one_key_in_one_batch_are_two() -> None:
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A"}, {5: "A"}, {9: "A"}, {3: "B", 7: "C"}])
        assert [row for row in rows["k"] if row.load == 3] == [
            oracle.Row(3, 3, "B", "insert"),
            oracle.Row(5, 3, "A", "copy"),
            oracle.Row(7, 3, "C", "insert"),
            oracle.Row(9, 3, "A", "copy"),
        ]


def test_a_copy_is_one_row_however_many_rows_the_key_has() -> None:
    """A was true three times before; restoring it takes its payload once, from the newest of those rows."""
    with h.new_vault() as vault:
        history = [{0: "A"}, {1: "B"}, {2: "A"}, {3: "B"}, {4: "A"}, {6: "A"}, {5: "C"}]
        rows = load_keys(vault, k=history)
        assert [row for row in rows["k"] if row.load == 6 and row.event == "copy"] == [oracle.Row(6, 6, "A", "copy")]


def test_a_correction_at_an_applied_timestamp_that_is_there_is_written() -> None:
    with h.new_vault() as vault:
        rows = load_keys(vault, corrected=[{1: "A"}, {1: "B"}], other=[{1: "A"}, {2: "B"}])
        assert rows["corrected"] == [oracle.Row(1, 0, "A", "insert"), oracle.Row(1, 1, "B", "insert")]
        assert rows["other"] == [oracle.Row(1, 0, "A", "insert"), oracle.Row(2, 1, "B", "insert")]


def test_a_correction_back_to_the_state_before_leaves_no_wrong_state_behind() -> None:
    """Day 2 said B, is corrected to A: a row must overrule the B that stands there, though A equals day 1."""
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A", 2: "B"}, {2: "A"}])
        assert oracle.Row(2, 1, "A", "insert") in rows["k"]


def test_b_then_a_in_one_batch_over_a_current_a_keeps_the_second_a() -> None:
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A"}, {2: "B", 3: "A"}])
        assert [(row.applied, row.state) for row in rows["k"]] == [(1, "A"), (2, "B"), (3, "A")]


def test_satellites_in_one_xts_do_not_hear_each_other() -> None:
    """sat_name is late while sat_city has never heard of the key: the record target keeps them apart."""
    source = {
        **h.SOURCE,
        "source": "names",
        "satellites": [{"name": "sat_alias", "parent": {"hub": "customer"}, "columns": {"name": "text"}}],
    }
    with Vault.open([h.SOURCE, source], "duckdb:///:memory:") as vault:
        vault.load("names", pd.DataFrame([("k", h.day(5), "Ann")], columns=["customer_id", "applied", "name"]))
        row = ("k", h.day(1), "Bern", "Ann")
        result = vault.load("crm", pd.DataFrame([row], columns=["customer_id", "applied", "city", "name"]))
        assert result.satellites["sat_city"].branch == "normal"
        assert result.satellites["sat_city"].violations == 0


def test_keys_in_one_xts_do_not_hear_each_other() -> None:
    with h.new_vault() as vault:
        load_keys(vault, newer=[{5: "A"}, {}])
        frame = pd.DataFrame([("older", h.day(1), "A", "N")], columns=["customer_id", "applied", "city", "name"])
        assert vault.load("crm", frame).satellites["sat_city"].branch == "normal"


def test_the_worked_example_of_the_design() -> None:
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A"}, {3: "A"}, {2: "B"}])
        assert rows["k"] == [
            oracle.Row(1, 0, "A", "insert"),
            oracle.Row(2, 2, "B", "insert"),
            oracle.Row(3, 2, "A", "copy"),
        ]


def test_a_file_that_is_sent_again_later_wins_where_it_contradicts() -> None:
    """The one case in which order matters: at one point the later load wins, an old file included."""
    with h.new_vault() as vault:
        rows = load_keys(vault, k=[{1: "A"}, {1: "B"}, {1: "A"}])
        assert oracle.answer(rows["k"], 1, 2) == "A"
        assert oracle.answer(rows["k"], 1, 1) == "B"


def test_rows_that_differ_in_what_the_hash_ignores_are_one_state_whatever_their_order() -> None:
    chosen = set()
    for cities in (["Bern", "Bern  "], ["Bern  ", "Bern"]):
        with h.new_vault() as vault:
            rows = [("k", h.day(1), city, "N") for city in cities]
            result = vault.load("crm", pd.DataFrame(rows, columns=["customer_id", "applied", "city", "name"]))
            assert result.satellites["sat_city"].inserted == 1
            chosen.add(vault.query("select city from sat_city where dv_sid <> 0")["city"][0])
    assert len(chosen) == 1
