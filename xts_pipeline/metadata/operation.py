"""How a source is run: what its YAML file says beside the declaration itself, for Dagster alone.

None of it changes what a batch becomes, so none of it enters the fingerprint.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from xts_pipeline.metadata.declaration import SourceDeclaration, checked_name
from xts_pipeline.metadata.monitoring import OF_XTS, WARNINGS, Alert, Duration, Freshness
from xts_pipeline.metadata.schedule import Schedule


class OperatedSource(SourceDeclaration):
    """A source as its component file declares it: the declaration, and how Dagster shows and runs it."""

    model_config = ConfigDict(hide_input_in_errors=True)  # a URL written in a wrong place holds secrets

    owners: list[str] = Field(
        default_factory=list, description="Who answers for its assets: e-mail addresses, or team:<name>."
    )
    group: str | None = Field(
        default=None, description="The group its assets are shown in; left out: the name of its first hub."
    )
    backfill: Literal["per_partition", "single_run"] = Field(
        default="per_partition",
        description="per_partition: a run for each partition. single_run: all of them in one run, batch after batch.",
    )
    watch: bool = Field(
        default=False,
        description="Look for new and changed files every 30 seconds; false: the sensor is there, and switched off.",
    )
    settle: float = Field(
        default=5, ge=0, description="Seconds for which a file must not have been written to before it is read."
    )
    schedule: Schedule | None = Field(
        default=None, description="When what was delivered is picked up; for a query, when it is asked."
    )
    freshness: Freshness | None = Field(
        default=None, description="When its feed counts as late, judged by the heartbeats in the XTS."
    )
    alerts: list[Alert] = Field(default_factory=list, description="Who is told of what, once for each change.")
    open_batch_limit: Duration = Field(
        default="2h", description="How long a batch may stay open before the check `open_batches` warns."
    )

    @field_validator("group")
    @classmethod
    def _group_name(cls, value: str | None) -> str | None:
        return None if value is None else checked_name(value)

    @field_validator("owners", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"write a list: [{value}]")
        return value

    @field_validator("owners")
    @classmethod
    def _reachable(cls, value: list[str]) -> list[str]:
        for owner in value:
            if "@" not in owner and not owner.startswith("team:"):
                raise ValueError(f"{owner!r} is neither an e-mail address nor team:<name>")
        return value

    @model_validator(mode="after")
    def _has_deliveries(self) -> OperatedSource:
        if self.watch and not self.is_watchable:
            raise ValueError("watch: there is nothing to look for; declare delivery: {path: data/{partition}.csv}")
        if self.schedule is not None and self.delivery is None:
            raise ValueError("schedule: there is nothing to load; declare a delivery, by path or by url and query")
        return self

    @model_validator(mode="after")
    def _has_heartbeats(self) -> OperatedSource:
        if self.freshness is not None and not any(satellite.xts_assisted for satellite in self.satellites):
            raise ValueError(
                "freshness is judged by heartbeats, and no satellite of this source keeps an XTS: "
                "leave xts_assisted on for one"
            )
        return self

    @model_validator(mode="after")
    def _can_alert(self) -> OperatedSource:
        assisted = [satellite.xts_assisted for satellite in self.satellites]
        impossible = {} if any(assisted) else dict.fromkeys(OF_XTS, "no satellite of this source keeps an XTS")
        if all(assisted):
            impossible["late_rows"] = "every satellite keeps an XTS: late rows are sequence_violations there"
        if self.freshness is None:
            impossible["freshness"] = "the source declares no freshness:"
        if self.on_error == "stop":
            impossible["rejected_rows"] = "a row that does not fit stops its batch; on_error: quarantine keeps it out"
        severities = {**WARNINGS, **({"freshness": self.freshness.severity} if self.freshness else {})}
        for alert in self.alerts:
            if why := alert.never_fires(impossible, severities):
                raise ValueError(f"alerts: {why}")
        return self

    @property
    def declaration(self) -> SourceDeclaration:
        """The source without what only Dagster needs."""
        return SourceDeclaration(**{name: getattr(self, name) for name in SourceDeclaration.model_fields})

    @property
    def is_watchable(self) -> bool:
        """Whether its deliveries are files whose names tell their partitions."""
        return self.delivery is not None and "{partition}" in (self.delivery.path or "")

    @property
    def group_name(self) -> str:
        """The group its assets are shown in."""
        return self.group or self.hubs[0].hub
