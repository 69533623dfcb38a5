"""Without keys, on the loopback alone: and yet every page that a browser on this machine opens can reach it.

A page of any site may send a POST to 127.0.0.1, though it cannot read the answer; and if the name of its own site is
made to lead there (DNS rebinding), it can read as well. Both give themselves away: by Origin, and by Host.
"""

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from sottovoce.service.problem_documents import Problem, problem_response

__all__ = ["LoopbackGuard"]

_OTHER_NAME = "A service that runs with --dev is called as 127.0.0.1, ::1 or localhost, and by no other name."
_OTHER_PAGE = "Pages of other origins may call if those are named when the service is started: --cors ORIGIN."


class LoopbackGuard:
    """An ASGI middleware that refuses what a page of somebody else's sends.

    Parameters
    ----------
    app
        What is called by all others.
    origins
        Of pages that may call as well.
    """

    def __init__(self, app: ASGIApp, *, origins: Collection[str] = ()) -> None:
        self._app, self._origins = app, frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application, or refuse."""
        words = self._refusal(scope) if scope["type"] == "http" else None
        if words is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(Problem("forbidden", words))(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        if not _is_here(host):
            return _OTHER_NAME
        if origin is not None and origin not in self._origins and origin != f"{scope['scheme']}://{host}":
            return _OTHER_PAGE
        return None


def _is_here(host: str) -> bool:
    """Say whether a Host header names this machine.

    Examples
    --------
    >>> [_is_here(host) for host in ("127.0.0.1:8420", "[::1]:80", "localhost", "localhost.evil.example")]
    [True, True, True, False]
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
