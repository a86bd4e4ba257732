"""Snowflake without an account: fakesnow under the real connector code, and a shim for what it cannot parse.

The shim changes how a statement is written for fakesnow, never what it does; each entry says what fakesnow lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import snowflake.connector
from fakesnow.cursor import FakeSnowflakeCursor

SHIM = [
    # DuckDB's BLOB takes no length, and fakesnow passes it on
    (re.compile(r"\bbinary\(\d+\)", re.IGNORECASE), "binary"),
    # DuckDB has no constraint that is not enforced
    (re.compile(r",\s*primary key \([^)]*\) not enforced", re.IGNORECASE), ""),
    # an empty list of options cannot be read; DuckDB takes no text of a Parquet file for NULL
    (re.compile(r", null_if = \(\)"), ""),
]


def shimmed(command: str) -> str:
    for pattern, instead in SHIM:
        command = pattern.sub(instead, command)
    return command


@contextmanager
def shim() -> Iterator[None]:
    """fakesnow with the shim, and with Snowflake's error where two writers meet."""
    execute = FakeSnowflakeCursor.execute

    def execute_shimmed(itself: FakeSnowflakeCursor, command: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return execute(itself, shimmed(command), *args, **kwargs)
        except duckdb.TransactionException as error:
            raise snowflake.connector.errors.ProgrammingError(
                msg=f"Your statement was aborted because of a lock: {error}", errno=625, sqlstate="57014"
            ) from error

    FakeSnowflakeCursor.execute = execute_shimmed  # type: ignore[method-assign]
    try:
        yield
    finally:
        FakeSnowflakeCursor.execute = execute  # type: ignore[method-assign]
