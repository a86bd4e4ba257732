"""The component of a source: what its YAML file may say, and what is said when it says it wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dagster as dg
import jsonschema
import pytest
import yaml

import xts_pipeline
from xts_pipeline.definitions import DEFS_FOLDER
from xts_pipeline.errors import DeclarationError
from xts_pipeline.metadata.catalog import read_declaration
from xts_pipeline.orchestration.component import RESOURCES, component_files
from xts_pipeline_tests.orchestration.project import CASE, FOUR, Project


def test_the_library_alone_does_not_import_dagster() -> None:
    code = "import sys, xts_pipeline; sys.exit('dagster' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_offers_the_component() -> None:
    assert "XtsSource" in dir(xts_pipeline)
    assert issubclass(xts_pipeline.XtsSource, dg.Component)
    with pytest.raises(AttributeError, match="no attribute 'XtsSauce'"):
        _ = xts_pipeline.XtsSauce  # type: ignore[attr-defined]


def test_a_component_is_made_from_attributes_alone() -> None:
    component = xts_pipeline.XtsSource.from_attributes_dict(attributes=CASE)
    keys = {key.to_user_string() for key in component.definitions().resolve_asset_graph().get_all_asset_keys()}
    assert {"staged/case", "case/xts_switch", "sat_case_city", "case/hub_customer", "hub_customer"} <= keys


@pytest.mark.parametrize(
    ("change", "field", "what"),
    [
        ({"sattelites": []}, "sattelites", "there is no such field"),
        ({"satellites": [{"name": "sat_x", "parent": {"hub": "client"}, "columns": ["city"]}]}, "", "parent client"),
        ({"owners": ["data-vault"]}, "owners", "neither an e-mail address nor team:<name>"),
        ({"backfill": "all"}, "backfill", "'per_partition' or 'single_run'"),
        ({"group": "my group"}, "group", "letters, digits and underscores"),
    ],
)
def test_a_fault_names_file_and_field(project: Project, change: dict[str, Any], field: str, what: str) -> None:
    project.declare({**CASE, **change}, **FOUR)
    with pytest.raises(DeclarationError) as raised:
        _ = project.definitions
    assert "defs/case/defs.yaml" in str(raised.value)
    assert field in str(raised.value)
    assert what in str(raised.value)


def test_sources_that_contradict_each_other_are_refused(project: Project) -> None:
    project.declare(CASE, **FOUR).declare({**CASE, "source": "twin"}, **FOUR)
    with pytest.raises(DeclarationError, match="sat_case_city is declared by case and twin"):
        _ = project.definitions


def test_the_library_reads_the_same_file(project: Project) -> None:
    project.declare({**CASE, "owners": ["team:data-vault"], "backfill": "single_run"}, **FOUR)
    declared = read_declaration(project.folder / "defs/case/defs.yaml")
    assert declared.delivery is not None
    assert declared.delivery.path == str(project.folder / "defs/case/data/{partition}.csv")


def test_owners_and_backfill_are_no_part_of_the_fingerprint(project: Project) -> None:
    project.declare(CASE, **FOUR)
    project.run("case", "d1")
    project.declare({**CASE, "owners": ["team:data-vault"], "backfill": "single_run"})
    with project.vault() as vault:
        assert not vault.stage("case", None, "d1").is_new


@pytest.mark.parametrize("path", component_files(DEFS_FOLDER), ids=lambda path: path.parent.name)
def test_the_bundled_files_fit_the_schema_that_dg_checks(path: Any) -> None:
    model = xts_pipeline.XtsSource.get_model_cls()
    attributes = yaml.safe_load(path.read_text())["attributes"]
    jsonschema.validate(attributes, model.model_json_schema())
    listed = {**attributes, "satellites": [{"name": "sat_x", "parent": {"hub": "customer"}, "columns": ["city"]}]}
    jsonschema.validate(listed, model.model_json_schema())


def test_the_verdicts_are_kept_outside_of_memory() -> None:
    assert isinstance(RESOURCES["verdicts_io"], dg.FilesystemIOManager)
