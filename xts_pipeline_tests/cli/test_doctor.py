"""`xts doctor`: the warehouse and the instance in $DAGSTER_HOME."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from xts_pipeline.templates import SQL_FOLDER
from xts_pipeline_tests.cli.conftest import Project
from xts_pipeline_tests.test_checks import CRM

SHIPPED = SQL_FOLDER.parent
EVENT_LOG = "event_log_storage:\n  module: xts_pipeline.orchestration.event_log\n  class: EventLog\n"


def settings(document: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {of["setting"]: of["severity"] for of in document["settings"]}


@pytest.fixture
def home(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(folder))
    shutil.copy(SHIPPED / "dagster.yaml", folder)
    return folder


def test_the_shipped_settings_are_well(project: Project, home: Path) -> None:
    project.vault().close()
    assert set(settings(project.json("doctor")).values()) == {"ok"}
    assert "all is well" in project.xts("doctor").stdout


def test_a_home_with_the_event_log_of_dagster_is_told_of_the_faster_one(project: Project, home: Path) -> None:
    project.vault().close()
    text = (home / "dagster.yaml").read_text()
    assert EVENT_LOG in text
    (home / "dagster.yaml").write_text(text.replace(EVENT_LOG, ""))
    assert settings(project.json("doctor"))["event_log_storage"] == "WARN"


def test_a_route_without_a_url_is_named(project: Project, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alerts = [{"route": "XTS_ALERT_TEAM"}, {"route": "XTS_ALERT_OWNER"}, {"route": "log"}]
    project.write(
        "crm.yaml", yaml.safe_dump({"type": "xts_pipeline.XtsSource", "attributes": {**CRM, "alerts": alerts}})
    )
    project.vault().close()
    monkeypatch.delenv("XTS_ALERT_TEAM", raising=False)
    monkeypatch.setenv("XTS_ALERT_OWNER", "json://owner:word@alerts.example")
    found = settings(project.json("doctor"))
    assert {name: of for name, of in found.items() if name.startswith("route")} == {"route XTS_ALERT_TEAM": "WARN"}
    assert "word" not in project.xts("doctor").stdout


def test_before_the_first_load_there_is_no_vault_yet(project: Project, home: Path) -> None:
    assert settings(project.json("doctor"))["warehouse"] == "WARN"


def test_a_warehouse_that_cannot_be_opened_is_an_error(project: Project, home: Path) -> None:
    project.write("warehouse.duckdb", "this is no database")
    assert settings(project.json("doctor", code=1))["warehouse"] == "ERROR"


def test_without_an_instance_there_is_nothing_to_judge(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    assert settings(project.json("doctor", code=1))["DAGSTER_HOME"] == "ERROR"
    monkeypatch.setenv("DAGSTER_HOME", str(project.folder))
    assert "where no dagster.yaml is" in " ".join(of["found"] for of in project.json("doctor", code=1)["settings"])


def test_a_relative_home_is_refused_as_dagster_does(
    project: Project, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", home.name)
    told = {of["setting"]: of["found"] for of in project.json("doctor", code=1)["settings"]}
    assert "relative path" in told["DAGSTER_HOME"]


@pytest.mark.parametrize(
    "settings_file",
    [
        "run_coordinator: [\n",
        "no_such_setting: 1\n",
        "run_coordinator: {module: dagster, class: NoSuchCoordinator}\n",
        "storage: {postgres: {postgres_url: {env: NO_SUCH_VARIABLE}}}\n",
    ],
)
def test_settings_that_give_no_instance_are_told_without_a_traceback(
    project: Project, home: Path, settings_file: str
) -> None:
    (home / "dagster.yaml").write_text(settings_file)
    told = {of["setting"]: of["found"] for of in project.json("doctor", code=1)["settings"]}
    assert "does not give an instance" in told["DAGSTER_HOME"]


def test_the_limits_of_pools_are_set_where_sources_go_side_by_side(project: Project, home: Path) -> None:
    shutil.copy(SHIPPED / "dagster.snowflake.yaml", home / "dagster.yaml")
    assert settings(project.json("doctor", "--profile", "snowflake", code=1))["xts_crm"] == "ERROR"
    assert settings(project.json("doctor", "--profile", "snowflake", "--fix"))["xts_crm"] == "ok"
    assert settings(project.json("doctor", "--profile", "snowflake"))["xts_crm"] == "ok"
    assert settings(project.json("doctor", code=1))["max_concurrent_runs"] == "ERROR"
