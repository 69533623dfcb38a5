"""How large: a body that is too large is refused before it is in memory, whether or not it says how large it is."""

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sottovoce.service.problem_documents import Problem, problem_response

__all__ = ["BodyLimit"]

_LONGEST_LENGTH = 19  # digits of a Content-Length: more are no number of bytes

# httptools takes what follows such a head for the other protocol: an ask for a block would be one for a single action.
_SWITCHES = "A request that has a body cannot ask for another protocol: leave out Connection: Upgrade."


class BodyLimit:
    """An ASGI middleware that answers 413 to bodies beyond a limit.

    Parameters
    ----------
    app
        What is called with all others.
    most
        Bytes of a body.
    streams, where
        Content types that are exempt, and the ends of the addresses at which they are: whoever reads there holds a
        piece at a time.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        most: int,
        streams: Collection[str] = ("application/x-ndjson",),
        where: Collection[str] = ("/tell",),
    ) -> None:
        self._app, self._most = app, most
        self._streams, self._where = frozenset(one.encode() for one in streams), tuple(where)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length, counted, switches = None, False, False
        kinds: list[bytes] = []
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                counted = True
            elif name == b"connection":
                switches |= b"upgrade" in value.lower()
            elif name == b"content-type":
                kinds.append(value.partition(b";")[0].strip(b" \t").lower())
        if switches and (counted or (length or b"0").strip(b"0")):
            await problem_response(Problem("malformed", _SWITCHES))(scope, receive, send)
            return
        if len(kinds) == 1 and kinds[0] in self._streams and scope["path"].endswith(self._where):
            await self._app(scope, receive, send)
            return
        if length is not None and not counted and length.isdigit():  # the server lets no more pass than it says
            if len(length) > _LONGEST_LENGTH or int(length) > self._most:
                await self._refuse(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        else:
            await self._counting(scope, receive, send)

    async def _counting(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application with a body whose size nobody has said; answer in its stead once it is too large."""
        size, begun, refused = 0, False, False

        async def counted() -> Message:
            nonlocal size, refused
            if refused:
                return {"type": "http.disconnect"}
            message = await receive()
            size += len(message.get("body", b""))
            if size <= self._most:
                return message
            refused = True
            if not begun:
                await self._refuse(scope, receive, send)
            return {"type": "http.disconnect"}

        async def sent(message: Message) -> None:
            nonlocal begun
            if not refused:
                begun = True
                await send(message)

        try:
            await self._app(scope, counted, sent)
        except Exception:
            if not refused:  # otherwise it complains that the client has gone, and the answer is out
                raise

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        words = f"A body must have at most {self._most} bytes: send smaller blocks, or a stream of JSON lines."
        await problem_response(Problem("too-large", words))(scope, receive, send)
