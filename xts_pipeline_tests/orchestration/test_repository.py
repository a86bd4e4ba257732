"""The whole repository, as Dagster and `dg` load it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import dagster as dg
import pytest

from xts_pipeline.definitions import DEFS_FOLDER, build_definitions, defs
from xts_pipeline.errors import DeclarationError
from xts_pipeline.orchestration.home import judge, read_home, set_limits

ROOT = DEFS_FOLDER.parent.parent
SCRIPTS = Path(sys.executable).parent
EXTRACTS = {
    "sapbw_customer": ("2021-01-01", "2021-01-03", "2021-01-02"),
    "browser_compat": ("2022-08-30", "2023-12-15", "2025-03-25", "2025-08-22", "2025-08-26", "2026-01-30"),
}
POOLS = [f"xts_{source}" for source in EXTRACTS]


def dagster_command(*command: str, folder: Path = ROOT, **environment: str) -> str:
    """Run a command of Dagster's in a project folder; its output."""
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"
    inherited = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    done = subprocess.run(
        [str(SCRIPTS / command[0]), *command[1:]],
        cwd=folder,
        env={**inherited, "PATH": path, "PYTHONPATH": str(folder), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_every_definition_loads() -> None:
    dg.Definitions.validate_loadable(defs)
    assert {job.name for job in defs.jobs or []} >= {f"load_{source}" for source in EXTRACTS}
    assert defs.executor is dg.in_process_executor


def test_what_dagster_refuses_names_its_source(tmp_path: Path) -> None:
    shutil.copytree(DEFS_FOLDER / "sapbw_customer", tmp_path / "sapbw_customer")
    declaration = tmp_path / "sapbw_customer/defs.yaml"
    declaration.write_text(declaration.read_text().replace('"team:data-vault"', '"@"'))
    with pytest.raises(DeclarationError, match="source sapbw_customer: Dagster refuses it: Invalid owner"):
        build_definitions(tmp_path)


def test_dg_loads_the_same_from_the_defs_folder() -> None:
    through_dg = dg.load_from_defs_folder(path_within_project=DEFS_FOLDER)
    for one, other in ((through_dg, defs), (defs, through_dg)):
        keys = set(one.resolve_asset_graph().get_all_asset_keys())
        assert keys == set(other.resolve_asset_graph().get_all_asset_keys())
        checks = set(one.resolve_asset_graph().asset_check_keys)
        assert checks == set(other.resolve_asset_graph().asset_check_keys)


def test_the_extract_of_each_partition_is_there() -> None:
    for source, partitions in EXTRACTS.items():
        names = {path.name.partition(".")[0] for path in (DEFS_FOLDER / source / "data").iterdir()}
        assert names - {"README"} == set(partitions)


def test_the_shipped_instance_file_is_valid(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert not instance.telemetry_enabled
        assert not instance.nux_enabled
        assert instance.run_coordinator.get_run_queue_config().max_concurrent_runs == 1  # type: ignore[attr-defined]
        assert instance.run_monitoring_settings["free_slots_after_run_end_seconds"] == 60
        assert not failures(instance, side_by_side=False)


def test_the_profile_for_snowflake_is_valid_once_the_limits_are_set(tmp_path: Path) -> None:
    shutil.copy(ROOT / "dagster.snowflake.yaml", tmp_path / "dagster.yaml")
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert failures(instance, side_by_side=True) == POOLS
        set_limits(instance, POOLS)
        assert not failures(instance, side_by_side=True)


def failures(instance: dg.DagsterInstance, *, side_by_side: bool) -> list[str]:
    judged = judge(read_home(instance), side_by_side=side_by_side, pools=POOLS, has_schedules=True)
    return [of.setting for of in judged if of.severity != "ok"]


def test_dg_lists_the_component() -> None:
    if not entry_points(group="dagster_dg_cli.registry_modules", name="xts_pipeline"):
        pytest.skip("dg finds the component of a package that is installed; this one is only on the path")
    assert "xts_pipeline.XtsSource" in dagster_command("dg", "list", "components", "--json")


def test_dg_knows_the_project() -> None:
    dagster_command("dg", "check", "yaml")
    assert "All definitions loaded successfully" in dagster_command("dg", "check", "defs")
    assert "sat_sapbw_address" in dagster_command("dg", "list", "defs", "--json")


def test_dg_finds_a_misspelled_field_and_the_line_it_stands_in(tmp_path: Path) -> None:
    """Asked for one source: without a folder, `dg check yaml` looks at one file of all that are of one type."""
    for name in ("xts_pipeline", "sql"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    declaration = tmp_path / "xts_pipeline/defs/browser_compat/defs.yaml"
    declaration.write_text(declaration.read_text().replace("owners:", "ownrs:"))
    with pytest.raises(AssertionError, match=r"defs\.yaml:\d+ .*'ownrs' was unexpected"):
        dagster_command("dg", "check", "yaml", "xts_pipeline/defs/browser_compat", folder=tmp_path)
    dagster_command("dg", "check", "yaml", "xts_pipeline/defs/sapbw_customer", folder=tmp_path)


@pytest.mark.long
def test_a_scaffolded_source_is_a_valid_one(tmp_path: Path) -> None:
    for name in ("xts_pipeline", "sql"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    dagster_command("dg", "scaffold", "defs", "xts_pipeline.XtsSource", "crm", folder=tmp_path)
    assert (tmp_path / "xts_pipeline/defs/crm/defs.yaml").exists()
    dagster_command("dg", "check", "yaml", folder=tmp_path)
    dagster_command("dg", "check", "defs", folder=tmp_path)
