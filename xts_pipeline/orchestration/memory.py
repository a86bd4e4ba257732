"""What was told, and what waits to be sent: kept in the cursor storage of the Dagster instance.

A run-status sensor has no cursor of its own to keep it in, and the warehouse may be locked by a load; the instance is
reached from every sensor. It takes one key a call: setting several at once loses the new ones when one of them is there
already.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import dagster as dg


@dataclass(frozen=True)
class Memory:
    """What was told, by key; kept by a Dagster instance."""

    instance: dg.DagsterInstance

    def get(self, key: str) -> str | None:
        """What was kept under a key."""
        return self.instance.daemon_cursor_storage.get_cursor_values({key}).get(key)

    def set(self, key: str, value: str) -> None:
        """Keep a value under a key."""
        self.instance.daemon_cursor_storage.set_cursor_values({key: value})


@dataclass(frozen=True)
class Draft:
    """What was told, with what is about to be."""

    memory: Memory
    changes: dict[str, str] = field(default_factory=dict)

    def get(self, key: str) -> str | None:
        """What is, or will be kept under a key."""
        return self.changes.get(key) or self.memory.get(key)
