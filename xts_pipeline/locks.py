"""Locks: what a writer changes before anything else, so that two writers of one step or one table take turns.

On an engine that tells the writers of two rows apart, a lock is a row: that of the step in the ledger, and that of the
table in control.target_table. One that locks a table as a whole (Snowflake) would make all sources take turns there: a
lock is a table of its own, with one row, one for each source and one for each table that is written to.

Whoever takes two takes the source's first, then the table's: nobody waits in a circle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

from xts_pipeline.errors import WarehouseBusyError, WarehouseError
from xts_pipeline.metadata.declaration import MAX_NAME
from xts_pipeline.warehouse import Transaction, Warehouse

DELIVERIES = "control.delivery"  # who writes it takes its lock, as a step takes that of its table
LOCK_COLUMN = "marked_at"


def locks_are_tables(warehouse: Warehouse) -> bool:
    """Whether a lock is a table of its own, since the engine locks tables and not rows."""
    return warehouse.renderer.dialect == "snowflake"


def source_lock(source: str) -> str:
    """The name of a source's lock table."""
    return _fitting(f"lock_of_source_{source}")


def table_lock(table: str) -> str:
    """The name of the lock table of a table that is written to."""
    return _fitting(f"lock_of_table_{table}")


def locks_of(source: str, tables: Iterable[str]) -> list[str]:
    """The lock tables that the steps of a source take, its own first, each once."""
    return list(dict.fromkeys([source_lock(source), *(table_lock(table) for table in tables)]))


def lock_step(transaction: Transaction, warehouse: Warehouse, source: str, values: Mapping[str, object]) -> None:
    """Begin a step: another writer of it waits for the commit, or gets a conflict. Binds now, batch_id and step."""
    if locks_are_tables(warehouse):
        _take(transaction, warehouse, source_lock(source), values)
    else:
        transaction.run(warehouse.renderer.render("control/mark_step"), values)


def lock_batch(transaction: Transaction, warehouse: Warehouse, source: str, values: Mapping[str, object]) -> None:
    """Keep every step of a batch from being under way elsewhere. Binds now and batch_id."""
    if locks_are_tables(warehouse):
        _take(transaction, warehouse, source_lock(source), values)
    else:
        transaction.run(warehouse.renderer.render("control/mark_steps"), values)


def lock_table(transaction: Transaction, warehouse: Warehouse, table: str, values: Mapping[str, object]) -> None:
    """Begin a write to a table: its other writers wait for the commit, or get a conflict. Binds now."""
    if locks_are_tables(warehouse):
        _take(transaction, warehouse, table_lock(table), values)
    else:
        transaction.run(warehouse.renderer.render("control/mark_target"), {**values, "target_table": table})


def _fitting(name: str) -> str:
    """A name in lower case, as SQL takes names that differ in case for one; cut where no identifier is as long.

    A cut name ends in a digest of the whole one.
    """
    name = name.lower().replace(".", "_")
    if len(name) <= MAX_NAME:
        return name
    digest = sha256(name.encode()).hexdigest()[:32]
    return f"{name[: MAX_NAME - len(digest) - 1]}_{digest}"


def _take(transaction: Transaction, warehouse: Warehouse, lock: str, values: Mapping[str, object]) -> None:
    """Change a lock's row. A lock without a row would keep nobody out: it is being made at this moment."""
    try:
        transaction.run(warehouse.renderer.render("control/take_lock", lock=lock), values)
    except Exception as error:
        if not warehouse.is_missing(error):
            raise
        raise WarehouseError(
            f"{lock} is not there, without which writers could not take turns; nothing was written. Load a delivery of "
            "the source, or let the owner role run `xts init`: either makes it"
        ) from error
    if not transaction.queries[-1].rows:
        raise WarehouseBusyError(f"{lock} is being made by another load; nothing was written, run it again")
