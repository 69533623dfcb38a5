"""The application: endpoints, and what stands before them."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sottovoce import __version__
from sottovoce._loopback import is_loopback
from sottovoce.errors import SottovoceError
from sottovoce.service.context import Context
from sottovoce.service.dashboard import dashboard_routes
from sottovoce.service.endpoints import evaluation_routes, operation_routes, study_routes
from sottovoce.service.endpoints._parsing import malformed
from sottovoce.service.problem_documents import Problem, ProblemDocument, problem_for, problem_response
from sottovoce.service.redaction import note_incident
from sottovoce.service.request_log import RequestLog, doing
from sottovoce.service.settings import Settings
from sottovoce.studies import prepare_storage

_WITH_LOSSES = ("tell", "evaluations tell")  # routes whose errors, but for the library's own, keep silent
_FOR_PAGES: dict[str, Any] = {  # what pages of the origins that are named may do; never with cookies
    "allow_methods": ["GET", "POST"],
    "allow_headers": ["Authorization", "Content-Type", "Idempotency-Key"],
    "expose_headers": ["Idempotent-Replayed", "Retry-After"],
    "max_age": 600,
}

# Spans and logs repeat addresses, and the words of errors.
_NOT_SENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


def create_app(settings: Settings) -> FastAPI:
    """Return the service as an ASGI application.

    Parameters
    ----------
    settings
        How it runs.
    """
    prepare_storage(settings.storage)
    context = Context(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await context.close()

    app = FastAPI(
        title="sottovoce",
        summary="Private decisions over HTTP: ask, carry out, tell.",
        version=__version__,
        docs_url=None,  # a page of our own: nothing is loaded from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # a redirect repeats the address, with what somebody put there by mistake
        lifespan=lifespan,
        telemetry=_NOT_SENT,
    )
    app.state.context = context
    _answer_problems(app)
    if settings.dev:
        app.add_middleware(LoopbackGuard, origins=settings.origins)
    if settings.origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.origins, **_FOR_PAGES)
    app.add_middleware(RequestLog, metrics=context.metrics)  # the last one is the outermost
    for router in (study_routes, evaluation_routes, operation_routes, dashboard_routes(context)):
        app.router.routes.extend(router.routes)  # as they are: what is included is looked for twice
    _document(app)
    return app


def from_environment() -> FastAPI:
    """Return the service that a worker process is to run."""
    return create_app(Settings.from_environment())


def _document(app: FastAPI) -> None:
    """Add what endpoints have in common to the OpenAPI document."""
    components = app.openapi().setdefault("components", {})
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "A key."}}
    components["schemas"]["Problem"] = ProblemDocument.model_json_schema()


def _answer_problems(app: FastAPI) -> None:
    """Answer every error with a problem document, which repeats nothing of the request."""

    async def answer(request: Request, error: Exception) -> Response:
        may_speak = request.scope.get("route") is not None and request.scope["route"].name not in _WITH_LOSSES
        problem = problem_for(error, words=may_speak)
        if problem is not error and problem.kind.status >= 500:
            problem.facts["incident"] = note_incident(error, doing(request.scope))
        return problem_response(problem)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem_response(malformed(error.errors()))

    async def missing(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}.get(error.status_code, "malformed")
        return problem_response(Problem(kind, headers=error.headers))

    for kind in (Problem, SottovoceError, ValueError, TypeError):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, missing)


# ----------------------------------------------------------------------
# Without keys, on the loopback alone: and yet every page that a browser on this machine opens can reach it.
#
# A page of any site may send a POST to 127.0.0.1, though it cannot read the answer; and if the name of its own site is
# made to lead there (DNS rebinding), it can read as well. Both give themselves away: by Origin, and by Host.


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
        return is_loopback(urlsplit(f"//{host}").hostname)
    except ValueError:
        return False
