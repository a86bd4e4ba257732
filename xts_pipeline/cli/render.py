"""`xts render`: the SQL of a source, as the warehouse gets it."""

from __future__ import annotations

from collections.abc import Mapping

import click

from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say
from xts_pipeline.cli.script import script_of
from xts_pipeline.cli.statements import EXAMPLE_ROLES, Entry, statements_of
from xts_pipeline.errors import XtsError
from xts_pipeline.metadata import ColumnType, SourceModel
from xts_pipeline.staging.tables import remembered_types
from xts_pipeline.templates import DIALECTS, renderer
from xts_pipeline.warehouse import SNOWFLAKE


@click.command(short_help="Print the SQL that is run.")
@click.argument("statement", required=False)
@click.option("--dialect", type=click.Choice(DIALECTS), default="duckdb", show_default=True, help="Whose SQL.")
@click.option("--satellite", metavar="S", help="Only what loads and reads this satellite.")
@click.option("--source", metavar="S", help="Only the statements of this source.")
@vault_options
def render(settings: Settings, statement: str | None, dialect: str, satellite: str | None, source: str | None) -> None:
    """Print STATEMENT as it is run for a satellite or a source; without one, list those there are.

    `grants` prints Snowflake's roles and their grants. With --dialect snowflake --satellite S and no STATEMENT, the
    whole cycle is printed as a script for a worksheet.

    A statement is named like its file in sql/ (`load/switch`; `switch` will do). Values stay visible as binds. No
    warehouse is needed: a column whose type is not declared gets the one the warehouse remembers, else text.
    """
    if statement == "grants":
        _print_grants(settings)
        return
    if satellite:
        owner, _ = settings.satellite(satellite)
        if source not in {None, owner.name}:
            raise click.BadParameter(f"satellite {satellite} is fed by source {owner.name}, not by {source}")
        models = [owner]
    else:
        models = [settings.source(source)] if source else list(settings.catalog.sources.values())
    entries: dict[tuple[str, str], Entry] = {}
    for model in models:
        types = _types(settings, model, quiet=statement is None or not _is_ddl(statement))
        for entry in statements_of(model, types, dialect, satellite):
            entries.setdefault((entry.name, entry.subject), entry)
    if statement is None and satellite and dialect == "snowflake" and not settings.as_json:
        model, chosen = settings.satellite(satellite)
        for part in script_of(model, chosen, _types(settings, model, quiet=False)):
            click.echo(part, nl=False)
    elif statement is None:
        _list(settings, list(entries.values()))
    else:
        _print(settings, _named(statement, list(entries.values())), dialect)


def _print_grants(settings: Settings) -> None:
    """The grants, by the names of the configured warehouse, or with names to be replaced."""
    from xts_pipeline.warehouse.snowflake_roles import grants

    roles, rendering = EXAMPLE_ROLES, renderer("snowflake")
    if settings.url.startswith(SNOWFLAKE):
        from xts_pipeline.warehouse.snowflake_settings import settings_of_url

        configured = settings_of_url(settings.url)
        roles = configured.roles
        rendering = renderer("snowflake", configured.places, configured.tables)
    statements = grants(rendering, roles)
    if settings.as_json:
        print_json({"statements": [{"statement": of.name, "sql": of.sql} for of in statements]})
        return
    click.echo("-- Run as ACCOUNTADMIN, or as SECURITYADMIN with CREATE SCHEMA on the database; may be run again.")
    for of in statements:
        click.echo(f"{of.sql.rstrip()};")


def _is_ddl(statement: str) -> bool:
    return statement.startswith("ddl/") or "/" not in statement


def _types(settings: Settings, source: SourceModel, *, quiet: bool) -> Mapping[str, ColumnType]:
    """The declared types, and for what is not declared those the warehouse remembers, when there is one."""
    declared = source.declared_types
    if quiet or all(column in declared for column in source.columns):
        return declared
    try:
        with settings.standing_warehouse() as warehouse, warehouse.transaction() as transaction:
            return {**remembered_types(transaction, warehouse, source), **declared}
    except (XtsError, click.UsageError):
        return declared


def _named(statement: str, entries: list[Entry]) -> list[Entry]:
    """The entries of a statement's name, whole or without its folder."""
    found = [entry for entry in entries if entry.name == statement]
    found = found or [entry for entry in entries if entry.name.split("/")[-1] == statement]
    if not found:
        raise click.BadParameter(
            f"there is no statement {statement} here; `xts render` without one lists those there are"
        )
    if len(names := {entry.name for entry in found}) > 1:
        raise click.BadParameter(f"{statement} is one of {', '.join(sorted(names))}: name it with its folder")
    return found


def _list(settings: Settings, entries: list[Entry]) -> None:
    subjects: dict[str, list[str]] = {}
    for entry in entries:
        subjects.setdefault(entry.name, []).append(entry.subject)
    subjects = {name: list(dict.fromkeys(of)) for name, of in subjects.items()}
    if settings.as_json:
        print_json({"statements": [{"statement": name, "about": of} for name, of in subjects.items()]})
        return
    print_table(["statement", "about"], [(name, ", ".join(of)) for name, of in subjects.items()])
    say("xts render [--satellite S] STATEMENT prints one of them")


def _print(settings: Settings, entries: list[Entry], dialect: str) -> None:
    rendered = [(entry, entry.statement(renderer(dialect))) for entry in entries]
    if settings.as_json:
        documents = [
            {
                "statement": entry.name,
                "about": entry.subject,
                "dialect": dialect,
                "binds": sorted(statement.binds),
                "sql": statement.sql,
            }
            for entry, statement in rendered
        ]
        print_json({"statements": documents})
        return
    for index, (entry, statement) in enumerate(rendered):
        binds = f"; binds {', '.join(sorted(statement.binds))}" if statement.binds else ""
        click.echo(f"{'' if index == 0 else chr(10)}-- {entry.name} for {entry.subject}{binds}")
        click.echo(f"{statement.sql.rstrip()};")
