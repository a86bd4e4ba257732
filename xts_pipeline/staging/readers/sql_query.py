"""A SQL query on any database SQLAlchemy knows; secrets come from environment variables and never reach a message."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.engine import URL, CursorResult

from xts_pipeline.errors import DeliveryError, UnreachableError
from xts_pipeline.staging.readers.delivery import CHUNK_ROWS, Chunk, Delivery, checked_columns
from xts_pipeline.staging.readers.frame import chunk_of
from xts_pipeline.staging.readers.python_values import column_of

_NAME = "SQL query"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PORT = re.compile(r"(?<=:)\$\{[A-Za-z_][A-Za-z0-9_]*\}(?=[/?]|$)")
_SECRET_SETTING = re.compile(r"passw|pwd|secret|token|private_key|api_?key", re.IGNORECASE)
_SECRET_INSIDE = re.compile(r"(?:password|pwd)\s*=(?!\s*\$\{)", re.IGNORECASE)
_ADVICE = "write ${NAME} there and set the environment variable NAME"

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Query:
    """A query and where to run it; `secrets` maps what must not be shown to what is shown instead."""

    url: URL = field(repr=False)
    statement: sa.TextClause
    parameters: Mapping[str, object] = field(repr=False)
    secrets: Mapping[str, str] = field(repr=False)


def open_sql(url: str, query: str, parameters: Mapping[str, object], chunk_rows: int = CHUNK_ROWS) -> Delivery:
    """Open a query for streaming; `${NAME}` in the URL is taken from the environment, `:name` in the query is bound.

    The query is started once here for its column names, and once for each pass over the chunks. The Arrow type of a
    column is that of the values of each chunk, so it can differ between chunks (an all-NULL one has type null).
    Raises DeliveryError for a missing variable, a password written out in the URL, and whatever the database says,
    always without the resolved values of variables.
    """
    resolved, secrets = _resolved(url)
    job = _Query(resolved, sa.text(query), parameters, secrets)
    with ExitStack() as stack:
        names = _guarded(job, lambda: list(_started(job, stack).keys()))
    columns = checked_columns(_NAME, names)
    return Delivery(_NAME, columns, typed=True, chunks=partial(_chunks, job, columns, chunk_rows))


def _started(job: _Query, stack: ExitStack) -> CursorResult[tuple[object, ...]]:
    engine = sa.create_engine(job.url, poolclass=sa.NullPool, hide_parameters=True)
    stack.callback(engine.dispose)
    try:
        connected = engine.connect()
    except (sa.exc.OperationalError, OSError) as error:
        raise _ConnectError from error
    connection = stack.enter_context(connected).execution_options(stream_results=True)
    return connection.execute(job.statement, dict(job.parameters))


def _chunks(job: _Query, columns: tuple[str, ...], chunk_rows: int) -> Iterator[Chunk]:
    number = 1
    with ExitStack() as stack:
        partitions = _guarded(job, lambda: _started(job, stack).partitions(chunk_rows))
        while rows := _guarded(job, lambda: next(partitions, None)):
            by_column = zip(columns, zip(*rows, strict=True), strict=True)
            yield chunk_of({name: column_of(_NAME, name, values, number) for name, values in by_column}, number)
            number += len(rows)


class _ConnectError(Exception):
    """The connection could not be made; its cause says why."""


def _guarded(job: _Query, call: Callable[[], _T]) -> _T:
    """Run one call on the database; its error is raised anew, scrubbed, and without a link to the original."""
    try:
        return call()
    except Exception as error:
        unreachable = isinstance(error, _ConnectError)
        cause = error.__cause__ or error if unreachable else error
        cause = cause.orig if isinstance(cause, sa.exc.DBAPIError) and cause.orig is not None else cause
        message = f"{type(cause).__name__}: {cause}".strip()
        no_driver = isinstance(cause, ImportError | sa.exc.NoSuchModuleError)
    for secret in sorted(job.secrets, key=len, reverse=True):
        message = message.replace(secret, job.secrets[secret])
    if no_driver:
        raise DeliveryError(
            f"{_NAME}: the driver that {job.url.drivername} needs is not installed ({message}); install it in the "
            "environment of this project"
        )
    kind = UnreachableError if unreachable else DeliveryError
    raise kind(f"{_NAME}: the database refused it ({message}); check the URL and the query")


def _resolved(template: str) -> tuple[URL, dict[str, str]]:
    """Fill the variables of a URL; also every spelling of their values, mapped to the variable's name."""
    variables = {name: _variable(name) for name in _VARIABLE.findall(template)}
    secrets = {
        spelling: f"${{{name}}}"
        for name, value in variables.items()
        for spelling in (value, quote(value, safe=""), quote_plus(value), repr(value)[1:-1])
        if spelling
    }

    def fill(text: str) -> str:
        return _VARIABLE.sub(lambda match: variables[match[1]], text)

    whole = _VARIABLE.fullmatch(template.strip())
    if whole:
        url = _parsed(variables[whole[1]])
        secrets |= dict.fromkeys(_secret_parts(url), whole[0])
        return url, secrets
    url = _parsed(_PORT.sub(lambda match: fill(match[0]), template))
    _refuse_clear_secrets(url)
    filled = {
        part: fill(text)
        for part in ("drivername", "username", "password", "host", "database")
        if isinstance(text := getattr(url, part), str) and _VARIABLE.search(text)
    }
    query = {
        key: fill(value) if isinstance(value, str) else tuple(fill(each) for each in value)
        for key, value in url.query.items()
    }
    return url.set(**filled, query=query), secrets  # type: ignore[arg-type]


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise DeliveryError(f"{_NAME}: its URL needs the environment variable {name}, which is not set")
    return value


def _parsed(text: str) -> URL:
    try:
        return sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        pass
    raise DeliveryError(f"{_NAME}: the URL is not a SQLAlchemy URL (dialect://user:password@host/database)")


def _secret_parts(url: URL) -> list[str]:
    settings = [each for value in url.query.values() for each in ([value] if isinstance(value, str) else value)]
    return [part for part in (url.render_as_string(hide_password=False), url.password, *settings) if part]


def _refuse_clear_secrets(url: URL) -> None:
    if url.password and not _VARIABLE.fullmatch(url.password):
        raise DeliveryError(f"{_NAME}: the password stands in clear in the URL; {_ADVICE}")
    for key, value in url.query.items():
        for each in [value] if isinstance(value, str) else value:
            secret = _SECRET_SETTING.search(key) and not _VARIABLE.fullmatch(each)
            if secret or _SECRET_INSIDE.search(each):
                raise DeliveryError(f"{_NAME}: a secret stands in clear in the URL (setting {key!r}); {_ADVICE}")
