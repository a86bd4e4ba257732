"""The crime scenes and the arrival histories of `cases/`: what a satellite must gain from each batch, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from xts_pipeline import Vault

CASES = Path(__file__).parent.parent / "cases"
HISTORIES = {case["id"]: case for case in json.loads((CASES / "arrival_histories.json").read_text())["cases"]}
SCENES = json.loads((CASES / "crime_scenes.json").read_text())["scenes"]


def vault_for(payload: list[str]) -> Vault:
    return Vault.open(
        [
            {
                "source": "case",
                "record_source": "CASE",
                "applied_timestamp": "applied_ts",
                "hubs": [{"hub": "entity", "business_key": ["entity"]}],
                "satellites": [{"name": "sat_case", "parent": {"hub": "entity"}, "columns": payload}],
            }
        ],
        "duckdb:///:memory:",
    )


def rows_loaded_at(vault: Vault, load_timestamp: object) -> list[dict[str, Any]]:
    frame = vault.query("""
        select hub.entity, sat.* from sat_case as sat
        inner join hub_entity as hub using (dv_hashkey_hub_entity)
        where sat.dv_sid <> 0 order by hub.entity, sat.dv_applied_timestamp
    """)
    frame = frame[frame["dv_load_timestamp"] == pd.Timestamp(str(load_timestamp))]
    return frame.to_dict("records")


def plain(value: object) -> str | None:
    return None if value is None or value is pd.NA or value != value else str(value)


def shown(rows: list[dict[str, Any]], payload: list[str]) -> list[tuple[object, ...]]:
    return [
        (
            str(row["entity"]),
            row["dv_applied_timestamp"],
            row["dv_xts_event"],
            *(plain(row[column]) for column in payload),
        )
        for row in rows
    ]


def wanted(rows: list[dict[str, Any]], payload: list[str]) -> list[tuple[object, ...]]:
    found = [
        (
            row["entity"],
            pd.Timestamp(row["applied_ts"]),
            row["event"],
            *(plain(row["payload"].get(column)) for column in payload),
        )
        for row in rows
    ]
    return sorted(found, key=lambda row: (row[0], row[1]))


@pytest.mark.parametrize("name", [name for name, case in HISTORIES.items() if case["kind"] == "satellite"])
def test_arrival_history_gains_exactly_the_right_rows(name: str) -> None:
    case = HISTORIES[name]
    payload = sorted({column for batch in case["batches"] for row in batch["rows"] for column in row["payload"]})
    with vault_for(payload) as vault:
        for batch, expected in zip(case["batches"], case["expected"]["sat_rows_inserted_per_batch"], strict=True):
            rows = [
                {
                    "entity": row["entity"],
                    "applied_ts": row["applied_ts"],
                    **{column: row["payload"].get(column) for column in payload},
                }
                for row in batch["rows"]
            ]
            result = vault.load("case", pd.DataFrame(rows), load_timestamp=batch["load_ts"])
            assert shown(rows_loaded_at(vault, batch["load_ts"]), payload) == wanted(expected, payload), case["why"]
            satellite = result.satellites["sat_case"]
            assert satellite.inserted == sum(row["event"] == "insert" for row in expected)
            assert satellite.copied == sum(row["event"] == "copy" for row in expected)
        logged = vault.query("select count(*) as rows from sat_xt_hub_entity")["rows"][0]
        assert logged == case["expected"]["xts_rows_total"]
        for entity, timeline in case["expected"]["effective_timeline"].items():
            for state in timeline:
                answer = vault.as_of("sat_case", valid_at=state["from"])
                row = answer[answer["entity"].astype(str) == entity].iloc[0]
                assert {column: plain(row[column]) for column in payload} == {
                    column: plain(state["payload"].get(column)) for column in payload
                }


def test_a_tie_stops_the_batch_or_is_broken_by_the_declared_column_and_a_rerun_adds_nothing() -> None:
    case = HISTORIES["I30"]
    for tie_break, rows_after_first in ((None, 0), ("phone", 1)):
        with vault_for(["phone"]) as vault:
            source = vault.catalog.source("case").declaration.model_copy(update={"tie_break": tie_break})
            tied = Vault.open([source], vault.warehouse)
            for batch in case["batches"]:
                rows = [
                    {"entity": row["entity"], "applied_ts": row["applied_ts"], **row["payload"]}
                    for row in batch["rows"]
                ]
                if tie_break is None:
                    with pytest.raises(ValueError, match="sat_case: 2 rows contradict each other"):
                        tied.load("case", pd.DataFrame(rows), load_timestamp=batch["load_ts"])
                    continue
                tied.load("case", pd.DataFrame(rows), load_timestamp=batch["load_ts"])
                stored = tied.query("select phone from sat_case where dv_sid <> 0")
                assert stored["phone"].tolist() == ["1215"]
                assert len(stored) == rows_after_first


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: f"scene-{scene['scene']}-{scene['class']}")
def test_crime_scene(scene: dict[str, Any]) -> None:
    with vault_for(["city"]) as vault:
        for day, (applied, city) in zip(("01", "03", "04"), scene["staged"], strict=True):
            row = {"entity": scene["key"], "applied_ts": f"2021-01-{applied}", "city": city}
            vault.load("case", pd.DataFrame([row]), load_timestamp=f"2021-01-{day}")
        stored = vault.query(
            "select * from sat_case where dv_sid <> 0 order by dv_load_timestamp, dv_applied_timestamp"
        )
        found = [
            [f"{row.dv_applied_timestamp:%d}", f"{row.dv_load_timestamp:%d}", row.city, row.dv_xts_event]
            for row in stored.itertuples()
        ]
        assert found == [[*row[:3], row[3].split(" ")[0]] for row in scene["sat"]], scene["rule"]
        logged = vault.query("select count(*) as rows, count_if(dv_sequence_violation) as late from sat_xt_hub_entity")
        assert logged.iloc[0].to_dict() == {"rows": scene["xts_rows"], "late": 1}
