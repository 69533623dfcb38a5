"""A shortcut for the calls that come most often: the framework's way to their endpoints costs more than these do."""

import re
from collections.abc import Awaitable, Callable, Sequence

from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Shortcut"]

_ADDRESS = re.compile(r"/studies/(.*)/([a-z]+)", re.DOTALL)


class Shortcut:
    """An ASGI middleware, the innermost: it leads POST /studies/{name}/... straight to endpoints that it knows.

    Whatever else comes takes the usual way, and so would these: they are routes of the application as well.

    Parameters
    ----------
    app
        What is called otherwise.
    routes
        Those endpoints; each takes a request and nothing else, and returns the response.
    answer
        Turns an error of theirs into a response.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        routes: Sequence[APIRoute],
        answer: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app, self._answer = app, answer
        self._routes = {route.path.rpartition("/")[2]: route for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint, or the application."""
        plain = scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path")
        found = _ADDRESS.fullmatch(scope["path"]) if plain else None
        route = None if found is None else self._routes.get(found[2])
        if found is None or route is None:
            await self._app(scope, receive, send)
            return
        scope["route"], scope["path_params"] = route, {"name": found[1]}
        request = Request(scope, receive, send)
        try:
            response: Response = await route.endpoint(request)
        except ClientDisconnect:
            raise
        except Exception as error:
            response = await self._answer(request, error)
        await response(scope, receive, send)
