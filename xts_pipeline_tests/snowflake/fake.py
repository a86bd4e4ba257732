"""Snowflake without an account: fakesnow under the real connector code, and a shim for what it cannot parse.

The shim changes how a statement is written for fakesnow, never what it does; each entry says what fakesnow lacks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import duckdb
import fakesnow.arrow
import pyarrow as pa
import pyarrow.compute as pc
import snowflake.connector
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from fakesnow.arrow import timestamp_to_sf_struct
from fakesnow.cursor import FakeSnowflakeCursor

from xts_pipeline.warehouse.snowflake_settings import SnowflakeSettings

SHIM = [
    # grants are not parsed, and roles are not known: nothing of them is held by fakesnow
    (re.compile(r"^(\s*--[^\n]*\n)*\s*(grant|create role|use role)\b.*", re.IGNORECASE | re.DOTALL), "select 1"),
    (re.compile(r"with managed access"), ""),
    (
        re.compile(r"(--[^\n]*\n)*show grants to role.*", re.IGNORECASE),
        "select 'x' as privilege, 'x' as granted_on, 'x' as name where false",
    ),
    (re.compile(r"current_(account|warehouse|database)\(\)"), r"'\1'"),
    # DuckDB keeps temporary tables in a schema of its own
    (re.compile(r"create or replace temporary table"), "create or replace table"),
    # DuckDB's BLOB takes no length, and fakesnow passes it on
    (re.compile(r"\bbinary\(\d+\)", re.IGNORECASE), "binary"),
    # DuckDB has no constraint that is not enforced
    (re.compile(r",\s*primary key \([^)]*\) not enforced", re.IGNORECASE), ""),
    # an empty list of options cannot be read; DuckDB takes no text of a Parquet file for NULL
    (re.compile(r", null_if = \(\)"), ""),
    # sqlglot writes names that DuckDB has not
    (re.compile(r"\bmd5_number_(lower|upper)64\("), r"md5_number_\1("),
    (re.compile(r"\boctet_length\("), "strlen("),
    # sqlglot makes a TRIM of both ends of it
    (re.compile(r"\brtrim\((\"\w+\"), ' '\)"), r"regexp_replace(\1, '[ ]+$', '')"),
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

    with (
        mock.patch.object(FakeSnowflakeCursor, "execute", execute_shimmed),
        mock.patch.object(fakesnow.arrow, "timestamp_to_sf_struct", _with_nulls(timestamp_to_sf_struct)),
    ):
        yield


def _with_nulls(written: Callable[[pa.ChunkedArray], pa.StructArray]) -> Callable[[pa.ChunkedArray], pa.StructArray]:
    """fakesnow's server sends a NULL timestamp as 1970-01-01."""

    def write(moments: pa.ChunkedArray) -> pa.StructArray:
        struct = written(moments)
        mask = pc.is_null(moments)
        whole = mask.combine_chunks() if isinstance(mask, pa.ChunkedArray) else mask
        return pa.StructArray.from_arrays(struct.flatten(), fields=list(struct.type), mask=whole)

    return write


@cache
def private_key(passphrase: str | None = None) -> str:
    """A private key (PEM) that nobody else has."""
    secret = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret).decode()


def served(settings: SnowflakeSettings, server: Mapping[str, Any]) -> SnowflakeSettings:
    """The settings for fakesnow's server: logged in by key pair, as to Snowflake."""
    where = {name: server[name] for name in ("host", "port", "protocol", "network_timeout", "session_parameters")}
    return settings.model_copy(update={"connection": where})
