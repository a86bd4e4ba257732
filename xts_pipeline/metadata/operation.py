"""How a source is run: what its YAML file says beside the declaration itself, for Dagster alone.

None of it changes what a batch becomes, so none of it enters the fingerprint.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from xts_pipeline.metadata.declaration import SourceDeclaration, checked_name


class OperatedSource(SourceDeclaration):
    """A source as its component file declares it: the declaration, and how Dagster shows and runs it."""

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

    @property
    def declaration(self) -> SourceDeclaration:
        """The source without what only Dagster needs."""
        return SourceDeclaration(**{name: getattr(self, name) for name in SourceDeclaration.model_fields})

    @property
    def group_name(self) -> str:
        """The group its assets are shown in."""
        return self.group or self.hubs[0].hub
