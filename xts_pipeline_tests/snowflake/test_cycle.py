"""The whole cycle on Snowflake, through dagster-snowflake's resource and the connector, held against oracle and DuckDB.

A key is a history of its own, so that one vault holds many: each statement costs fakesnow tens of milliseconds.
"""

from __future__ import annotations

import random

import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline_tests import histories as h
from xts_pipeline_tests.cycle.test_cases import HISTORIES, SCENES, plain
from xts_pipeline_tests.snowflake.parity import assert_equal

CASES = {name: case for name, case in HISTORIES.items() if case["kind"] == "satellite"}
MODES = ("patched", "over_http")
LIVE = pytest.param("live", marks=pytest.mark.live)
TABLES = ("hub_customer", "sat_xt_hub_customer", "sat_city", "sat_name")


def load_and_compare(warehouse: SnowflakeWarehouse, seed: int, keys: int, batches: int) -> tuple[int, int]:
    """Random histories on both engines: pairs held against the oracle, rows compared."""
    histories = h.random_histories(random.Random(seed), keys=keys, batches=batches)
    with Vault.open([h.SOURCE], warehouse) as vault, h.new_vault() as duckdb:
        deliveries = h.frames(histories)
        results, expected = h.load_frames(vault, deliveries), h.load_frames(duckdb, deliveries)
        assert [result.satellites for result in results] == [result.satellites for result in expected]
        assert [result.hubs for result in results] == [result.hubs for result in expected]
        return h.assert_right(vault, histories), assert_equal(vault, duckdb, *TABLES)


@pytest.mark.parametrize("warehouse", ["patched", LIVE], indirect=True)
def test_five_hundred_random_histories_are_right_and_equal_to_duckdb_row_for_row(warehouse: SnowflakeWarehouse) -> None:
    pairs, rows = load_and_compare(warehouse, seed=7, keys=250, batches=5)
    assert pairs > 5_000
    assert rows > 2_000


@pytest.mark.parametrize("warehouse", ["over_http"], indirect=True)
def test_histories_of_few_keys_take_both_branches_over_http(warehouse: SnowflakeWarehouse) -> None:
    """The first batch is in sequence and the other is not; results come back through the connector's own reader."""
    pairs, rows = load_and_compare(warehouse, seed=1, keys=40, batches=2)
    assert pairs > 100
    assert rows > 100


def case_source(columns: list[str]) -> dict[str, object]:
    return {
        "source": "case",
        "record_source": "CASE",
        "applied_timestamp": "applied_ts",
        "hubs": [{"hub": "entity", "business_key": {"entity": "text"}}],
        "satellites": [
            {"name": "sat_case", "parent": {"hub": "entity"}, "columns": dict.fromkeys(columns, "text")},
        ],
    }


def gained(vault: Vault, load: int) -> list[tuple[object, ...]]:
    """Key, applied, event and payload of the satellite rows of a load."""
    frame = vault.query("""
        select hub.entity, sat.* from sat_case as sat
        inner join hub_entity as hub using (dv_hashkey_hub_entity) where sat.dv_sid <> 0
    """)
    own = frame[frame["dv_load_timestamp"] == pd.Timestamp(h.day(1000 + load))]
    payload = sorted(column for column in frame.columns if column != "entity" and not column.startswith("dv_"))
    return sorted(
        (row["entity"], row["dv_applied_timestamp"], row["dv_xts_event"], *(plain(row[column]) for column in payload))
        for row in own.to_dict("records")
    )


def load_cases(warehouse: SnowflakeWarehouse, names: list[str]) -> None:
    """Each case a set of keys of its own; batch by batch, every case gains exactly its rows."""
    cases = {name: CASES[name] for name in names}
    rows = [row for case in cases.values() for batch in case["batches"] for row in batch["rows"]]
    payload = sorted({column for row in rows for column in row["payload"]})
    with Vault.open([case_source(payload)], warehouse) as vault:
        for load in range(max(len(case["batches"]) for case in cases.values())):
            delivered, expected = [], []
            for name, case in cases.items():
                if load >= len(case["batches"]):
                    continue
                for row in case["batches"][load]["rows"]:
                    values = {column: row["payload"].get(column) for column in payload}
                    delivered.append({"entity": f"{name}-{row['entity']}", "applied_ts": row["applied_ts"], **values})
                for row in case["expected"]["sat_rows_inserted_per_batch"][load]:
                    values = [plain(row["payload"].get(column)) for column in payload]
                    key = f"{name}-{row['entity']}".upper()
                    expected.append((key, pd.Timestamp(row["applied_ts"]), row["event"], *values))
            frame = pd.DataFrame(delivered, columns=["entity", "applied_ts", *payload])
            vault.load("case", frame, load_timestamp=h.day(1000 + load))
            found = [(str(key).upper(), *rest) for key, *rest in gained(vault, load)]
            assert sorted(found, key=str) == sorted(expected, key=str), load
        logged = vault.query("select count(*) as facts from sat_xt_hub_entity")["facts"][0]
        assert logged == sum(case["expected"]["xts_rows_total"] for case in cases.values())


