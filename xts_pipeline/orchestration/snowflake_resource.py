"""The vault in Snowflake as a Dagster resource, over dagster-snowflake's: one connection an op, always closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dagster_snowflake import SnowflakeResource
from pydantic import Field

from xts_pipeline.metadata import Catalog
from xts_pipeline.orchestration.resource import VaultResource, declared_in
from xts_pipeline.vault import Vault
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings, settings_of_url


class SnowflakeVault(VaultResource):
    """A vault in Snowflake.

    What is not given here comes from the environment (SNOWFLAKE_ACCOUNT, ...); see docs/snowflake.md for every field of
    `settings`. `get_connection` of Dagster's resource neither rolls back nor closes when its block raises: here each
    op has a connection of its own that is rolled back and closed on any exception.
    """

    url: str = Field(default="snowflake://", description="snowflake://user@account/database/schema, any part left out.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings by name, before those of the URL.")

    @contextmanager
    def vault(self, catalog: Catalog, patience: float | None = None) -> Iterator[Vault]:
        """Open the vault of these sources; Snowflake is waited for as long as a login may take, whatever `patience`."""
        with Vault.open(declared_in(catalog), self.warehouse()) as vault:
            yield vault

    def warehouse(self) -> SnowflakeWarehouse:
        """The warehouse, its connections made by `SnowflakeResource`."""
        settings = settings_of_url(self.url, given=self.settings)
        return SnowflakeWarehouse(settings, connecting(settings))


def connecting(settings: SnowflakeSettings) -> Callable[[], Any]:
    """A function that opens a connection through dagster-snowflake's resource."""
    arguments = settings.connection_arguments()
    known = ("account", "user", "database", "role", "warehouse", "authenticator", "password", "login_timeout")
    named = {name: arguments.pop(name) for name in known if name in arguments}
    for name in ("private_key", "application"):  # the resource makes the one of a PEM, and names itself
        arguments.pop(name, None)
    resource = SnowflakeResource(
        **named,
        schema=arguments.pop("schema"),
        private_key=settings.private_key_pem(),
        additional_snowflake_connection_args=arguments,
    )

    def connect() -> Any:
        return resource.get_connection().__enter__()

    return connect
