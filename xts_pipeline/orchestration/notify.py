"""Sending a message on a route, and remembering what was told.

A route is `log`, or the environment variable that holds an apprise URL. The URL holds secrets: it is read when a
message goes out, and scrubbed from everything that is logged or raised.

What was told is kept in the cursor storage of the Dagster instance. A run-status sensor has no cursor of its own to
keep it in, and the warehouse may be locked by a load; the instance is reached from every sensor. It takes one key a
call: setting several at once loses the new ones when one of them is there already.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import dagster as dg

from xts_pipeline.errors import XtsError
from xts_pipeline.metadata.monitoring import LOG_ROUTE

ATTEMPTS = 3
FIRST_PAUSE = 0.5  # seconds; doubled at each attempt, with jitter: a tick may last a minute
OUTBOX = 100  # messages kept for a route that fails, the newest
_SPELL_URLS = ("apprise", "urllib3.connectionpool", "requests")  # loggers that would write the URL
ONE_AT_A_TIME = threading.RLock()  # the sensors of a code location are threads of one process


class RouteError(XtsError):
    """A message could not be sent; it is kept, and goes out when a sensor comes by again."""


@dataclass(frozen=True)
class Message:
    """What is sent."""

    title: str
    body: str


def send(message: Message, route: str, log: logging.Logger) -> None:
    """Send a message on a route, trying again with back-off; RouteError without the URL when it stays undelivered."""
    if route == LOG_ROUTE:
        log.warning(f"{message.title}\n{message.body}")
        return
    url = os.environ.get(route)
    if not url:
        raise RouteError(f"route {route}: the environment variable {route} holds no URL; set it to an apprise URL")
    why = ""
    for attempt in range(1, ATTEMPTS + 1):
        sent, why = _sent(message, url)
        if sent:
            return
        if attempt < ATTEMPTS:
            time.sleep(FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    raise RouteError(
        f"route {route}: the message was not taken, {ATTEMPTS} times in a row ({why}); it is kept and sent later: "
        f"{message.title}"
    )


def _sent(message: Message, url: str) -> tuple[bool, str]:
    """Whether a message went out, else why not, without the URL."""
    import apprise  # here, since it takes a fifth of a second, which every process would spend that loads definitions

    with _silenced():
        target = apprise.Apprise()
        if not target.add(url):
            return False, "apprise knows no service for this URL"
        with apprise.LogCapture(level=logging.WARNING) as captured:  # type: ignore[no-untyped-call]
            sent = target.notify(title=message.title, body=message.body, body_format=apprise.NotifyFormat.TEXT)
            why = captured.getvalue()
    return bool(sent), scrubbed(" ".join(why.split()), url) or "apprise gave no reason"


def scrubbed(text: str, url: str) -> str:
    """A text without a URL or any of its parts that could be a secret."""
    parts = {part for part in re.split(r"[:/@?&=#\s]+", url) if len(part) > 3}
    for part in sorted({url, *parts}, key=len, reverse=True):
        text = text.replace(part, "***")
    return text


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep what these libraries log of a URL out of every log."""
    loggers = [logging.getLogger(name) for name in _SPELL_URLS]
    with ONE_AT_A_TIME:
        before = [(logger, logger.propagate, logger.level) for logger in loggers]
        for logger in loggers:
            logger.propagate = False
            if logger.name != "apprise":  # which is read by its own capture
                logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            for logger, propagate, level in before:
                logger.propagate = propagate
                logger.setLevel(level)


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


def deliver(
    memory: Memory, messages: Iterable[tuple[str, Message]], log: logging.Logger, routes: Iterable[str] = ()
) -> int:
    """Send messages, each on its route, after those that wait there or on `routes`; how many went out.

    A message that fails is kept, since the sensor that found it does not come back to it. RouteError names every route
    that failed, after the others were served.
    """
    sent, failed = 0, []
    waiting = list(messages)
    with ONE_AT_A_TIME:
        for route in dict.fromkeys([*routes, *(route for route, _ in waiting)]):
            key = f"xts/outbox/{route}"
            kept = [Message(**each) for each in json.loads(memory.get(key) or "[]")]
            outbox = [*kept, *(message for to, message in waiting if to == route)]
            done = 0
            try:
                for message in outbox:
                    send(message, route, log)
                    done += 1
            except RouteError as error:
                failed.append(str(error))
            sent += done
            left = outbox[done:][-OUTBOX:]
            if left or kept:
                memory.set(key, json.dumps([asdict(message) for message in left]))
    if failed:
        raise RouteError("; ".join(failed))
    return sent
