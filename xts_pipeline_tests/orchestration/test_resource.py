"""The vault resource: a connection of its own, rolled back and closed whatever happens."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pytest

from xts_pipeline import Vault
from xts_pipeline.errors import WarehouseBusyError, WarehouseError
from xts_pipeline.metadata import Catalog
from xts_pipeline.orchestration import resource
from xts_pipeline.orchestration.resource import DuckDBVault
from xts_pipeline.warehouse import WAREHOUSE_VARIABLE
from xts_pipeline_tests.orchestration.project import CASE


def test_the_path_is_that_of_the_configuration_else_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WAREHOUSE_VARIABLE, raising=False)
    assert DuckDBVault().path == "warehouse.duckdb"
    monkeypatch.setenv(WAREHOUSE_VARIABLE, "duckdb:///elsewhere.duckdb")
    assert DuckDBVault().path == "elsewhere.duckdb"
    assert DuckDBVault(database="here.duckdb").path == "here.duckdb"


def test_the_command_line_and_dagster_open_the_same_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"duckdb:///{tmp_path / 'a.duckdb'}?vault_schema=dv"
    monkeypatch.setenv(WAREHOUSE_VARIABLE, url)
    with DuckDBVault().vault(Catalog.read([CASE])) as vault:
        vault.load(
            "case", pd.DataFrame({"id": ["1"], "day": ["2021-01-01"], "city": ["PERTH"], "mood": ["calm"]}), "d1"
        )
    with Vault.open([CASE], url) as vault:
        assert vault.query("select city from dv.sat_case_city where dv_sid <> 0")["city"].tolist() == ["PERTH"]


@pytest.mark.parametrize("patience", [None, 0.0])
def test_a_file_of_data_is_refused(tmp_path: Path, patience: float | None) -> None:
    (tmp_path / "rows.csv").write_text("id,city\n1,Bern\n")
    vaults = DuckDBVault(database=str(tmp_path / "rows.csv"))
    with (
        pytest.raises(WarehouseError, match="no DuckDB database"),
        vaults.vault(Catalog.read([CASE]), patience),
    ):
        pass


def test_an_exception_rolls_back_and_closes(tmp_path: Path) -> None:
    vaults = DuckDBVault(database=str(tmp_path / "vault.duckdb"))
    with vaults.connection() as connection:
        connection.execute("create table kept (n integer)")
    with pytest.raises(ZeroDivisionError), vaults.connection() as connection:  # noqa: PT012
        connection.execute("begin transaction")
        connection.execute("insert into kept values (1)")
        raise ZeroDivisionError
    with pytest.raises(duckdb.Error, match=r"(?i)closed"):
        connection.execute("select 1")
    with vaults.connection() as again:
        assert again.execute("select count(*) from kept").fetchone() == (0,)


def test_the_vault_has_its_control_tables_and_is_closed_on_an_exception(tmp_path: Path) -> None:
    vaults = DuckDBVault(database=str(tmp_path / "vault.duckdb"))
    with pytest.raises(ZeroDivisionError), vaults.vault(Catalog.read([CASE])) as vault:  # noqa: PT012
        assert vault.closed_until is None
        assert vault.query("select count(*) as n from load_batch")["n"].item() == 0
        raise ZeroDivisionError
    with pytest.raises(duckdb.Error, match=r"(?i)closed"):
        vault.query("select 1")


def test_a_file_that_stays_locked_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDBResource tries for about 100 seconds; here it gives up at once."""

    class Locked:
        def __init__(self, **_: object) -> None: ...

        def get_connection(self) -> Locked:
            return self

        def __enter__(self) -> None:
            raise duckdb.IOException("Could not set lock on file: Conflicting lock is held in PID 1")

    monkeypatch.setattr(resource, "DuckDBResource", Locked)
    vaults = DuckDBVault(database=str(tmp_path / "vault.duckdb"))
    with pytest.raises(WarehouseBusyError, match=r"vault\.duckdb is held by another process"), vaults.connection():
        pass
