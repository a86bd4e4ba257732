"""Whether a notice is news on a route, and what is remembered of it.

What came with a batch is told once for the batch. All else is a state: told when it begins, when something else is
wrong that was not told since, and when it ends. Two sensors see runs in any order, so that a state knows its time: what
is older than it changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Protocol

from xts_pipeline.orchestration.notices import OF_BATCHES, Notice

FAILING = "failing"  # also all that was kept of a state before kinds were
KINDS_KEPT = 500  # of one state, the newest


class Known(Protocol):
    """What was told, by key."""

    def get(self, key: str) -> str | None:
        """What was kept under a key."""


@dataclass(frozen=True)
class State:
    """What was told of a check, and as of when."""

    failing: bool = False
    kinds: tuple[str, ...] = ()  # told since it began
    at: float = 0.0

    @staticmethod
    def read(text: str | None) -> State:
        """A state as it was kept; that of an older version as good as it can be read."""
        if text is None or not text.startswith("{"):
            return State(text == FAILING)
        kept = json.loads(text)
        return State(bool(kept["failing"]), tuple(kept["kinds"]), float(kept["at"]))

    @property
    def text(self) -> str:
        """The state, to be kept."""
        return json.dumps(asdict(self))

    def told(self, notice: Notice) -> State | None:
        """The state once a notice is told; None where there is no news in it."""
        if notice.passed:
            ends = self.failing and notice.ends_state and notice.at >= self.at
            return State(False, (), notice.at) if ends else None
        if not self.failing and notice.at < self.at:
            return None
        kinds = [_short(kind) for kind in notice.kinds]
        if self.failing and set(kinds) <= set(self.kinds):
            return None
        known = self.kinds if self.failing else ()
        return State(True, tuple(dict.fromkeys((*known, *kinds)))[-KINDS_KEPT:], max(self.at, notice.at))

    def seen(self, notice: Notice) -> State | None:
        """The state after a notice without news that says it lasts; None where nothing changes."""
        lasts = self.failing and not notice.passed and notice.at > self.at
        return State(True, self.kinds, notice.at) if lasts else None


def news(known: Known, notice: Notice, route: str) -> dict[str, str]:
    """What a notice changes of what was told on a route; nothing when there is no news in it."""
    if notice.check in OF_BATCHES:
        keys = [f"xts/told/{_about(notice, route)}/{batch}" for batch in notice.batches if not notice.passed]
        return {key: notice.run_id or FAILING for key in keys if known.get(key) is None}
    told = {key: State.read(known.get(key)).told(notice) for key in _state_keys(notice, route)}
    return {key: state.text for key, state in told.items() if state is not None}


def repeated(known: Known, notice: Notice, route: str) -> dict[str, str]:
    """What is to be remembered of a notice beside its news: that what was told still lasts."""
    if notice.check in OF_BATCHES:
        return {}
    seen = {key: State.read(known.get(key)).seen(notice) for key in _state_keys(notice, route)}
    return {key: state.text for key, state in seen.items() if state is not None}


def _about(notice: Notice, route: str) -> str:
    return f"{notice.source}/{notice.check}/{notice.subject}/{route}"


def _state_keys(notice: Notice, route: str) -> list[str]:
    key = f"xts/state/{_about(notice, route)}"
    return [f"{key}/{partition}" for partition in notice.partitions] or [key]


def _short(kind: str) -> str:
    return hashlib.sha256(kind.encode()).hexdigest()[:12]
