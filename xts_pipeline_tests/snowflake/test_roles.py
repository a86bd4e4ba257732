"""Four roles: what each is granted, and that `xts init` makes what a loader then may not.

fakesnow knows no roles: what a statement needs is held against what is granted by reading both.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from fakesnow import patch
from sqlglot import exp

from xts_pipeline import Vault
from xts_pipeline.cli import main
from xts_pipeline.errors import WarehouseError
from xts_pipeline.templates import Renderer, renderer
from xts_pipeline.warehouse.snowflake import SnowflakeSession, SnowflakeWarehouse
from xts_pipeline.warehouse.snowflake_roles import LOADER, PRIVACY, READER, Roles, grants
from xts_pipeline.warehouse.snowflake_settings import settings_of_url
from xts_pipeline_tests import histories as h
from xts_pipeline_tests.parsing import parse
from xts_pipeline_tests.snowflake.fake import private_key, shim
from xts_pipeline_tests.test_templates import ENTRIES

ROLES = Roles("dv", ("loading", "big"))
DML: dict[type[exp.Expr], str] = {exp.Insert: "insert", exp.Update: "update", exp.Delete: "delete", exp.Copy: "insert"}


def granted() -> list[str]:
    return [statement.sql.split("\n")[1] for statement in grants(renderer("snowflake"), ROLES)]


def test_the_loader_may_select_and_insert_in_the_vault_and_nothing_else() -> None:
    vault = [line for line in granted() if '"VAULT"' in line and line.endswith('role "XTS_LOADER"')]
    assert set(vault) == {
        'grant usage on schema "DV"."VAULT" to role "XTS_LOADER"',
        *(
            f'grant {what} on {extent} {kind} in schema "DV"."VAULT" to role "XTS_LOADER"'
            for extent in ("all", "future")
            for what, kind in (("select, insert", "tables"), ("select", "views"))
        ),
    }


def test_only_the_owner_makes_tables_and_only_privacy_changes_rows_of_the_vault() -> None:
    lines = granted()
    assert [line for line in lines if "ownership" in line or "create schema on" in line] == [
        'grant usage, create schema on database "DV" to role "XTS_OWNER"',
        *(
            f'grant ownership on schema "DV"."{name}" to role "XTS_OWNER" copy current grants'
            for name in ("VAULT", "STAGED", "CONTROL")
        ),
    ]
    changing = [line for line in lines if '"VAULT"' in line and ("update" in line or "delete" in line)]
    assert changing
    assert all(line.endswith('role "XTS_PRIVACY"') for line in changing)
    assert not any("truncate" in line or "all privileges" in line for line in lines)
    assert {privilege for kinds in READER.values() for privilege in kinds.values()} == {"select"}
    assert "insert" not in str(PRIVACY)


def test_what_a_load_runs_needs_no_more_than_the_loader_has() -> None:
    """Every statement but DDL, schema by schema."""
    needed: dict[str, set[str]] = {schema: set() for schema in LOADER}
    for entry in ENTRIES["snowflake"]:
        if entry.name.startswith(("ddl/", "grants/", "script/", "doctor/")) or entry.name in {
            "transfer/put",
            "transfer/stage",
        }:
            continue
        (statement,) = parse(entry.statement(Renderer("snowflake")).sql, "snowflake")
        assert statement is not None
        if type(statement) in DML:
            target = statement.this.find(exp.Table)
            needed[target.db.lower()].add(DML[type(statement)])
        for table in statement.find_all(exp.Table):
            if table.db.lower() in needed:
                needed[table.db.lower()].add("select")
    for schema, objects in LOADER.items():
        assert needed[schema] <= set(objects["tables"].split(", ")), schema
    assert needed["vault"] == {"select", "insert"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, value in {
        "XTS_WAREHOUSE": "snowflake://loader@test",
        "SNOWFLAKE_DATABASE": f"dv_{secrets.token_hex(4)}",
        "SNOWFLAKE_PRIVATE_KEY": private_key(),
        "SNOWFLAKE_WAREHOUSE": "loading",
        "XTS_SOURCES": str(tmp_path / "crm.yaml"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    (tmp_path / "crm.yaml").write_text(yaml.safe_dump(h.SOURCE))
    with patch(), shim():
        yield tmp_path


def xts(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_render_grants_names_what_is_configured(project: Path) -> None:
    printed = xts("render", "grants").output
    database = settings_of_url("snowflake://loader@test").database.upper()
    assert f'grant usage on schema "{database}"."VAULT" to role "XTS_LOADER";' in printed
    assert 'grant usage on warehouse "LOADING" to role "XTS_READER";' in printed


def test_init_makes_what_the_loader_may_not_and_a_load_then_runs_no_ddl(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, str]] = []
    execute, connect = SnowflakeSession.execute, SnowflakeSession.__init__

    def noting(itself: SnowflakeSession, sql: str, *args: object) -> object:
        ran.append((str(itself._settings.role), sql))
        return execute(itself, sql, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(SnowflakeSession, "execute", noting)
    made = xts("init", "--grants")
    assert made.exit_code == 0, made.output
    assert "sat_city, sat_name" in made.output
    makers = {role for role, sql in ran if "create table" in sql}
    assert makers == {"xts_owner"}
    ran.clear()
    warehouse = SnowflakeWarehouse(settings_of_url("snowflake://loader@test"))
    with Vault.open([h.SOURCE], warehouse) as vault:
        frame = h.frames({"sat_city": {"k": [{1: "A"}]}, "sat_name": {"k": [{1: "X"}]}})[0]
        assert vault.load("crm", frame).satellites["sat_city"].inserted == 1
    assert not [
        sql for _, sql in ran if sql.lstrip("-").lower().startswith(("create", "alter")) or "create table" in sql
    ]
    assert connect is SnowflakeSession.__init__
    assert xts("init").exit_code == 0  # again, nothing happens


def test_a_load_that_may_not_make_tables_says_so_and_init_finishes_what_it_remembered(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The types of a column are remembered with the statement that is to make it, so that both stay the same."""
    import snowflake.connector

    xts("init", "--grants")
    grown = {
        **h.SOURCE,
        "satellites": [*h.SOURCE["satellites"], {"name": "sat_age", "parent": {"hub": "customer"}, "columns": ["age"]}],
    }  # type: ignore[misc]
    execute = SnowflakeSession.execute

    def refusing(itself: SnowflakeSession, sql: str, *args: object) -> object:
        if "\ncreate " in f"\n{sql}" or "\nalter " in f"\n{sql}":
            raise snowflake.connector.errors.ProgrammingError(
                msg="Insufficient privileges", errno=3001, sqlstate="42501"
            )
        return execute(itself, sql, *args)  # type: ignore[arg-type]

    frame = h.frames({"sat_city": {"k": [{1: "A"}]}, "sat_name": {"k": [{1: "X"}]}})[0].assign(age=[7])
    with monkeypatch.context() as loader:
        loader.setattr(SnowflakeSession, "execute", refusing)
        with (
            Vault.open([grown], SnowflakeWarehouse(settings_of_url("snowflake://loader@test"))) as vault,
            pytest.raises(WarehouseError, match=r"let the owner role run `xts init` first"),
        ):
            vault.load("crm", frame)
    (project / "crm.yaml").write_text(yaml.safe_dump(grown))
    assert xts("init").exit_code == 0
    with Vault.open([grown], SnowflakeWarehouse(settings_of_url("snowflake://loader@test"))) as vault:
        assert vault.load("crm", frame.assign(age=["8"])).satellites["sat_age"].inserted == 1
        assert vault.query("select age from sat_age where dv_sid <> 0")["age"].tolist() == [8]
        assert len(vault.query("select * from sat_age where dv_sid = 0")) == 1  # the ghost, once
