"""The fingerprint: a multiset of rows, whatever order and chunks they come in."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from xts_pipeline import hashing
from xts_pipeline.metadata import Catalog, SourceModel
from xts_pipeline.staging.fingerprint import Fingerprint

ROWS = [(key, day, city) for key in "abc" for day, city in ((1, "Bern"), (2, "Chur"), (2, "Bern"))]
Rows = list[tuple[str, int, str]]


def source(**changes: object) -> SourceModel:
    declared = {
        "source": "crm",
        "record_source": "CRM",
        "applied_timestamp": "day",
        "hubs": [{"hub": "customer", "business_key": {"id": "text"}}],
        "satellites": [{"name": "sat_city", "parent": {"hub": "customer"}, "columns": {"city": "text"}}],
        **changes,
    }
    return Catalog.read([declared]).source("crm")


def fingerprint(rows: Rows, *, chunks: int = 1, model: SourceModel | None = None) -> str:
    model = model or source()
    algorithm = model.declaration.hash_algorithm
    found = Fingerprint()
    for chunk in (rows[start::chunks] for start in range(chunks)):
        keys, days, cities = (pa.array(values) for values in zip(*chunk, strict=True))
        staged = {
            "dv_hashkey_hub_customer": hashing.hash_key({"id": keys}, algorithm=algorithm),
            "dv_hashdiff_sat_city": hashing.hashdiff({"city": cities}, algorithm=algorithm),
            "dv_applied_timestamp": days.cast(pa.timestamp("us")),
            "city": cities,
        }
        found.add(model, pa.table(staged))
    return found.hexdigest(model)


@pytest.mark.parametrize("algorithm", ["sha256", "sha1"])
def test_neither_the_order_of_rows_nor_their_chunks_matter(algorithm: str) -> None:
    model = source(hash_algorithm=algorithm)
    shuffled = random.Random(1).sample(ROWS, len(ROWS))
    assert fingerprint(ROWS, model=model) == fingerprint(shuffled, chunks=3, model=model)


def test_every_part_of_a_row_and_how_often_it_stands_there_matter() -> None:
    (key, day, city), *others = ROWS
    changed: list[Rows] = [
        [("z", day, city), *others],
        [(key, day + 1, city), *others],
        [(key, day, "Zug"), *others],
        [*ROWS, ROWS[0]],
        [*ROWS, ROWS[0], ROWS[0]],
        others,
    ]
    found = [fingerprint(rows) for rows in (ROWS, *changed)]
    assert len(set(found)) == len(found)


def test_rows_that_exchange_their_states_or_days_are_other_rows() -> None:
    rows: Rows = [("a", 1, "Bern"), ("b", 2, "Chur")]
    exchanged: list[Rows] = [[("a", 1, "Chur"), ("b", 2, "Bern")], [("a", 2, "Bern"), ("b", 1, "Chur")]]
    found = [fingerprint(each) for each in (rows, *exchanged)]
    assert len(set(found)) == 3


def test_the_declaration_and_the_tie_break_are_part_of_it() -> None:
    models = [source(), source(tie_break="city"), source(record_source="ERP"), source(hash_algorithm="sha1")]
    found = [fingerprint(ROWS, model=model) for model in models]
    assert len(set(found)) == len(found)
