"""A folder with declared sources and deliveries, and the command run in it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from xts_pipeline import Vault
from xts_pipeline.cli import main
from xts_pipeline_tests.test_checks import CRM


@dataclass
class Project:
    """A user's folder: crm.yaml, deliveries, and a vault in warehouse.duckdb."""

    folder: Path

    def xts(self, *arguments: str, input: str | None = None) -> Result:
        """Run the command; an exception that is no exit fails the test."""
        return CliRunner().invoke(main, arguments, input=input, catch_exceptions=False)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run the command for machines; its output is one JSON document and nothing else."""
        result = self.xts(*arguments, "--json")
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def declare(self, **changed: Any) -> None:
        self.write("crm.yaml", yaml.safe_dump({**CRM, **changed}))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def deliver(self, day: str, *rows: tuple[int, str]) -> str:
        """Write a delivery of customers and their cities as of a day of January 2026; its path."""
        lines = [f"{key},{10 * key},{city},{len(city)},in {city},2026-01-{day}" for key, city in rows]
        return str(
            self.write(f"{day}.csv", "\n".join(["customer_id,account_id,city,credit,note,extract_date", *lines]) + "\n")
        )

    def load(self, day: str, *rows: tuple[int, str]) -> Result:
        return self.xts("load", "crm", self.deliver(day, *rows), "--partition", f"2026-01-{day}")

    def vault(self) -> Vault:
        return Vault.open([self.folder / "crm.yaml"], "duckdb:///warehouse.duckdb")


@pytest.fixture(scope="session")
def late_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault that got 1 and 3 January in order, then 2 January, in which customer 1 had moved."""
    made = Project(tmp_path_factory.mktemp("late"))
    made.declare()
    with Vault.open([made.folder / "crm.yaml"], f"duckdb:///{made.folder}/warehouse.duckdb") as vault:
        for day, city in (("01", "Bern"), ("03", "Bern"), ("02", "Zug [old]")):
            vault.load("crm", made.deliver(day, (1, city), (2, "Chur")), partition=f"2026-01-{day}")
    return made.folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XTS_SOURCES", "crm.yaml")
    for name in ("XTS_WAREHOUSE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    made = Project(tmp_path)
    made.declare()
    return made


@pytest.fixture
def late(project: Project, late_vault: Path) -> Project:
    """A project with a copy of `late_vault`."""
    shutil.copytree(late_vault, project.folder, dirs_exist_ok=True)
    return project
