"""One connection, one transaction: the engines that hold a vault."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata.declaration import NAME
from xts_pipeline.templates import Places
from xts_pipeline.warehouse.base import Row, Transaction, Warehouse, in_transaction
from xts_pipeline.warehouse.duckdb import DuckDBWarehouse
from xts_pipeline.warehouse.work import QueryRun, working_on

__all__ = [
    "DEFAULT_WAREHOUSE",
    "SNOWFLAKE",
    "WAREHOUSE_VARIABLE",
    "DuckDBWarehouse",
    "QueryRun",
    "Row",
    "Transaction",
    "Warehouse",
    "configured_url",
    "duckdb_place",
    "in_transaction",
    "open_warehouse",
    "working_on",
]

SNOWFLAKE = "snowflake:"  # what the URL of one begins with
WAREHOUSE_VARIABLE = "XTS_WAREHOUSE"  # the URL that the command line and Dagster open
DEFAULT_WAREHOUSE = "duckdb:///warehouse.duckdb"


def open_warehouse(url: str) -> Warehouse:
    """Open the warehouse a URL names.

    `duckdb:///relative.duckdb`, `duckdb:////absolute/path.duckdb`, `duckdb:///:memory:` (gone with the process); the
    schema of the vault's tables is `vault`, or the one named by `?vault_schema=<name>`.

    `snowflake://` with everything from the environment, or `snowflake://user@account/database/schema?role=...`: see
    docs/snowflake.md.

    DeclarationError for any other; WarehouseBusyError when another process holds the file.
    """
    return _open_snowflake(url) if url.startswith(SNOWFLAKE) else DuckDBWarehouse.open(*duckdb_place(url))


def configured_url() -> str:
    """The URL in the environment, else the default: a file in the working folder."""
    return os.environ.get(WAREHOUSE_VARIABLE) or DEFAULT_WAREHOUSE


def duckdb_place(url: str) -> tuple[str, Places]:
    """The path and the schemas that a DuckDB URL names; DeclarationError for any other URL."""
    scheme, separator, rest = url.partition(":///")
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query))
    schema = options.pop("vault_schema", Places().vault)
    if scheme != "duckdb" or not separator or not path or options:
        raise DeclarationError(
            f"warehouse {url!r}: write duckdb:///<file> or duckdb:///:memory:, and ?vault_schema=<name> for another "
            "schema than vault; or snowflake://"
        )
    if not NAME.fullmatch(schema):
        raise DeclarationError(f"warehouse {url!r}: vault_schema holds letters, digits and underscores alone")
    return path, Places(vault=schema)


def _open_snowflake(url: str) -> Warehouse:
    """Imported here alone: its client is an extra of the installation, and takes a second."""
    try:
        from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
        from xts_pipeline.warehouse.snowflake_settings import settings_of_url
    except ImportError as error:
        raise DeclarationError(
            f"warehouse snowflake://...: its client is not installed ({error}): pip install 'xts-pipeline[snowflake]'"
        ) from error
    return SnowflakeWarehouse(settings_of_url(url))
