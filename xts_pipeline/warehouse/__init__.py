"""One connection, one transaction: the engines that hold a vault."""

from __future__ import annotations

from urllib.parse import parse_qsl

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata.declaration import NAME
from xts_pipeline.templates import Places
from xts_pipeline.warehouse.base import Row, Transaction, Warehouse, in_transaction
from xts_pipeline.warehouse.duckdb import DuckDBWarehouse

__all__ = ["DuckDBWarehouse", "Row", "Transaction", "Warehouse", "in_transaction", "open_warehouse"]


def open_warehouse(url: str) -> Warehouse:
    """Open the warehouse a URL names.

    `duckdb:///relative.duckdb`, `duckdb:////absolute/path.duckdb`, `duckdb:///:memory:` (gone with the process); the
    schema of the vault's tables is `vault`, or the one named by `?vault_schema=<name>`. DeclarationError for any other;
    WarehouseBusyError when another process holds the file.
    """
    scheme, separator, rest = url.partition(":///")
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query))
    schema = options.pop("vault_schema", Places().vault)
    if scheme != "duckdb" or not separator or not path or options:
        raise DeclarationError(
            f"warehouse {url!r}: write duckdb:///<file> or duckdb:///:memory:, and ?vault_schema=<name> for another "
            "schema than vault"
        )
    if not NAME.fullmatch(schema):
        raise DeclarationError(f"warehouse {url!r}: vault_schema holds letters, digits and underscores alone")
    return DuckDBWarehouse.open(path, Places(vault=schema))
