"""Snowflake's locks, which fakesnow has not: an UPDATE, DELETE or MERGE holds its whole table until the commit."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from xts_pipeline.warehouse.snowflake import SnowflakeSession
from xts_pipeline.warehouse.work import current_work

LOCKING = re.compile(r'^\s*(?:--[^\n]*\n\s*)*(?:update|delete from|merge into) ("\w+"\."\w+")', re.IGNORECASE)
PATIENCE = 120.0  # seconds, after which a test fails rather than hangs


def locked_by(sql: str) -> str | None:
    """The table that a statement locks, as `schema.table` in lower case."""
    found = LOCKING.match(sql)
    return found[1].replace('"', "").lower() if found else None


class TableLocks:
    """Makes sessions wait for one another as they would on an account, and can stop one of them on its way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waited: list[tuple[str, str]] = []  # source, table: who had to wait for what
        self._held: dict[str, SnowflakeSession] = {}
        self._changed = threading.Condition()
        self._stop_at: Callable[[str], bool] = lambda sql: False
        self._stopped, self._go_on = threading.Event(), threading.Event()
        execute, close = SnowflakeSession.execute, SnowflakeSession.close

        def executing(itself: SnowflakeSession, sql: str, *values: Any) -> Any:
            if table := locked_by(sql):
                self._take(itself, table)
            if self._stop_at(sql):
                self._stop_at = lambda sql: False
                self._stopped.set()
                assert self._go_on.wait(PATIENCE)
            result = execute(itself, sql, *values)
            if sql == "commit":
                self._release(itself)
            return result

        def closing(itself: SnowflakeSession) -> None:
            close(itself)
            self._release(itself)

        monkeypatch.setattr(SnowflakeSession, "execute", executing)
        monkeypatch.setattr(SnowflakeSession, "close", closing)

    @contextmanager
    def stopped(self, thread: threading.Thread, source: str, statement: str) -> Iterator[None]:
        """Start a thread and stop it before it runs a statement for a source; it goes on after the block."""

        def is_it(sql: str) -> bool:
            return statement in sql and (current_work().source or "") == source

        self._stop_at = is_it
        thread.start()
        try:
            assert self._stopped.wait(PATIENCE), f"{source} never came to {statement}"
            yield
        finally:
            self._go_on.set()
            thread.join(PATIENCE)

    def await_waiter(self, source: str, table: str) -> None:
        """Wait until a source waits for a table."""
        with self._changed:
            assert self._changed.wait_for(lambda: (source, table) in self.waited, PATIENCE), self.waited

    def _take(self, session: SnowflakeSession, table: str) -> None:
        def is_free() -> bool:
            return self._held.get(table, session) is session

        with self._changed:
            if not is_free():
                self.waited.append((current_work().source or "", table))
                self._changed.notify_all()
                assert self._changed.wait_for(is_free, PATIENCE), f"nobody let go of {table}"
            self._held[table] = session

    def _release(self, session: SnowflakeSession) -> None:
        with self._changed:
            self._held = {table: holder for table, holder in self._held.items() if holder is not session}
            self._changed.notify_all()
