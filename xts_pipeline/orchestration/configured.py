"""The vault as Dagster's configuration names it: DuckDB, or Snowflake where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import Field

from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata import Catalog
from xts_pipeline.orchestration.resource import DuckDBVault, VaultResource
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse import SNOWFLAKE, WAREHOUSE_VARIABLE, configured_url


class ConfiguredVault(DuckDBVault):
    """A vault in DuckDB, or with `warehouse: snowflake` in Snowflake."""

    warehouse: str | None = Field(
        default=None,
        description=f"duckdb or snowflake; left out: snowflake when ${WAREHOUSE_VARIABLE} begins so, else duckdb.",
    )
    snowflake: dict[str, Any] = Field(
        default_factory=dict, description="Snowflake's settings by name; left out: from the environment."
    )

    @contextmanager
    def vault(self, catalog: Catalog, patience: float | None = None) -> Iterator[Vault]:
        """Open the vault of these sources in the warehouse that is configured."""
        url = configured_url()
        named = self.warehouse or ("snowflake" if url.startswith(SNOWFLAKE) else "duckdb")
        if named == "duckdb":
            with super().vault(catalog, patience) as vault:
                yield vault
        elif named == "snowflake":
            with _snowflake(url if url.startswith(SNOWFLAKE) else "snowflake://", self.snowflake).vault(
                catalog, patience
            ) as vault:
                yield vault
        else:
            raise DeclarationError(f"warehouse: {named!r} is none of duckdb, snowflake")


def _snowflake(url: str, settings: dict[str, Any]) -> VaultResource:
    """Imported here alone: the client is an extra of the installation, and takes seconds."""
    try:
        from xts_pipeline.orchestration.snowflake_resource import SnowflakeVault
    except ImportError as error:
        raise DeclarationError(
            f"warehouse: snowflake: its client is not installed ({error}): pip install 'xts-pipeline[snowflake]'"
        ) from error
    return SnowflakeVault(url=url, settings=settings)
