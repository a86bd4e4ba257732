"""The Dagster job of a source on the Snowflake resource, in process: what it loads, and what its assets say."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from fakesnow import patch

from xts_pipeline import Vault
from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata import Catalog
from xts_pipeline.orchestration.component import RESOURCES
from xts_pipeline.orchestration.configured import ConfiguredVault
from xts_pipeline.warehouse.snowflake import SnowflakeSession
from xts_pipeline.warehouse.work import current_work
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project, metadata_of
from xts_pipeline_tests.snowflake.fake import private_key, shim


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project whose warehouse is Snowflake, all of it named in the environment."""
    monkeypatch.setenv("XTS_WAREHOUSE", "snowflake://")
    monkeypatch.setenv("SNOWFLAKE_ACCOUNT", "test")
    monkeypatch.setenv("SNOWFLAKE_USER", "loader")
    monkeypatch.setenv("SNOWFLAKE_DATABASE", f"dv_{secrets.token_hex(4)}")
    monkeypatch.setenv("SNOWFLAKE_PRIVATE_KEY", private_key())
    monkeypatch.setenv("XTS_SNOWFLAKE_ASSISTED_WAREHOUSE", "big_one")
    with patch(), shim(), dg.DagsterInstance.ephemeral(str(tmp_path)) as instance:
        yield Project(tmp_path, instance)


def test_the_job_of_a_source_loads_and_checks_and_tells_queries_rows_and_branch(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, str]] = []
    execute = SnowflakeSession.execute

    def noting(itself: SnowflakeSession, sql: str, *args: object) -> object:
        ran.append((sql, current_work().tag))
        return execute(itself, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SnowflakeSession, "execute", noting)
    project.declare(CASE, d2=FOUR["d2"], d4=FOUR["d4"])
    assert project.run("case", "d2").success
    ran.clear()
    late = project.run("case", "d4")
    assert late.success

    city = metadata_of(late, "sat_case_city")
    assert (city["xts/branch"], city["xts/inserted"], city["xts/copied"]) == ("assisted", 2, 0)
    queries = [record.data for record in city["xts/queries"].records]
    assert [query["statement"] for query in queries] == ["load/satellite_assisted", "load/satellite_counts"]
    assert all(len(query["query_id"]) == 36 for query in queries)
    assert queries[0]["rows"] == 2
    staged = [record.data["statement"] for record in metadata_of(late, "staged/case")["xts/queries"].records]
    assert staged[:2] == ["transfer/put", "transfer/copy"]
    assert "load/hub" in {
        record.data["statement"] for record in metadata_of(late, "case/hub_customer")["xts/queries"].records
    }

    checks = {each.check_name: each.passed for each in late.get_asset_check_evaluations()}
    assert len(checks) > 5
    assert {name for name, passed in checks.items() if not passed} == {"sequence_violations"}

    tags = {json.loads(tag).get("step"): json.loads(tag) for _, tag in ran}
    loaded = tags["satellite:sat_case_city"]
    assert (loaded["app"], loaded["run"], loaded["source"]) == ("xts", late.run_id, "case")
    assert loaded["batch"] == city["xts/batch"]
    assert {"stage", "switch:sat_case_mood", "xts:sat_case_city", "hub:customer"} <= set(tags)
    assert any(sql == 'use warehouse "BIG_ONE"' and json.loads(tag)["assisted"] for sql, tag in ran)


def test_the_resource_is_duckdb_until_snowflake_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XTS_WAREHOUSE", raising=False)
    assert isinstance(RESOURCES["vaults"], ConfiguredVault)
    catalog = Catalog.read([CASE])
    with ConfiguredVault(database=str(tmp_path / "v.duckdb")).vault(catalog) as vault:
        assert vault.warehouse.renderer.dialect == "duckdb"
    settings = {"account": "test", "user": "u", "database": "dv_resource", "private_key": private_key()}
    with (
        patch(),
        shim(),
        ConfiguredVault(warehouse="snowflake", snowflake=settings).vault(catalog) as opened,
    ):
        assert isinstance(opened, Vault)
        assert opened.warehouse.renderer.dialect == "snowflake"
    with (
        pytest.raises(DeclarationError, match="'oracle' is none of duckdb, snowflake"),
        ConfiguredVault(warehouse="oracle").vault(catalog),
    ):
        pass
