"""Data Vault satellites whose timeline is right whatever order the data arrives in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xts_pipeline.vault import LoadResult, SatelliteResult, Vault

if TYPE_CHECKING:
    from xts_pipeline.orchestration.component import XtsSource

__all__ = ["LoadResult", "SatelliteResult", "Vault", "XtsSource"]


def __getattr__(name: str) -> type[XtsSource]:
    """Give the Dagster component when it is asked for: the library alone does not import Dagster."""
    if name != "XtsSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from xts_pipeline.orchestration.component import XtsSource

    return XtsSource


def __dir__() -> list[str]:
    """Name the component too, so that `dg list components` finds it."""
    return [*globals(), "XtsSource"]
