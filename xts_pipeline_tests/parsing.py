"""Rendered statements as sqlglot's trees."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

# what sqlglot's DuckDB does not read; a statement is read by DuckDB itself whenever it runs
_STORAGE = re.compile(r" using compression uncompressed\b")
BIND = re.compile(r"%\((\w+)\)s")


def parse(sql: str, dialect: str) -> list[exp.Expr]:
    """Every statement of a text, without what sqlglot cannot read of it: how DuckDB stores a column."""
    return [found for found in sqlglot.parse(_STORAGE.sub("", BIND.sub(r":\1", sql)), read=dialect) if found]
