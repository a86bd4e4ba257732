"""An empty extract loads as an empty batch, whatever was declared since the batch before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from xts_pipeline import Vault

Declaration = dict[str, Any]
COLUMNS = ["id", "day", "city", "mood", "other"]
FIRST = [("1", "2021-01-01", "SYDNEY", "calm", "9")]
SECOND = [("1", "2021-01-02", "PERTH", "merry", "8")]
SATELLITE = {"name": "sat_shop", "parent": {"hub": "customer"}, "columns": {"city": "text"}}
SHOP: Declaration = {
    "source": "shop",
    "record_source": "SHOP",
    "applied_timestamp": "day",
    "hubs": [{"hub": "customer", "business_key": {"id": "text"}}],
    "satellites": [SATELLITE],
}
GROWN: dict[str, Declaration] = {
    "column": {**SHOP, "satellites": [{**SATELLITE, "columns": {"city": "text", "mood": "text"}}]},
    "column without a type": {**SHOP, "satellites": [{**SATELLITE, "columns": {"city": "text", "mood": None}}]},
    "satellite": {**SHOP, "satellites": [SATELLITE, {**SATELLITE, "name": "sat_mood", "columns": {"mood": "text"}}]},
    "hub": {**SHOP, "hubs": [*SHOP["hubs"], {"hub": "other", "business_key": {"other": "text"}}]},
}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"duckdb:///{tmp_path}/vault.duckdb"


def load(url: str, declaration: Declaration, partition: str, rows: list[tuple[str, ...]]) -> None:
    with Vault.open([declaration], url) as vault:
        vault.load("shop", pd.DataFrame(rows, columns=COLUMNS).astype(object), partition=partition)


def batches(url: str, declaration: Declaration) -> list[list[Any]]:
    with Vault.open([declaration], url) as vault:
        return vault.query("select partition_key, status, rows_staged from load_batch order by 1").to_numpy().tolist()


@pytest.mark.parametrize("on_error", ["stop", "quarantine"])
@pytest.mark.parametrize("grown", GROWN)
def test_an_empty_extract_after_something_was_declared(url: str, grown: str, on_error: str) -> None:
    declaration = {**GROWN[grown], "on_error": on_error}
    load(url, {**SHOP, "on_error": on_error}, "d1", FIRST)
    load(url, declaration, "d2", [])
    load(url, declaration, "d3", SECOND)
    assert batches(url, declaration) == [["d1", "done", 1], ["d2", "done", 0], ["d3", "done", 1]]
    with Vault.open([declaration], url) as vault:
        assert vault.as_of("sat_shop")["city"].tolist() == ["PERTH"]


def test_an_extract_of_bad_rows_alone_after_a_column_was_declared(url: str) -> None:
    declaration = {**GROWN["column"], "on_error": "quarantine"}
    load(url, {**SHOP, "on_error": "quarantine"}, "d1", FIRST)
    load(url, declaration, "d2", [("1", "no day", "PERTH", "merry", "8")])
    load(url, declaration, "d3", SECOND)
    assert batches(url, declaration) == [["d1", "done", 1], ["d2", "done", 0], ["d3", "done", 1]]
