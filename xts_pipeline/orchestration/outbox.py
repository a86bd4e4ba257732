"""The messages that wait for a route: what was refused is tried again later, and keeps no other one waiting.

A route that takes nothing is down: all that waits for it is kept, and after a few failures a tick tries no more. A
message that a route refuses while it takes others is given up after some looks. What is given up, or finds no place, is
named in the log, and counted in a message once the route takes one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

from xts_pipeline.orchestration.memory import Memory
from xts_pipeline.orchestration.notify import ATTEMPTS, ONE_AT_A_TIME, Message, RouteError, send

OUTBOX = 100  # messages kept for a route that fails, the newest
REFUSALS = 5  # looks at which a message was refused and another one taken, after which it is given up
LOOKS = 288  # at which it was refused, whatever became of others: a day of them
FAILURES = 3  # in a row, after which a look leaves a route alone
TITLES_NAMED = 5


@dataclass(frozen=True)
class Waiting:
    """A message that waits for a route."""

    message: Message
    refused: int = 0  # at how many looks
    overtaken: int = 0  # at how many of them another message was taken

    @property
    def is_hopeless(self) -> bool:
        """Whether to give it up."""
        return self.overtaken >= REFUSALS or self.refused >= LOOKS


def deliver(
    memory: Memory, messages: Iterable[tuple[str, Message]], log: logging.Logger, routes: Iterable[str] = ()
) -> int:
    """Send messages, each on its route, after those that wait there or on `routes`; how many went out.

    A message that fails is kept, since the sensor that found it does not come back to it. RouteError names every route
    that failed, after the others were served.
    """
    sent, failed = 0, []
    new = list(messages)
    with ONE_AT_A_TIME:
        for route in dict.fromkeys([*routes, *(route for route, _ in new)]):
            kept = _read(memory, route)
            waiting = [*kept, *(Waiting(message) for to, message in new if to == route)]
            taken, left, why = _look(waiting, route, log)
            sent += taken
            left, dropped = _kept(left, route, log)
            if left or kept:
                _write(memory, route, left)
            if why:
                failed.append(f"{why[0]}{_more(len(left), dropped)}")
            _count(memory, route, dropped, taken, log)
    if failed:
        raise RouteError("; ".join(failed))
    return sent


def _look(waiting: list[Waiting], route: str, log: logging.Logger) -> tuple[int, list[Waiting], list[str]]:
    """Try what waits, those that were refused least first; how many went out, what is left in its order, and why."""
    refused: set[int] = set()
    taken: set[int] = set()
    why: list[str] = []
    in_a_row = 0
    for index in sorted(range(len(waiting)), key=lambda index: waiting[index].refused):
        if in_a_row == FAILURES:
            break
        try:
            send(waiting[index].message, route, log, 1 if why else ATTEMPTS)
        except RouteError as error:
            refused.add(index)
            why.append(str(error))
            in_a_row += 1
        else:
            taken.add(index)
            in_a_row = 0
    left = [
        replace(each, refused=each.refused + 1, overtaken=each.overtaken + bool(taken)) if index in refused else each
        for index, each in enumerate(waiting)
        if index not in taken
    ]
    return len(taken), left, why


def _kept(left: list[Waiting], route: str, log: logging.Logger) -> tuple[list[Waiting], int]:
    """What goes on waiting, and how many were dropped, which the log names."""
    hopeful = [each for each in left if not each.is_hopeless]
    hopeless = [each for each in left if each.is_hopeless]
    if hopeless:
        log.error(f"route {route}: given up, since it was refused time and again: {_named(hopeless)}")
    if crowded := hopeful[:-OUTBOX]:
        log.error(f"route {route}: dropped {len(crowded)}, since no more than {OUTBOX} wait: {_named(crowded)}")
    return hopeful[-OUTBOX:], len(hopeless) + len(crowded)


def _named(dropped: list[Waiting]) -> str:
    titles = [each.message.title for each in dropped]
    more = len(titles) - TITLES_NAMED
    return "; ".join(titles[:TITLES_NAMED]) + (f" and {more} more" if more > 0 else "")


def _more(waiting: int, dropped: int) -> str:
    return f" ({waiting} waiting{f', {dropped} dropped' if dropped else ''})"


def _count(memory: Memory, route: str, dropped: int, taken: int, log: logging.Logger) -> None:
    """Remember how many messages were dropped, and say so on the route once it takes one."""
    key = f"xts/dropped/{route}"
    before = int(memory.get(key) or 0)
    total = before + dropped
    if total and taken:
        body = "The log of the sensors names them. See the checks and runs in Dagster for what they were about."
        try:
            send(Message(f"[dropped] {total} messages of this route were lost", body, "failure"), route, log, 1)
            total = 0
        except RouteError as error:
            log.warning(str(error))
    if total != before:
        memory.set(key, str(total))


def _read(memory: Memory, route: str) -> list[Waiting]:
    kept = json.loads(memory.get(f"xts/outbox/{route}") or "[]")
    return [
        Waiting(
            Message(each["title"], each["body"], each.get("kind", "info")),
            each.get("refused", 0),
            each.get("overtaken", 0),
        )
        for each in kept
    ]


def _write(memory: Memory, route: str, waiting: list[Waiting]) -> None:
    kept = [{**vars(each.message), "refused": each.refused, "overtaken": each.overtaken} for each in waiting]
    memory.set(f"xts/outbox/{route}", json.dumps(kept))
