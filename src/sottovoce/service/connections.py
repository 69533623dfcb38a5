"""Connections that cost no more than they may: so many, with heads of a limited size, and requests that do come.

uvicorn with httptools reads a head without end, and waits for one for ever. This is the least that stands before it.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sottovoce.service.body_limit import is_stream

__all__ = ["BoundedProtocol"]

LARGEST_HEAD = 64 << 10
"""Bytes of an address with its headers, as far as they come in several pieces; a piece has at most 256 KiB."""

SECONDS = 30.0
"""Between two looks at a connection: whoever sends no request, or too little of one, from one to the next is cut."""

LEAST_OF_A_BODY = 64 << 10
"""Bytes from one look to the next, unless the body ends before; streams of JSON lines come as they like."""

MOST_CONNECTIONS = 800
"""In one worker; more are closed at once. Processes may often have 1024 files open."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection; `uvicorn.Config(http=BoundedProtocol)` has all of them so."""

    _looking: asyncio.TimerHandle | None = None
    _in_head = True
    _head = 0  # bytes of the head that is being read
    _received = 0  # bytes in all

    def connection_made(self, transport: Any) -> None:
        """Take a connection, if there are not too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece; refuse if the head goes on for too long."""
        self._received += len(data)
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response(f"An address and its headers must have at most {LARGEST_HEAD} bytes.")

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._in_head, self._head = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """End it."""
        self._in_head = False
        super().on_headers_complete()

    def _look_again(self) -> None:
        self._looking = self.loop.call_later(SECONDS, self._look, self.cycle, self._received)

    def _look(self, before: Any, received: int) -> None:
        """Close a connection that nobody is working for: its next request does not come, or its body hardly does."""
        waits = before is None or before.response_complete  # and so does whoever was answered before the body came
        drips = not waits and before.more_body and self._received - received < LEAST_OF_A_BODY
        if self.cycle is before and (waits or (drips and not is_stream(before.scope))):
            self.transport.close()
        else:
            self._look_again()
