"""Two vaults, row for row: what an engine holds must not depend on the engine."""

from __future__ import annotations

import pandas as pd

from xts_pipeline import Vault

NUMBERED = "dv_sid"  # by sequence or identity, which may leave gaps; nothing orders by it


def rows_of(vault: Vault, table: str) -> list[tuple[str, ...]]:
    """Every row of a table, hashes included, but for the numbers of the rows."""
    frame = vault.query(f"select * from {table}").rename(columns=str.lower)  # as a query's columns come from Snowflake
    frame = frame[sorted(set(frame.columns) - {NUMBERED})]
    return sorted(tuple(_plain(value) for value in row) for row in frame.itertuples(index=False))


def assert_equal(left: Vault, right: Vault, *tables: str) -> int:
    """The same columns and rows in every table; gives the rows compared."""
    compared = 0
    for table in tables:
        columns = [
            {name.lower() for name in vault.query(f"select * from {table} limit 1").columns} for vault in (left, right)
        ]
        assert columns[0] == columns[1], table
        found, expected = rows_of(left, table), rows_of(right, table)
        assert found == expected, table
        compared += len(found)
    return compared


def _plain(value: object) -> str:
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    return "NULL" if value is None or value is pd.NaT or pd.isna(value) else str(value)
