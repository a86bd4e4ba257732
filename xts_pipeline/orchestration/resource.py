"""The vault as a Dagster resource: a connection per op, rolled back and closed whatever happens."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import dagster as dg
import duckdb
from dagster_duckdb import DuckDBResource
from pydantic import Field

from xts_pipeline.errors import WarehouseBusyError
from xts_pipeline.metadata import Catalog
from xts_pipeline.templates import Places
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse import (
    DEFAULT_WAREHOUSE,
    WAREHOUSE_VARIABLE,
    DuckDBWarehouse,
    configured_url,
    duckdb_place,
)
from xts_pipeline.warehouse.duckdb import bound_memory, is_held, refuse_data_file

BETWEEN_ATTEMPTS = 0.1  # seconds


class VaultResource(dg.ConfigurableResource[Any], ABC):
    """What the ops ask of a warehouse: a vault to work in, theirs for as long as the block lasts."""

    @abstractmethod
    def vault(self, catalog: Catalog, patience: float | None = None) -> AbstractContextManager[Vault]:
        """Open the vault of these sources, its control tables in place; close it at the end of the block.

        WarehouseBusyError when it cannot be had within `patience` seconds: 0 is one attempt, for a sensor, whose tick
        lasts a minute at most; left out, it is waited for as long as a load may wait.
        """


class DuckDBVault(VaultResource):
    """A vault in a DuckDB file, over dagster-duckdb's resource.

    While another process holds the file, opening it is tried again for about 100 seconds; then WarehouseBusyError, with
    nothing written.
    """

    database: str | None = Field(
        default=None,
        description=f"Path of the DuckDB file; left out: by ${WAREHOUSE_VARIABLE}, else {DEFAULT_WAREHOUSE}.",
    )
    connection_config: dict[str, Any] = Field(default_factory=dict, description="DuckDB's own connection settings.")

    @property
    def place(self) -> tuple[str, Places]:
        """The file this resource opens, and the schemas in it."""
        return (self.database, Places()) if self.database else duckdb_place(configured_url())

    @property
    def path(self) -> str:
        """The file this resource opens."""
        return self.place[0]

    @contextmanager
    def vault(self, catalog: Catalog, patience: float | None = None) -> Iterator[Vault]:
        """Open the vault of these sources over a connection of its own."""
        connected = self.connection() if patience is None else _closed_after(self._connected_within(patience))
        _, places = self.place
        with connected as connection, Vault.open(declared_in(catalog), DuckDBWarehouse(connection, places)) as vault:
            yield vault

    @contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of `DuckDBResource`, which by itself neither rolls back nor closes on an exception."""
        opened = DuckDBResource(database=self.path, connection_config=self.connection_config).get_connection()
        try:
            connection = opened.__enter__()
        except duckdb.IOException as error:
            if not is_held(error):
                raise
            raise WarehouseBusyError(
                f"{self.path} is held by another process, which did not let go of it while this one tried; nothing was "
                f"written. Close that process, or run this again later. DuckDB said: {error}"
            ) from error
        self._settle(connection)
        with _closed_after(connection):
            yield connection

    def _connected_within(self, patience: float) -> duckdb.DuckDBPyConnection:
        """Connect as `DuckDBResource` does (a process opens a file with one configuration only), in less time."""
        until = time.monotonic() + patience
        while True:
            try:
                config = {"custom_user_agent": "dagster", **self.connection_config}
                connection = duckdb.connect(self.path, config=config)
            except duckdb.IOException as error:
                if not is_held(error):
                    raise
                if time.monotonic() >= until:
                    raise WarehouseBusyError(f"{self.path} is held by another process. DuckDB said: {error}") from error
            else:
                self._settle(connection)
                return connection
            time.sleep(BETWEEN_ATTEMPTS)

    def _settle(self, connection: duckdb.DuckDBPyConnection) -> None:
        refuse_data_file(connection, self.path)
        if "memory_limit" not in self.connection_config:
            bound_memory(connection)


@contextmanager
def _closed_after(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        yield connection
    finally:
        with suppress(duckdb.Error):
            connection.rollback()  # nothing to roll back when no transaction is open, which DuckDB calls an error
        connection.close()


def declared_in(catalog: Catalog) -> list[Any]:
    """What `Vault.open` takes of a catalog's sources."""
    return [model.declaration for model in catalog.sources.values()]