@pytest.mark.parametrize("warehouse", ["patched", LIVE], indirect=True)
def test_every_arrival_history_gains_exactly_the_right_rows(warehouse: SnowflakeWarehouse) -> None:
    load_cases(warehouse, list(CASES))


@pytest.mark.long
@pytest.mark.parametrize("warehouse", MODES, indirect=True)
@pytest.mark.parametrize("name", list(CASES))
def test_an_arrival_history_by_itself_gains_exactly_the_right_rows(warehouse: SnowflakeWarehouse, name: str) -> None:
    load_cases(warehouse, [name])


def load_scenes(warehouse: SnowflakeWarehouse) -> None:
    with Vault.open([case_source(["city"])], warehouse) as vault:
        for place in range(3):
            rows = [
                (
                    f"{scene['scene']}-{scene['class']}",
                    f"2021-01-{scene['staged'][place][0]}",
                    scene["staged"][place][1],
                )
                for scene in SCENES
            ]
            frame = pd.DataFrame(rows, columns=["entity", "applied_ts", "city"])
            vault.load("case", frame, load_timestamp=("2021-01-01", "2021-01-03", "2021-01-04")[place])
        stored = vault.query("""
            select hub.entity, sat.* from sat_case as sat
            inner join hub_entity as hub using (dv_hashkey_hub_entity) where sat.dv_sid <> 0
            order by sat.dv_load_timestamp, sat.dv_applied_timestamp
        """)
        for scene in SCENES:
            own = stored[stored["entity"] == f"{scene['scene']}-{scene['class']}"]
            found = [
                [f"{row.dv_applied_timestamp:%d}", f"{row.dv_load_timestamp:%d}", row.city, row.dv_xts_event]
                for row in own.itertuples()
            ]
            assert found == [[*row[:3], row[3].split(" ")[0]] for row in scene["sat"]], scene["rule"]
        logged = vault.query("select count(*) as facts, count_if(dv_sequence_violation) as late from sat_xt_hub_entity")
        assert logged.iloc[0].to_dict() == {"facts": sum(scene["xts_rows"] for scene in SCENES), "late": len(SCENES)}


@pytest.mark.parametrize(
    "warehouse", ["patched", pytest.param("over_http", marks=pytest.mark.long), LIVE], indirect=True
)
def test_every_crime_scene_is_solved(warehouse: SnowflakeWarehouse) -> None:
    load_scenes(warehouse)


@pytest.mark.long
@pytest.mark.parametrize("warehouse", MODES, indirect=True)
@pytest.mark.parametrize("seed", range(5))
def test_more_random_histories_are_right_and_equal_to_duckdb(warehouse: SnowflakeWarehouse, seed: int) -> None:
    pairs, _ = load_and_compare(warehouse, seed=100 + seed, keys=250, batches=8)
    assert pairs > 5_000


@pytest.mark.parametrize("warehouse", ["patched"], indirect=True)
def test_a_source_that_grows_and_a_satellite_that_gets_its_xts_later_are_made_apart(
    warehouse: SnowflakeWarehouse,
) -> None:
    """The new column and its type, the facts seeded from rows that were there, and a late row put in its place."""
    city = {"name": "sat_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}}
    before = {**h.SOURCE, "satellites": [{**city, "xts_assisted": False}]}
    grown = {**h.SOURCE, "satellites": [{**city, "columns": {"city": "text", "zip": "integer"}}]}
    columns = ["customer_id", "applied", "city", "zip"]
    with Vault.open([before], warehouse) as vault:
        vault.load("crm", pd.DataFrame([("a", h.day(1), "Bern"), ("b", h.day(1), "Chur")], columns=columns[:3]))
        vault.load("crm", pd.DataFrame([("a", h.day(5), "Zug")], columns=columns[:3]))
    with Vault.open([grown], warehouse) as vault:
        late = vault.load("crm", pd.DataFrame([("a", h.day(3), "Basel", 4000)], columns=columns)).satellites["sat_city"]
        assert (late.branch, late.inserted, late.violations) == ("assisted", 1, 1)
        facts = vault.query(
            "select count(*) as facts, count_if(dv_sequence_violation) as late from sat_xt_hub_customer"
        )
        assert facts.iloc[0].to_dict() == {"facts": 4, "late": 1}
        answer = vault.as_of("sat_city", valid_at=h.day(3)).set_index("customer_id")
        assert answer.loc["a", ["city", "zip"]].tolist() == ["Basel", 4000]
        assert vault.query("select count(*) as n from control.pending_statement")["n"][0] == 0
