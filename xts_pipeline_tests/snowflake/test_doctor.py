"""`xts doctor` for Snowflake: role, privileges, parameters, clock; and what of it fakesnow can be asked."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_doctor import (
    HELD,
    examine,
    judge_clock,
    judge_parameters,
    judge_privileges,
    judge_role,
)
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings
from xts_pipeline_tests.snowflake.test_roles import project, xts  # noqa: F401

NOON = datetime(2026, 1, 4, 12)
SETTINGS = SnowflakeSettings(account="a", user="u", database="dv", authenticator="externalbrowser", role="xts_loader")


def test_the_role_that_was_asked_for_must_be_the_role() -> None:
    session = {"user_name": "U", "role_name": "XTS_LOADER", "warehouse_name": "W"}
    assert judge_role(SETTINGS, session).severity == "ok"
    other = judge_role(SETTINGS, {**session, "role_name": "PUBLIC"})
    assert (other.severity, "grant role xts_loader" in other.advice) == ("ERROR", True)
    assert judge_role(SETTINGS, {**session, "warehouse_name": None}).severity == "ERROR"


@pytest.mark.parametrize(("away", "severity"), [(0, "ok"), (5, "ok"), (-5, "ok"), (9, "WARN"), (-3600, "WARN")])
def test_a_clock_that_is_away_is_told(away: int, severity: str) -> None:
    there = NOON + timedelta(seconds=away)
    assert judge_clock(NOON, there, NOON).severity == severity


def test_a_parameter_that_changes_what_is_stored_is_an_error() -> None:
    wanted = SETTINGS.session_parameters()
    rows = [
        {"key": name, "value": str(wanted[name]).lower() if wanted[name] in (True, False) else str(wanted[name])}
        for name in HELD
    ]
    assert [finding.severity for finding in judge_parameters(wanted, rows)] == ["ok"]
    wrong = [{"key": "TIMEZONE", "value": "America/Los_Angeles"}, {"key": "AUTOCOMMIT", "value": "false"}]
    assert [finding.found for finding in judge_parameters(wanted, wrong)] == [
        "TIMEZONE is America/Los_Angeles",
        "AUTOCOMMIT is false",
    ]


def row(privilege: str, schema: str, kind: str = "TABLE") -> dict[str, str]:
    return {"privilege": privilege, "granted_on": kind, "name": f"DV.{schema.upper()}.T"}


def test_a_loader_that_lacks_a_privilege_or_has_too_much_is_told() -> None:
    enough = [row(privilege, "vault") for privilege in ("SELECT", "INSERT")]
    enough += [
        row(privilege, schema)
        for schema in ("staged", "control")
        for privilege in ("SELECT", "INSERT", "UPDATE", "DELETE")
    ]
    assert [found.severity for found in judge_privileges(SETTINGS, "XTS_LOADER", enough)] == ["ok"]
    (lacking,) = judge_privileges(SETTINGS, "XTS_LOADER", [each for each in enough if each["privilege"] != "DELETE"])[
        :1
    ]
    assert (lacking.severity, lacking.found) == ("ERROR", "XTS_LOADER lacks DELETE on tables of staged")
    (more,) = judge_privileges(SETTINGS, "XTS_LOADER", [*enough, row("DELETE", "vault")])
    assert (more.severity, "insert-only" in more.advice) == ("WARN", True)
    assert judge_privileges(SETTINGS, "XTS_LOADER", [])[0].severity == "WARN"
    assert "cannot be read" in judge_privileges(SETTINGS, "XTS_LOADER", [], refused="no").pop().found


def test_the_session_itself_is_examined(patched: SnowflakeWarehouse) -> None:
    found = {finding.setting: finding.severity for finding in examine(patched)}
    assert found == {"role": "ok", "clock": "ok", "parameters": "ok", "privileges": "WARN"}


def test_doctor_lists_what_it_found(project: Path) -> None:  # noqa: F811
    result = xts("doctor", "--json")
    told = {of["setting"]: of for of in json.loads(result.output)["settings"]}
    assert json.loads(result.output)["profile"] == "snowflake"
    assert {"warehouse", "role", "clock", "parameters", "privileges"} <= told.keys()
