"""How large: a body that is too large is refused before it is in memory, whether or not it says how large it is."""

from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sottovoce.service.problem_documents import Problem, problem_response

_STREAM = b"application/x-ndjson"
_LONGEST_LENGTH = 19  # digits of a Content-Length: more are no number of bytes

# httptools takes what follows such a head for the other protocol: an ask for a block would be one for a single action.
_SWITCHES = "A request that has a body cannot ask for another protocol: leave out Connection: Upgrade."


def is_stream(scope: Mapping[str, Any]) -> bool:
    """Return whether a request is a stream of JSON lines that are told: it is read by the line, however long it is."""
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    is_lines = len(kinds) == 1 and kinds[0].partition(b";")[0].strip().lower() == _STREAM
    return is_lines and scope["path"].startswith("/studies/") and scope["path"].endswith("/tell")


class BodyLimit:
    """An ASGI middleware that refuses bodies beyond a limit; streams are exempt.

    Parameters
    ----------
    app
        What is called with all others; it answers a `Problem` that is raised while it reads.
    most
        Bytes of a body.
    """

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length, counted, switches = b"", False, False
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                counted = True
            elif name == b"connection":
                switches |= b"upgrade" in value.lower()
        if switches and (counted or length.strip(b"0")):
            await problem_response(Problem("malformed", _SWITCHES))(scope, receive, send)
        elif is_stream(scope):
            await self._app(scope, receive, send)
        elif length.isdigit() and (len(length) > _LONGEST_LENGTH or int(length) > self._most):
            await problem_response(self._problem())(scope, receive, send)
        elif length.isdigit() and not counted:  # the server lets no more pass than it says
            await self._app(scope, receive, send)
        else:
            await self._app(scope, self._limited(receive), send)

    def _problem(self) -> Problem:
        words = f"A body must have at most {self._most} bytes: send smaller blocks, or a stream of JSON lines."
        return Problem("too-large", words)

    def _limited(self, receive: Receive) -> Receive:
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._most:
                raise self._problem()
            return message

        return counted
