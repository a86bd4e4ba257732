"""A Snowflake without an account, in both ways fakesnow has: patched into the connector, and over HTTP."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest
from fakesnow import patch
from fakesnow import server as serve  # taken at once: a module of that name hides the function later

from xts_pipeline.orchestration.snowflake_resource import connecting
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings, settings_of_url
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
def live() -> Iterator[SnowflakeWarehouse]:
    """A real account, its credentials in the environment; three schemas of its own, dropped at the end."""
    if not os.environ.get("SNOWFLAKE_ACCOUNT"):
        pytest.skip("no Snowflake account is in the environment")
    prefix = f"xts_test_{secrets.token_hex(4)}"
    schemas = {f"{schema}_schema": f"{prefix}_{schema}" for schema in ("vault", "staged", "control")}
    settings = settings_of_url("snowflake://", given={**schemas, "transient": "hub,link,satellite,xts,staged,control"})
    warehouse = SnowflakeWarehouse(settings, connecting(settings))
    try:
        yield warehouse
    finally:
        with warehouse.session() as session:
            for schema in schemas.values():
                session.execute(f'drop schema if exists "{schema.upper()}" cascade')
        warehouse.close()


@pytest.fixture
def warehouse(request: pytest.FixtureRequest) -> SnowflakeWarehouse:
    """The warehouse of the mode a test is parametrized with."""
    found: SnowflakeWarehouse = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def over_http(settings: SnowflakeSettings) -> Iterator[SnowflakeWarehouse]:
    """Over dagster-snowflake's resource and the real connector, to fakesnow's server."""
    with serve() as server, shim():
        reached = served(settings, server)
        warehouse = SnowflakeWarehouse(reached, connecting(reached))
        yield warehouse
        warehouse.close()
