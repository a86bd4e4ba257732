"""The bundled real extracts, loaded in order and in reverse, without Dagster."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from xts_pipeline import Vault
from xts_pipeline.orchestration.component import component_files

DEFS = Path(__file__).parent.parent / "xts_pipeline" / "defs"
SOURCE = "browser_compat"


def measure() -> dict[str, Any]:
    """Seconds and rows of each load, newest first and oldest first."""
    files = sorted((DEFS / SOURCE / "data").glob("*.csv.gz"))
    return {"in order": _loads(files), "in reverse": _loads(files[::-1])}


def _loads(files: list[Path]) -> list[dict[str, Any]]:
    declared = [path for path in component_files(DEFS) if path.parent.name == SOURCE]
    found = []
    with Vault.open(declared, "duckdb:///:memory:") as vault:
        for file in files:
            begun = time.perf_counter()
            result = vault.load(SOURCE, file, file.name.removesuffix(".csv.gz"))
            (satellite,) = result.satellites.values()
            found.append(
                {
                    "partition": result.partition,
                    "seconds": time.perf_counter() - begun,
                    "rows": result.rows_staged,
                    "branch": satellite.branch,
                    "inserted": satellite.inserted,
                    "copied": satellite.copied,
                }
            )
    return found
