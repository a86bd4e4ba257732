"""What a source declares of being watched: when its feed is late, and who is told of what."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from xts_pipeline.metadata.declaration import Declared, Zone
from xts_pipeline.metadata.schedule import Cron

LOG_ROUTE = "log"
# What an alert may name: the asset checks, and what is no check of a table. A name that nothing has would never alert.
ALERTABLE = (
    "freshness",
    "run_failure",
    "open_batches",
    "sequence_violations",
    "late_rows",
    "rejected_rows",
    "schema_drift",
    "timeline_invariant",
    "xts_complete",
    "hashdiff",
    "ledger_counts",
    "unique_keys",
    "keys_in_parent",
    "ghost_present",
)
# What a failing check is, where it is no ERROR; and the checks that only a satellite with an XTS has.
WARNINGS = dict.fromkeys(("sequence_violations", "late_rows", "rejected_rows", "schema_drift", "open_batches"), "WARN")
OF_XTS = ("sequence_violations", "timeline_invariant", "xts_complete")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h|d)")
_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def span_of(duration: str) -> timedelta:
    """The span that a declared duration such as `26h` means; ValueError says how to write one."""
    match = _DURATION.fullmatch(duration)
    if match is None or not float(match[1]):
        raise ValueError(f"{duration!r} is no duration: write a number and s, min, h or d, like 26h or 30min")
    try:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        raise ValueError(f"{duration!r} is longer than a calendar: write a shorter one") from None


def _checked_duration(value: str) -> str:
    span_of(value)
    return value


def _with_unit(value: object) -> object:
    if isinstance(value, int | float):
        raise ValueError(f"{value} is no duration: write a number and s, min, h or d, like 26h or 30min")
    return value


Duration = Annotated[str, BeforeValidator(_with_unit), AfterValidator(_checked_duration)]


class Freshness(Declared):
    """When the feed of a source counts as late. One of `max_age` and `deadline`."""

    max_age: Duration | None = Field(
        default=None, description="How old the newest state of a satellite may become, by its applied timestamp: 26h."
    )
    deadline: Cron | None = Field(
        default=None,
        description="A cron: at each of its ticks something must have come, and be dated, after the one before.",
    )
    timezone: Zone = Field(default="UTC", description="The IANA zone of the deadline.")
    grace: Duration | None = Field(default=None, description="How long after the deadline it is still in time: 2h.")
    lag: Duration | None = Field(
        default=None,
        description="By how much what comes by a deadline may be dated before the deadline before it: 1d, for a source "
        "that delivers this morning the state of yesterday.",
    )
    max_silent_keys: str | None = Field(
        default=None, description="The share of keys that may be missing in the newest batches: 1%. For full extracts."
    )
    silent_batches: int = Field(default=3, ge=1, description="A key is silent when that many newest batches lack it.")
    severity: Literal["WARN", "ERROR"] = Field(default="WARN", description="What a late feed is.")

    @field_validator("max_silent_keys")
    @classmethod
    def _share(cls, value: str | None) -> str | None:
        match = _SHARE.fullmatch(value) if value is not None else None
        if value is not None and (match is None or float(match[1]) > 100):
            raise ValueError(f"{value!r} is no share: write a percentage, like 1%")
        return value

    @model_validator(mode="after")
    def _one_rule(self) -> Freshness:
        if (self.max_age is None) == (self.deadline is None):
            raise ValueError("write one of max_age: 26h and deadline: 0 7 * * *")
        if self.deadline is None and self.grace is not None:
            raise ValueError("grace goes with a deadline; with max_age, write a greater age")
        if self.deadline is None and self.lag is not None:
            raise ValueError("lag goes with a deadline; with max_age, write a greater age")
        return self

    @property
    def silent_share(self) -> float | None:
        """The share of keys that may be silent, from 0 to 1."""
        match = _SHARE.fullmatch(self.max_silent_keys or "")
        return float(match[1]) / 100 if match else None


class Alert(Declared):
    """Who is told of what. Messages go out once for each change, not once for each look."""

    checks: list[str] | Literal["*"] = Field(default="*", description=f"Of what: a list of {', '.join(ALERTABLE)}.")
    severity: Literal["WARN", "ERROR"] = Field(default="WARN", description="From which severity on.")
    route: str = Field(
        default=LOG_ROUTE,
        description="The environment variable that holds an apprise URL (Slack, Teams, mail, webhook); or `log`.",
    )
    keys: Literal["hashed", "clear"] = Field(
        default="hashed", description="How a message names keys: by hash key, or clear, by business key."
    )

    @field_validator("checks")
    @classmethod
    def _known(cls, value: list[str] | str) -> list[str] | str:
        if not value:
            raise ValueError("an empty list alerts of nothing; write '*' for all, or leave the alert out")
        if not isinstance(value, str) and (unknown := sorted(set(value) - set(ALERTABLE))):
            raise ValueError(f"{', '.join(unknown)} is no check; write '*' for all, or some of {', '.join(ALERTABLE)}")
        return value

    @field_validator("route")
    @classmethod
    def _variable(cls, value: str) -> str:
        if not _VARIABLE.fullmatch(value):  # not repeated: it may be the URL itself, secrets and all
            raise ValueError(
                "write the name of an environment variable that holds the URL, like XTS_ALERT_URL, or `log`: "
                "a URL holds secrets, which belong in no file"
            )
        return value

    def wants(self, check: str, severity: str) -> bool:
        """Whether it is about a check that failed with a severity."""
        named = self.checks == "*" or check in self.checks
        return named and (severity == "ERROR" or self.severity == "WARN")

    def never_fires(self, impossible: Mapping[str, str], severities: Mapping[str, str]) -> str:
        """Why a check that it names can never alert, and what to write; "" where each can.

        `impossible` says of checks why the source has none of them, `severities` what a failing one is, if not ERROR.
        """
        if isinstance(self.checks, str):
            return ""
        for check in self.checks:
            if check in impossible:
                return f"{check} can never alert: {impossible[check]}"
            if not self.wants(check, severities.get(check, "ERROR")):
                return f"{check} can never alert with severity: ERROR, since it is a WARN: write severity: WARN"
        return ""
