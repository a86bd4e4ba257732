"""Sending a message on a route.

A route is `log`, or the environment variable that holds an apprise URL. The URL holds secrets: it is read when a
message goes out, and scrubbed from everything that is logged or raised.
"""

from __future__ import annotations

import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xts_pipeline.errors import XtsError
from xts_pipeline.metadata.monitoring import LOG_ROUTE

ATTEMPTS = 3
FIRST_PAUSE = 0.5  # seconds; doubled at each attempt, with jitter: a tick may last a minute
_SPELL_URLS = ("apprise", "urllib3.connectionpool", "requests")  # loggers that would write the URL
ONE_AT_A_TIME = threading.RLock()  # the sensors of a code location are threads of one process


class RouteError(XtsError):
    """A message could not be sent; it is kept, and goes out when a sensor comes by again."""


@dataclass(frozen=True)
class Message:
    """What is sent."""

    title: str
    body: str
    kind: str = "info"  # apprise's: info, success, warning or failure, by which services choose a colour


def send(message: Message, route: str, log: logging.Logger, attempts: int = ATTEMPTS) -> None:
    """Send a message on a route, trying again with back-off; RouteError without the URL when it stays undelivered."""
    if route == LOG_ROUTE:
        log.warning(f"{message.title}\n{message.body}")
        return
    url = os.environ.get(route)
    if not url:
        raise RouteError(f"route {route}: the environment variable {route} holds no URL; set it to an apprise URL")
    why = ""
    for attempt in range(1, attempts + 1):
        sent, why = _sent(message, url)
        if sent:
            return
        if attempt < attempts:
            time.sleep(FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.5))
    raise RouteError(
        f"route {route}: the message was not taken, {attempts} times in a row ({why}); it is kept and sent later: "
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
            sent = target.notify(
                title=message.title,
                body=message.body,
                notify_type=apprise.NotifyType(message.kind),
                body_format=apprise.NotifyFormat.TEXT,
            )
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
