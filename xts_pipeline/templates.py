"""Renders the statements of `sql/` for a dialect.

A template writes a name through an identifier filter (`vault`, `staged`, `control`, `schema`, `identifier`) and a
value through `bind`; anything else between braces is an error, and so is a variable that nobody gave. What differs
between engines comes from `sql/dialect/<dialect>.sql.j2`, whose macros every template sees as `dialect`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

DIALECTS = ("duckdb", "snowflake")
_PATH = re.compile(r"[A-Za-z0-9_./:~-]+")
_OF_GRANTS = ("all", "create", "delete", "future", "insert", "read", "schema", "select", "stages", "tables", "update")
_KEYWORDS = frozenset({*_OF_GRANTS, "usage", "views", "write"})
_IDENTIFIER = re.compile(r"[A-Za-z0-9_]{1,400}")
_BESIDE_PACKAGE = Path(__file__).parent / "sql"  # in the wheel
SQL_FOLDER = _BESIDE_PACKAGE if _BESIDE_PACKAGE.is_dir() else Path(__file__).parent.parent / "sql"


class TemplateError(Exception):
    """A template or what it was given breaks the rules of rendering; a fault of this project, not of its user."""


@dataclass(frozen=True)
class Statement:
    """One rendered statement: the name of its template, its text, and the values it must be given."""

    name: str
    sql: str
    binds: frozenset[str]
    names: frozenset[str] = frozenset()  # the identifiers in it, as they were given


TABLE_KINDS = ("hub", "link", "satellite", "xts", "staged", "control")


@dataclass(frozen=True)
class TableOptions:
    """How Snowflake keeps tables, by kind of table; DuckDB has no such choice.

    A transient table has no fail-safe and at most one day of time travel. `retention_days` is the time travel of the
    permanent ones; None leaves it to the schema.
    """

    transient: frozenset[str] = frozenset({"staged"})
    retention_days: int | None = None
    clustered: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if unknown := sorted((self.transient | self.clustered) - set(TABLE_KINDS)):
            raise ValueError(f"{', '.join(unknown)} is no kind of table: write {', '.join(TABLE_KINDS)}")
        if unclustered := sorted(self.clustered & {"staged", "control"}):
            raise ValueError(f"{', '.join(unclustered)}: only tables of the vault are clustered")
        if self.retention_days is not None and not 0 <= self.retention_days <= 90:
            raise ValueError(f"retention_days is {self.retention_days}: Snowflake keeps 0 to 90 days")

    def retention_of(self, kind: str) -> int | None:
        """Days of time travel to declare for a table; None to declare nothing."""
        if self.retention_days is None:
            return None
        return min(self.retention_days, 1) if kind in self.transient else self.retention_days


@dataclass(frozen=True)
class Places:
    """Where tables live. `database` is set where a name needs it: a DuckDB file vault.duckdb is a catalog `vault`,
    which would make `vault.hub_customer` ambiguous."""

    database: str | None = None
    vault: str = "vault"
    staged: str = "staged"
    control: str = "control"

    def of(self, schema: str) -> str:
        """The name of the schema that templates call `schema`."""
        return str(getattr(self, schema))


def _identifier(name: object, dialect: str) -> Markup:
    spelled = str(name)  # raises for a variable nobody gave
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise TemplateError(f"{spelled!r} is no identifier")
    return Markup(f'"{name.upper()}"' if dialect == "snowflake" else f'"{name}"')


def _quoted(database: str) -> Markup:
    """The name of a database, which is that of its file and may hold anything; quotes are doubled."""
    if "'" in database:
        raise TemplateError(f"{database!r} holds a quote")
    return Markup('"' + database.replace('"', '""') + '"')


def _keywords(words: object) -> Markup:
    """Words of SQL that a grant is made of."""
    if not isinstance(words, str) or not set(re.split(r"[ ,]+", words)) <= _KEYWORDS:
        raise TemplateError(f"{words!r} holds more than {', '.join(sorted(_KEYWORDS))}")
    return Markup(words)


def _path(text: object) -> Markup:
    """A path of a file or in a stage: inside quotes, or without any."""
    if not isinstance(text, str) or not _PATH.fullmatch(text):
        raise TemplateError(f"{text!r} is no path that a statement can hold: letters, digits and _ - . / : ~ alone")
    return Markup(text)


def _digits(number: object) -> Markup:
    if type(number) is not int or number < 0:
        raise TemplateError(f"{number!r} is no whole number")
    return Markup(str(number))


def _refuse_plain(value: object) -> object:
    """Let only what a filter or a macro made into the statement."""
    if not isinstance(value, Markup):
        raise TemplateError(f"{value!r} went into a statement through no filter: name it or bind it")
    return value


@dataclass
class Renderer:
    """Renders templates for one dialect and one place."""

    dialect: str
    places: Places = field(default_factory=Places)
    tables: TableOptions = field(default_factory=TableOptions)
    _environment: jinja2.Environment = field(init=False, repr=False)
    _rendered: dict[tuple[object, ...], Statement] = field(init=False, repr=False, default_factory=dict)
    _binds: set[str] = field(init=False, repr=False, default_factory=set)
    _names: set[str] = field(init=False, repr=False, default_factory=set)
    _lock: threading.Lock = field(init=False, repr=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            raise TemplateError(f"dialect {self.dialect!r} is none of {', '.join(DIALECTS)}")
        self._environment = _environment()
        self._environment.filters |= {
            "identifier": jinja2.pass_context(lambda _, name: self._named(name)),
            "digits": _digits,
            "path": _path,
            "keywords": _keywords,
            "foreign": self._foreign,
            "schema": self._schema,
            "bind": jinja2.pass_context(lambda _, name: self._bind(name)),
            **{schema: self._table_in(schema) for schema in ("vault", "staged", "control")},
        }
        self._environment.globals["tables"] = self.tables
        self._environment.globals["dialect"] = self._environment.get_template(f"dialect/{self.dialect}.sql.j2").module

    def render(self, template: str, **context: Any) -> Statement:
        """Render `sql/<template>.sql.j2`; rendered once for the same context, whose values must be hashable."""
        key = (template, *sorted(context.items(), key=lambda item: item[0]))
        with self._lock:
            if key not in self._rendered:
                self._rendered[key] = self._render(template, context)
            return self._rendered[key]

    def name(self, schema: str, table: str) -> str:
        """A table's name as this renderer writes it."""
        return str(self._table_in(schema)(table))

    def _render(self, template: str, context: dict[str, Any]) -> Statement:
        self._binds, self._names = set(), set()
        try:
            text = self._environment.get_template(f"{template}.sql.j2").render(**context)
        except jinja2.TemplateError as error:
            raise TemplateError(f"sql/{template}.sql.j2: {error}") from error
        return Statement(template, _tidy(text), frozenset(self._binds), frozenset(self._names))

    def _named(self, name: object) -> Markup:
        """Write an identifier, and note how it was spelled: an engine that folds case gives its results back folded."""
        written = _identifier(name, self.dialect)
        self._names.add(str(name))
        return written

    def _schema(self, name: str, stored: bool = False) -> Markup:
        schema = _identifier(self.places.of(name), self.dialect)
        if self.places.database is None or stored:
            return schema
        return Markup("{}.{}").format(_quoted(self.places.database), schema)

    def _foreign(self, table: str) -> Markup:
        """A table of another's, `database.schema.table` or less."""
        return Markup(".").join(_identifier(part, self.dialect) for part in str(table).split("."))

    def _table_in(self, schema: str) -> Callable[[str], Markup]:
        def qualified(table: str, stored: bool = False) -> Markup:
            """`stored`: the name goes into a view, which should outlive a renaming of the database's file."""
            return Markup("{}.{}").format(self._schema(schema, stored), _identifier(table, self.dialect))

        return qualified

    def _bind(self, name: str) -> Markup:
        """Write the place of a value and note that the statement needs it.

        The filter takes the context, so that Jinja does not fold it into the template when it compiles.
        """
        if not name.isidentifier():
            raise TemplateError(f"{name!r} is no name of a value")
        self._binds.add(name)
        return Markup(f"%({name})s" if self.dialect == "snowflake" else f"${name}")


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(SQL_FOLDER),
        autoescape=True,
        finalize=_refuse_plain,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def _tidy(text: str) -> str:
    """Drop the blank lines that block tags leave."""
    return re.sub(r"\n[ \t]*\n+", "\n", text).strip() + "\n"


@cache
def renderer(dialect: str, places: Places = Places(), tables: TableOptions = TableOptions()) -> Renderer:
    """The renderer for a dialect and a place; one a process, since it keeps what it rendered."""
    return Renderer(dialect, places, tables)


def template_names() -> list[str]:
    """Every statement in `sql/`, as `render` takes it; dialects and shared parts left out."""
    names = (path.relative_to(SQL_FOLDER).as_posix().removesuffix(".sql.j2") for path in SQL_FOLDER.rglob("*.sql.j2"))
    return sorted(name for name in names if not name.startswith("dialect/") and "/part/" not in name)
