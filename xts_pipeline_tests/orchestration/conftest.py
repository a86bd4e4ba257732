from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from xts_pipeline.warehouse import WAREHOUSE_VARIABLE
from xts_pipeline_tests.orchestration.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv(WAREHOUSE_VARIABLE, f"duckdb:///{tmp_path / 'vault.duckdb'}")
    with dg.DagsterInstance.ephemeral(tempdir=str(tmp_path)) as instance:  # a run takes half the time without files
        yield Project(tmp_path, instance)
