"""The assets of a source's job, with every check that hangs on them, whoever has declared it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_selection import KeysAssetSelection


class SourceSelection(KeysAssetSelection):
    """What `AssetSelection.assets` selects; that one looks through the checks of all sources, once for each source."""

    def resolve_checks_inner(self, asset_graph: Any, allow_missing: bool) -> AbstractSet[dg.AssetCheckKey]:
        """The checks of each asset, as the asset's node has them."""
        return {
            check for asset in self.resolve(asset_graph, allow_missing) for check in asset_graph.get(asset).check_keys
        }
