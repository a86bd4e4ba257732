"""`xts init`: the roles, schemas and tables of a vault, made before anything is loaded."""

from __future__ import annotations

import click

from xts_pipeline.cli.options import Settings, vault_options
from xts_pipeline.cli.output import print_json, print_table, say
from xts_pipeline.errors import XtsError
from xts_pipeline.metadata import SourceModel
from xts_pipeline.staging.making import build_tables, finish_pending, open_control
from xts_pipeline.staging.tables import known_columns, remembered_types
from xts_pipeline.warehouse import SNOWFLAKE, Warehouse, in_transaction


@click.command(short_help="Make roles, schemas and tables.")
@click.option("--grants", "with_grants", is_flag=True, help="Snowflake: make the four roles and grant first.")
@click.option("--only-grants", is_flag=True, help="Snowflake: that alone.")
@vault_options
def init(settings: Settings, with_grants: bool, only_grants: bool) -> None:
    """Make the control tables, and the tables of every source whose types are known.

    Where the loader may not make tables, the owner role runs this first, and again after a source was added or grew. A
    source with a column whose type is neither declared nor remembered is left to its first load.
    """
    if with_grants or only_grants:
        _grant(settings)
    if only_grants:
        return
    with settings.opened_warehouse(owner=with_grants) as warehouse:
        open_control(warehouse, settings.catalog.hash_algorithm)
        finish_pending(warehouse)
        made = [(model.name, *_make(warehouse, model)) for model in settings.catalog.sources.values()]
    if settings.as_json:
        print_json({"sources": [{"source": name, "made": done, "told": told} for name, done, told in made]})
    else:
        print_table(["source", "tables", ""], [(name, "there" if done else "-", told) for name, done, told in made])


def _make(warehouse: Warehouse, model: SourceModel) -> tuple[bool, str]:
    with warehouse.transaction() as transaction:
        types = {**remembered_types(transaction, warehouse, model), **model.declared_types}
    if missing := [column for column in model.staged_columns if column not in types]:
        return False, f"the first load makes them: no type is declared for {', '.join(missing)}"
    wanted = {column: types[column] for column in model.staged_columns}
    in_transaction(warehouse, lambda transaction: build_tables(transaction, warehouse, model, wanted))
    with warehouse.transaction() as transaction:
        known = known_columns(transaction, warehouse)
    return True, ", ".join(sorted(satellite.table for satellite in model.satellites if satellite.table in known))


def _grant(settings: Settings) -> None:
    if not settings.url.startswith(SNOWFLAKE):
        raise click.UsageError("--grants is for Snowflake: DuckDB has no roles")
    from xts_pipeline.warehouse.snowflake import SnowflakeWarehouse
    from xts_pipeline.warehouse.snowflake_roles import grants

    with settings.opened_warehouse() as warehouse:
        if not isinstance(warehouse, SnowflakeWarehouse):
            raise XtsError("the warehouse is no Snowflake")
        statements = grants(warehouse.renderer, warehouse.settings.roles)
        warehouse.define(statements)
    say(f"{len(statements)} grants were run")
