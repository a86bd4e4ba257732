"""A Snowflake without an account, in both ways fakesnow has: patched into the connector, and over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest
from fakesnow import patch
from fakesnow import server as serve  # taken at once: a module of that name hides the function later

from xts_pipeline.orchestration.snowflake_resource import connecting
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings
from xts_pipeline_tests.snowflake.fake import private_key, served, shim


@pytest.fixture
def settings() -> SnowflakeSettings:
    """Of a database of its own."""
    return SnowflakeSettings(
        account="test", user="loader", database=f"dv_{secrets.token_hex(4)}", private_key=private_key()
    )


@pytest.fixture
def patched(settings: SnowflakeSettings) -> Iterator[SnowflakeWarehouse]:
    """Over dagster-snowflake's resource, the connector's `connect` patched."""
    with patch(), shim():
        warehouse = SnowflakeWarehouse(settings, connecting(settings))
        yield warehouse
        warehouse.close()


@pytest.fixture
def over_http(settings: SnowflakeSettings) -> Iterator[SnowflakeWarehouse]:
    """Over dagster-snowflake's resource and the real connector, to fakesnow's server."""
    with serve() as server, shim():
        reached = served(settings, server)
        warehouse = SnowflakeWarehouse(reached, connecting(reached))
        yield warehouse
        warehouse.close()
