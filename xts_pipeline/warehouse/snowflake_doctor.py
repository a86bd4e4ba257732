"""What is wrong with a Snowflake session before anything is loaded: role, privileges, parameters, and the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import snowflake.connector

from xts_pipeline.warehouse.base import Row
from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_roles import LOADER
from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings

SKEW_TOLERATED = 5.0  # seconds
# Of the session's parameters those that change what is stored or what a load may do; the rest is convenience.
HELD = (
    "TIMEZONE",
    "TIMESTAMP_TYPE_MAPPING",
    "AUTOCOMMIT",
    "TRANSACTION_ABORT_ON_ERROR",
    "LOCK_TIMEOUT",
    "STATEMENT_TIMEOUT_IN_SECONDS",
    "QUOTED_IDENTIFIERS_IGNORE_CASE",
    "BINARY_INPUT_FORMAT",
)
NEVER_IN_VAULT = {"UPDATE", "DELETE", "TRUNCATE", "OWNERSHIP"}


class Finding(NamedTuple):
    """One thing that was looked at: ok, WARN or ERROR, what it is, what was found, and what to do."""

    severity: str
    setting: str
    found: str
    advice: str = ""


def examine(warehouse: SnowflakeWarehouse) -> list[Finding]:
    """Look at the session of a warehouse; WarehouseError when there is none to be had."""
    with warehouse.transaction() as transaction:
        started = _utc_now()
        (session,) = transaction.rows(warehouse.renderer.render("doctor/session"), {})
        ended = _utc_now()
        parameters = transaction.rows(warehouse.renderer.render("doctor/parameters"), {})
        role = str(session["role_name"] or "")
        try:
            granted = transaction.rows(warehouse.renderer.render("doctor/privileges", role=role), {}) if role else []
        except snowflake.connector.errors.ProgrammingError as error:
            granted, refused = [], str(error)
        else:
            refused = ""
    settings = warehouse.settings
    return [
        judge_role(settings, session),
        judge_clock(started, session["clock"], ended),
        *judge_parameters(settings.session_parameters(), parameters),
        *judge_privileges(settings, role, granted, refused),
    ]


def judge_role(settings: SnowflakeSettings, session: Mapping[str, Any]) -> Finding:
    """Whether the session has a role and a warehouse, and the role that was asked for."""
    told = f"user {session['user_name']} as {session['role_name']}, warehouse {session['warehouse_name']}"
    if settings.role and str(session["role_name"]).upper() != settings.role.upper():
        return Finding("ERROR", "role", told, f"grant role {settings.role} to the user; see `xts render grants`")
    if not session["warehouse_name"]:
        return Finding("ERROR", "role", told, "name a warehouse that the role may use (SNOWFLAKE_WAREHOUSE)")
    return Finding("ok", "role", told)


def judge_clock(before: datetime, there: datetime, after: datetime) -> Finding:
    """How far this machine's clock is from Snowflake's; load timestamps are given by this machine's."""
    skew = max((before - there).total_seconds(), (there - after).total_seconds(), 0.0)
    if skew <= SKEW_TOLERATED:
        return Finding("ok", "clock", f"within {max(skew, 1.0):.0f} s of Snowflake's")
    advice = "synchronise this machine's clock: load timestamps stay in order, but are not when it was"
    return Finding("WARN", "clock", f"{skew:.0f} s away from Snowflake's", advice)


def judge_parameters(wanted: Mapping[str, Any], found: Iterable[Row]) -> list[Finding]:
    """Whether the session has the parameters that it was opened with; an account may forbid some."""
    values = {str(row["key"]).upper(): str(row["value"]) for row in found}
    wrong = []
    for name in HELD:
        if name in values and values[name].upper() not in _spellings(wanted[name]):
            told = f"{name} is {values[name]}"
            wrong.append(
                Finding(
                    "ERROR", "parameters", told, f"it must be {wanted[name]}: an ALTER USER or policy stands against it"
                )
            )
    return wrong or [Finding("ok", "parameters", "the session is set as loads need it")]


def judge_privileges(
    settings: SnowflakeSettings, role: str, granted: Sequence[Row], refused: str = ""
) -> list[Finding]:
    """Whether the role may load, and may not change the vault. A role that may do more is a warning."""
    if refused:
        return [Finding("WARN", "privileges", f"the grants of {role} cannot be read: {refused}")]
    places = settings.places
    rights: dict[str, set[str]] = {schema: set() for schema in LOADER}
    for row in granted:
        for schema in LOADER:
            if (
                str(row["granted_on"]).upper() == "TABLE"
                and f".{places.of(schema).upper()}." in str(row["name"]).upper()
            ):
                rights[schema].add(str(row["privilege"]).upper())
    if not any(rights.values()):
        advice = "no table is made yet, or nothing is granted: see `xts render grants`"
        return [Finding("WARN", "privileges", f"{role} has no privilege on a table of the vault", advice)]
    findings = []
    for schema, objects in LOADER.items():
        needed = {privilege.strip().upper() for privilege in objects["tables"].split(",")}
        if rights[schema] and (
            missing := sorted(needed - rights[schema] - ({*needed} if "OWNERSHIP" in rights[schema] else set()))
        ):
            told = f"{role} lacks {', '.join(missing)} on tables of {places.of(schema)}"
            findings.append(Finding("ERROR", "privileges", told, "run `xts init --only-grants` as an administrator"))
    if more := sorted(rights["vault"] & NEVER_IN_VAULT):
        told = f"{role} has {', '.join(more)} on tables of {places.vault}"
        findings.append(Finding("WARN", "privileges", told, "the vault is insert-only: load as a role that has not"))
    return findings or [Finding("ok", "privileges", f"{role} may load, and may not change the vault")]


def _utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


def _spellings(value: Any) -> set[str]:
    """How Snowflake may write a value."""
    spelled = {str(value).upper()}
    return spelled | {"ETC/UTC"} if spelled == {"UTC"} else spelled
