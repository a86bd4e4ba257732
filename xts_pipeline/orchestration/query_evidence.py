"""The queries behind a materialization, on a warehouse that gives queries an id: to be found in its query history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dagster as dg

from xts_pipeline.ledger import Batch
from xts_pipeline.orchestration.records import Records

_SCHEMA = dg.TableSchema(
    [
        dg.TableColumn("step", "string"),
        dg.TableColumn("statement", "string"),
        dg.TableColumn("query_id", "string"),
        dg.TableColumn("rows", "int"),
    ]
)


def of_queries(records: Records, batch: Batch, steps: Iterable[str]) -> dict[str, Any]:
    """The query ids of some steps of a batch, with the rows each returned or changed; nothing where there are none."""
    recorded = records.queries.get(batch.batch_id, {})
    rows = [
        dg.TableRecord({"step": step, "statement": query.statement, "query_id": query.query_id, "rows": query.rows})
        for step in steps
        for query in recorded.get(step, ())
    ]
    return {"xts/queries": dg.MetadataValue.table(rows, schema=_SCHEMA)} if rows else {}
