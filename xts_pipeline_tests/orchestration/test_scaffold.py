"""What `dg scaffold` writes loads as it stands, and what it leaves commented out can be switched on."""

from __future__ import annotations

import re
from pathlib import Path

import click
import dagster as dg
import pytest
from dagster.components.scaffold.scaffold import NoParams
from pydantic import BaseModel

from xts_pipeline.metadata.catalog import read_component
from xts_pipeline.orchestration.scaffold import SAMPLE_PARTITION, XtsSourceScaffolder
from xts_pipeline_tests.orchestration.project import Project


def scaffold(folder: Path, scaffold_format: str = "yaml") -> Path:
    folder.mkdir(parents=True)
    request: dg.ScaffoldRequest[BaseModel] = dg.ScaffoldRequest(
        type_name="xts_pipeline.XtsSource",
        target_path=folder,
        scaffold_format=scaffold_format,  # type: ignore[arg-type]
        project_root=None,
        params=NoParams(),
    )
    XtsSourceScaffolder().scaffold(request)
    return folder / "defs.yaml"


def test_a_scaffolded_source_loads_its_sample(project: Project) -> None:
    scaffold(project.folder / "defs/crm")
    assert project.run("crm", SAMPLE_PARTITION).success
    with project.vault() as vault:
        rows = vault.query("select name, city, credit_limit from sat_crm_customer where dv_sid <> 0 order by name")
    assert list(rows["city"]) == ["Sydney", "Perth", "Hobart"]
    assert rows["credit_limit"].isna().tolist() == [False, False, True]


def test_two_scaffolded_sources_do_not_meet(project: Project) -> None:
    for name in ("crm", "erp"):
        scaffold(project.folder / "defs" / name)
    for name in ("crm", "erp"):
        assert project.run(name, SAMPLE_PARTITION).success


def test_what_is_commented_out_can_be_switched_on(tmp_path: Path) -> None:
    declaration = scaffold(tmp_path / "crm")
    text = declaration.read_text()
    optional = ("timezone", "on_error", "watch", "schedule", "freshness", "alerts", "  - {checks", "owners")
    switched_on = re.sub(rf"^  # (?=({'|'.join(optional)}))", "  ", text, flags=re.MULTILINE)
    assert switched_on.count("  # ") == text.count("  # ") - len(optional)
    declaration.write_text(switched_on)
    operated = read_component(declaration)
    assert operated.watch
    assert operated.owners == ["team:data-vault"]
    assert operated.alerts[0].route == "XTS_ALERT_TEAM"
    assert operated.schedule is not None
    assert operated.freshness is not None


def test_a_name_that_dagster_or_sql_cannot_carry_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="letters, digits and underscores"):
        scaffold(tmp_path / "crm-eu")
    assert list((tmp_path / "crm-eu").iterdir()) == []


def test_a_source_is_scaffolded_in_yaml_alone(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="YAML"):
        scaffold(tmp_path / "crm", "python")
