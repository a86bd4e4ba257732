"""What every command is told: the declared sources, the warehouse, and for whom to print."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import click

from xts_pipeline.metadata import Catalog, Satellite, SourceModel
from xts_pipeline.metadata.catalog import is_component
from xts_pipeline.staging.making import open_control
from xts_pipeline.vault import Vault
from xts_pipeline.views import TimestampError, as_utc
from xts_pipeline.warehouse import DEFAULT_WAREHOUSE, SNOWFLAKE, WAREHOUSE_VARIABLE, Warehouse, open_warehouse

DEFAULT_SOURCES = "xts_pipeline/defs"
DUCKDB = "duckdb:///"
AS_JSON = "xts_pipeline.as_json"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """The options that all commands share."""

    paths: tuple[Path, ...]
    url: str
    as_json: bool

    @functools.cached_property
    def files(self) -> list[Path]:
        """The YAML files that declare the sources; UsageError when there are none."""
        files = [file for path in self.paths or (Path(DEFAULT_SOURCES),) for file in _declarations(path)]
        if not files:
            looked = ", ".join(str(path) for path in self.paths) or f"{DEFAULT_SOURCES}/*/defs.yaml"
            raise click.UsageError(
                f"no source is declared in {looked}: name YAML files, or a folder of them, by --sources or XTS_SOURCES"
            )
        return list(dict.fromkeys(files))

    @functools.cached_property
    def catalog(self) -> Catalog:
        """The declared sources."""
        return Catalog.read(self.files)

    def source(self, name: str) -> SourceModel:
        """A declared source; BadParameter lists those there are."""
        if name not in self.catalog.sources:
            raise click.BadParameter(f"source {name} is not declared; declared are: {_listed(self.catalog.sources)}")
        return self.catalog.sources[name]

    def satellite(self, name: str) -> tuple[SourceModel, Satellite]:
        """A declared satellite and its source; BadParameter lists those there are."""
        known = {satellite.name: model for model in self.catalog.sources.values() for satellite in model.satellites}
        if name not in known:
            raise click.BadParameter(f"satellite {name} is not declared; declared are: {_listed(known)}")
        return known[name], known[name].satellite(name)

    def vault(self) -> Vault:
        """The vault, made when it is not there yet."""
        catalog = self.catalog
        if (file := _file(self.url)) is not None and not file.absolute().parent.is_dir():
            raise click.UsageError(f"warehouse {self.url}: there is no folder {file.absolute().parent}")
        return Vault.open([model.declaration for model in catalog.sources.values()], self.url)

    def standing_vault(self) -> Vault:
        """The vault, which must be there already."""
        self._refuse_missing()
        return self.vault()

    @contextmanager
    def standing_warehouse(self) -> Iterator[Warehouse]:
        """The warehouse itself, whether or not the sources of its open batches are declared."""
        self._refuse_missing()
        warehouse = open_warehouse(self.url)
        try:
            yield warehouse
        finally:
            warehouse.close()

    @contextmanager
    def opened_warehouse(self, *, owner: bool = False) -> Iterator[Warehouse]:
        """The warehouse itself, made when it is not there yet; as the owner role, where Snowflake has one."""
        warehouse = open_warehouse(self.url)
        if owner and self.url.startswith(SNOWFLAKE):
            warehouse = _as_owner(warehouse)
        try:
            yield warehouse
        finally:
            warehouse.close()

    @contextmanager
    def looked_at(self) -> Iterator[Vault]:
        """The vault for looking at, which an open batch of a source no longer declared does not refuse."""
        catalog = self.catalog
        with self.standing_warehouse() as warehouse:
            open_control(warehouse, catalog.hash_algorithm)
            yield Vault(catalog, warehouse)

    def _refuse_missing(self) -> None:
        file = _file(self.url)
        if file is not None and not file.is_file():
            raise click.UsageError(
                f"there is no vault at {self.url} yet: `xts load` makes it; or name another with --warehouse or "
                "XTS_WAREHOUSE"
            )


def timestamp(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """The callback of an option that takes a timestamp: UTC without zone, None when it was left out."""
    try:
        return as_utc(value, "timestamp")
    except TimestampError as error:
        raise click.BadParameter(str(error)) from error


def vault_options(command: Callable[Concatenate[Settings, P], T]) -> Callable[..., T]:
    """Give a command the shared options, as its first argument."""

    @click.option(
        "--sources",
        multiple=True,
        envvar="XTS_SOURCES",
        type=click.Path(exists=True, path_type=Path),
        help=f"YAML file that declares a source, or a folder of them; may be repeated. [env: XTS_SOURCES; default: "
        f"{DEFAULT_SOURCES}/*/defs.yaml]",
    )
    @click.option(
        "--warehouse",
        envvar=WAREHOUSE_VARIABLE,
        default=DEFAULT_WAREHOUSE,
        metavar="URL",
        help=f"Where the vault is. [env: {WAREHOUSE_VARIABLE}; default: {DEFAULT_WAREHOUSE}]",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
    @functools.wraps(command)
    def with_settings(sources: tuple[Path, ...], warehouse: str, as_json: bool, *args: P.args, **kwargs: P.kwargs) -> T:
        click.get_current_context().meta[AS_JSON] = as_json  # an error is then told in JSON too
        return command(Settings(sources, warehouse, as_json), *args, **kwargs)

    return with_settings


def _as_owner(warehouse: Warehouse) -> Warehouse:
    from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse

    if not isinstance(warehouse, SnowflakeWarehouse):
        return warehouse
    return SnowflakeWarehouse(warehouse.settings.model_copy(update={"role": warehouse.settings.roles.owner}))


def _file(url: str) -> Path | None:
    """The file a warehouse URL names; None for memory and for what is no file."""
    path = url.removeprefix(DUCKDB)
    return None if path in {url, "", ":memory:"} else Path(path)


def _declarations(path: Path) -> list[Path]:
    """A file as it is; of a folder, the YAML files right in it and the component files below it."""
    if path.is_file():
        return [path]
    beside = [file for file in path.glob("*.y*ml") if file.name != "defs.yaml"]
    below = [file for file in path.rglob("defs.yaml") if is_component(file)]
    return sorted([*beside, *below])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
