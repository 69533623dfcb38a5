"""How much and how long, before there is a request: uvicorn with httptools reads addresses and headers without end.

A head that never ends would fill the memory, and connections that never send one would use up all descriptors. Both are
closed here, before anything of the service is called.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sottovoce.service.problem_documents import KINDS

__all__ = ["BoundedProtocol"]

LARGEST_HEAD = 64 << 10
"""Bytes of an address with its headers, as far as they come in several pieces; a piece has at most 256 KiB."""

HEAD_SECONDS = 30.0
"""How long a client may take for them."""


def _refusal() -> bytes:
    kind = KINDS["too-large"]
    document = {
        "type": f"/problems/{kind.name}",
        "title": kind.title,
        "status": 431,
        "detail": f"An address and its headers must have at most {LARGEST_HEAD} bytes.",
    }
    body = json.dumps(document).encode()
    head = (
        "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/problem+json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


_REFUSAL = _refusal()


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `uvicorn.Config(http=BoundedProtocol)` has all of them so."""

    _in_head = True
    _in_body = False
    _head = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Give a new connection some time for its first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece; refuse if the head goes on for too long."""
        super().data_received(data)
        if not self._in_head or self.transport.is_closing():
            return
        self._head += len(data)
        if self._head > LARGEST_HEAD:
            self.transport.write(_REFUSAL)
            self.transport.close()
        elif self._timer is None:
            self._wait()

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._in_head, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """End it."""
        self._in_head, self._in_body = False, True
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the body."""
        self._in_body = False
        self._stop_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Have a body that nobody wants any more come to its end as well: a request without a key is answered first."""
        super().on_response_complete()
        if self._in_body and self._timer is None:
            self._wait()

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if (self._in_head or self._in_body) and not self.transport.is_closing():
            self.transport.close()
