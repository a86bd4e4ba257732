"""What is being done right now, for whoever labels or places the statements of it: run, source, batch and step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True)
class Work:
    """A piece of work. `assisted` and `backfill` say that it may want a bigger warehouse."""

    run: str | None = None
    source: str | None = None
    batch: str | None = None
    step: str | None = None
    assisted: bool = False
    backfill: bool = False

    @property
    def tag(self) -> str:
        """The work as a query tag: JSON of what is known of it."""
        known = {of.name: getattr(self, of.name) for of in fields(self)}
        return json.dumps({"app": "xts", **{name: value for name, value in known.items() if value}})


@dataclass(frozen=True)
class QueryRun:
    """A statement that an engine ran and gave an id: its template, that id, and the rows it returned or changed."""

    statement: str
    query_id: str
    rows: int


_NOTHING = Work()
_NOW: ContextVar[Work] = ContextVar("xts_work")


def current_work() -> Work:
    """The work at hand."""
    return _NOW.get(_NOTHING)


@contextmanager
def working_on(**changes: Any) -> Iterator[Work]:
    """Say more about the work at hand, for as long as the block lasts."""
    token = _NOW.set(replace(_NOW.get(_NOTHING), **changes))
    try:
        yield _NOW.get()
    finally:
        _NOW.reset(token)
