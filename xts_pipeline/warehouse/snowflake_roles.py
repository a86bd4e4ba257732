"""Who may do what in Snowflake: the four roles of a vault, and the statements that grant them their privileges.

owner    makes schemas and tables; nobody logs in with it
loader   SELECT and INSERT on the vault, and no UPDATE, DELETE or TRUNCATE there; more in the staged and control
         schemas, which are working memory
reader   SELECT on the vault and the ledger
privacy  SELECT, UPDATE and DELETE on the vault, for what the law asks to be forgotten
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from xts_pipeline.templates import Renderer, Statement

ADMINISTRATORS = "sysadmin"
SCHEMAS = ("vault", "staged", "control")
# schema: kind of object: privileges
LOADER = {
    "vault": {"tables": "select, insert", "views": "select"},
    "staged": {"tables": "select, insert, update, delete", "views": "select", "stages": "read, write"},
    "control": {"tables": "select, insert, update, delete"},
}
READER = {"vault": {"tables": "select", "views": "select"}, "control": {"tables": "select"}}
PRIVACY = {"vault": {"tables": "select, update, delete", "views": "select"}, "control": {"tables": "select"}}


@dataclass(frozen=True)
class Roles:
    """The names of the four roles, and of what they are granted on."""

    database: str
    warehouses: tuple[str, ...] = ()
    prefix: str = "xts"
    owner: str = field(init=False)
    loader: str = field(init=False)
    reader: str = field(init=False)
    privacy: str = field(init=False)

    def __post_init__(self) -> None:
        for name in ("owner", "loader", "reader", "privacy"):
            object.__setattr__(self, name, f"{self.prefix}_{name}")

    @property
    def all(self) -> tuple[str, ...]:
        """Every role."""
        return (self.owner, self.loader, self.reader, self.privacy)


def grants(renderer: Renderer, roles: Roles) -> list[Statement]:
    """The statements that make the roles and grant them their privileges, in the order in which they are run.

    They are run by a role that may make roles and manage grants (ACCOUNTADMIN, or SECURITYADMIN with CREATE SCHEMA on
    the database), and may be run again.
    """
    return [renderer.render(template, **context) for template, context in planned_grants(roles)]


def planned_grants(roles: Roles) -> Iterator[tuple[str, dict[str, Any]]]:
    """The templates of the grants in their order, each with what it is rendered with."""

    def render(name: str, **context: Any) -> tuple[str, dict[str, Any]]:
        return f"grants/{name}", {"database": roles.database, **context}

    for role in roles.all:
        yield render("role", role=role)
        yield render("role_to_role", role=role, to_role=ADMINISTRATORS)
        privileges = "usage, create schema" if role == roles.owner else "usage"
        yield render("on_database", role=role, privileges=privileges)
    for schema in SCHEMAS:
        yield render("schema", schema=schema)
    for warehouse in roles.warehouses:
        for role in roles.all:
            yield render("on_warehouse", warehouse=warehouse, role=role)
    for role, on_schemas in ((roles.loader, LOADER), (roles.reader, READER), (roles.privacy, PRIVACY)):
        for schema, objects in on_schemas.items():
            yield render("on_schema", schema=schema, role=role)
            for kind, granted in objects.items():
                for extent in ("all", "future"):
                    yield render("on_objects", extent=extent, kind=kind, privileges=granted, schema=schema, role=role)
    for schema in SCHEMAS:  # last, since the owner of a schema with managed access alone may grant in it
        yield render("schema_owner", schema=schema, role=roles.owner)
