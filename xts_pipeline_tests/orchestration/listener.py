"""A local HTTP listener that alerts are sent to, through apprise's `json://`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Listener:
    """What was received; `status` is what it answers, but to messages that hold `refused`."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.attempts = 0
        self.status = 200
        self.refused: str | None = None
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                listener.attempts += 1
                is_refused = listener.refused is not None and listener.refused in body["title"]
                status = 400 if is_refused else listener.status
                if status == 200:
                    listener.received.append(body)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        """Its apprise URL, with something that must not be told."""
        return f"json://user:s3cr3t-word@127.0.0.1:{self.server.server_port}/t0ken-path"


@contextmanager
def listening() -> Iterator[Listener]:
    """A listener for as long as the block lasts."""
    listener = Listener()
    thread = threading.Thread(target=listener.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        listener.server.shutdown()
        listener.server.server_close()
        thread.join()
