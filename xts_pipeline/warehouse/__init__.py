"""One connection, one transaction: the engines that hold a vault."""

from __future__ import annotations

from xts_pipeline.errors import DeclarationError
from xts_pipeline.warehouse.base import Row, Transaction, Warehouse, in_transaction
from xts_pipeline.warehouse.duckdb import DuckDBWarehouse

__all__ = ["DuckDBWarehouse", "Row", "Transaction", "Warehouse", "in_transaction", "open_warehouse"]


def open_warehouse(url: str) -> Warehouse:
    """Open the warehouse a URL names.

    `duckdb:///relative.duckdb`, `duckdb:////absolute/path.duckdb`, `duckdb:///:memory:` (gone with the process).
    DeclarationError for any other; WarehouseBusyError when another process holds the file.
    """
    scheme, separator, path = url.partition(":///")
    if scheme != "duckdb" or not separator or not path:
        raise DeclarationError(f"warehouse {url!r}: write duckdb:///<file> or duckdb:///:memory:")
    return DuckDBWarehouse.open(path)
