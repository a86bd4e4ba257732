"""`xts doctor`: do the warehouse and Dagster's settings fit the sources?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click
from rich.text import Text

from xts_pipeline.cli.options import DUCKDB, Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say
from xts_pipeline.errors import XtsError
from xts_pipeline.metadata.monitoring import LOG_ROUTE
from xts_pipeline.warehouse import SNOWFLAKE

if TYPE_CHECKING:
    from xts_pipeline.orchestration.home import Judged, Severity

HOME_VARIABLE = "DAGSTER_HOME"
STYLES = {"ok": "green", "WARN": "yellow", "ERROR": "bold red"}


@click.command(short_help="Check the warehouse and Dagster's settings.")
@click.option(
    "--profile",
    type=click.Choice(["duckdb", "snowflake"]),
    help="duckdb: one run at a time. snowflake: sources side by side. Left out: by the warehouse.",
)
@click.option("--fix", is_flag=True, help="Set the limit of each source's pool to 1.")
@vault_options
def doctor(settings: Settings, profile: Literal["duckdb", "snowflake"] | None, fix: bool) -> None:
    """Check that the warehouse opens, and that the Dagster instance in $DAGSTER_HOME is set as the sources need it.

    Exit code 1 when something is an ERROR.
    """
    profile = profile or ("duckdb" if settings.url.startswith(DUCKDB) else "snowflake")
    judged = [_warehouse(settings), *_snowflake(settings), *_dagster(settings, profile == "snowflake", fix)]
    if settings.as_json:
        print_json({"profile": profile, "passed": _passed(judged), "settings": judged})
    else:
        rows = [(Text(of.severity, style=STYLES[of.severity]), of.setting, of.found, of.advice) for of in judged]
        print_table(["", "setting", "what was found", "what to do"], rows)
        say("all is well" if _passed(judged) else "not as it should be: see above")
    if not _passed(judged):
        raise SystemExit(1)


def _passed(judged: Sequence[Judged]) -> bool:
    return all(of.severity != "ERROR" for of in judged)


def _warehouse(settings: Settings) -> Judged:
    from xts_pipeline.orchestration.home import Judged

    try:
        with settings.looked_at() as vault:
            closed = vault.closed_until
    except click.UsageError as error:
        return Judged("WARN", "warehouse", error.message)
    except XtsError as error:
        return Judged("ERROR", "warehouse", str(error))
    return Judged("ok", "warehouse", f"opens; closed until {closed} UTC" if closed else "opens; nothing is loaded yet")


def _snowflake(settings: Settings) -> list[Judged]:
    """Role, privileges, parameters and clock, where the warehouse is Snowflake."""
    from xts_pipeline.orchestration.home import Judged

    if not settings.url.startswith(SNOWFLAKE):
        return []
    from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
    from xts_pipeline.warehouse.snowflake_doctor import examine

    try:
        with settings.opened_warehouse() as warehouse:
            found = examine(warehouse) if isinstance(warehouse, SnowflakeWarehouse) else []
    except XtsError as error:
        return [Judged("ERROR", "snowflake", str(error))]
    return [Judged(cast("Severity", of.severity), of.setting, of.found, of.advice) for of in found]


def _own_home() -> str | None:
    """The home that `make run` and `make ui` make, where there is one in the working folder."""
    folder = Path(".dagster_home").absolute()
    return str(folder) if (folder / "dagster.yaml").is_file() else None


def _dagster(settings: Settings, side_by_side: bool, fix: bool) -> list[Judged]:
    """Dagster is imported here alone: no other command needs it, and it takes a second."""
    import dagster as dg

    from xts_pipeline.metadata.catalog import is_component, read_component
    from xts_pipeline.orchestration.home import Judged, judge, read_home, set_limits
    from xts_pipeline.orchestration.nodes import SourceNodes

    folder = os.environ.get(HOME_VARIABLE) or _own_home()
    if not folder or not Path(folder).is_absolute() or not (Path(folder) / "dagster.yaml").is_file():
        missing = ", where no dagster.yaml is" if folder and Path(folder).is_absolute() else ""
        relative = ", a relative path, which Dagster refuses" if folder and not Path(folder).is_absolute() else ""
        advice = "set it to the absolute path of a folder with a copy of dagster.yaml or dagster.snowflake.yaml"
        return [Judged("ERROR", HOME_VARIABLE, f"${HOME_VARIABLE} is {folder or 'not set'}{missing}{relative}", advice)]
    catalog = settings.catalog
    pools = [SourceNodes(model, catalog).pool for model in catalog.sources.values()]
    operated = [read_component(path) for path in settings.files if is_component(path)]
    try:
        with dg.DagsterInstance.from_config(folder) as instance:
            if fix:
                set_limits(instance, pools)
            home = read_home(instance)
    except Exception as error:  # whatever a setting leads to: a class that is not there, a storage out of reach
        told = f"{folder}/dagster.yaml does not give an instance: {type(error).__name__}: {error}"
        return [Judged("ERROR", HOME_VARIABLE, told, "compare it with the dagster.yaml of this project")]
    routes = {alert.route for source in operated for alert in source.alerts}
    has_schedules = any(source.schedule is not None for source in operated)
    return [*judge(home, side_by_side=side_by_side, pools=pools, has_schedules=has_schedules), *_routes(routes)]


def _routes(routes: set[str]) -> list[Judged]:
    """The routes of alerts that have no URL here; what stands in one is a secret, and not looked at."""
    from xts_pipeline.orchestration.home import Judged

    return [
        Judged(
            "WARN",
            f"route {route}",
            "the variable is not set here",
            "set it to an apprise URL where Dagster's daemon runs, before that starts; messages wait until then",
        )
        for route in sorted(routes - {LOG_ROUTE})
        if not os.environ.get(route)
    ]
