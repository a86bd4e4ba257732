"""The queries behind a materialization, on a warehouse that gives queries an id: to be found in its query history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dagster as dg

from xts_pipeline.ledger import Batch, queries_of
from xts_pipeline.vault import Vault

_SCHEMA = dg.TableSchema(
    [
        dg.TableColumn("step", "string"),
        dg.TableColumn("statement", "string"),
        dg.TableColumn("query_id", "string"),
        dg.TableColumn("rows", "int"),
    ]
)


def of_queries(vault: Vault, batch: Batch, steps: Iterable[str]) -> dict[str, Any]:
    """The query ids of some steps of a batch, with the rows each returned or changed; nothing where there are none."""
    recorded = queries_of(vault.warehouse, batch.batch_id)
    records = [
        dg.TableRecord({"step": step, "statement": query.statement, "query_id": query.query_id, "rows": query.rows})
        for step in steps
        for query in recorded.get(step, ())
    ]
    return {"xts/queries": dg.MetadataValue.table(records, schema=_SCHEMA)} if records else {}
