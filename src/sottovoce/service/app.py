"""The application: endpoints, and what stands before them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from sottovoce import __version__
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
_OFTEN = ("ask", "tell")  # routes that are looked for first: each that is tried costs a hundredth of a call
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
    if settings.origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.origins, **_FOR_PAGES)
    app.add_middleware(RequestLog, metrics=context.metrics)  # the last one is the outermost
    for router in (study_routes, evaluation_routes, operation_routes, dashboard_routes(context)):
        app.router.routes.extend(router.routes)  # as they are: what is included is looked for twice
    _document(app)
    app.router.routes.sort(key=lambda route: getattr(route, "name", "") not in _OFTEN)
    return app


def _document(app: FastAPI) -> None:
    """Add what endpoints have in common to the OpenAPI document."""
    components = app.openapi().setdefault("components", {})
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "A key."}}
    components["schemas"]["Problem"] = ProblemDocument.model_json_schema()


def _answer_problems(app: FastAPI) -> None:
    """Answer every error with a problem document, which repeats nothing of the request."""

    async def answer(request: Request, error: Exception) -> Response:
        may_speak = request.scope.get("route") is not None and request.scope["route"].name not in _WITH_LOSSES
        if isinstance(error, RequestValidationError):
            problem = malformed(error.errors())
        elif isinstance(error, HTTPException):
            kind = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}.get(error.status_code, "malformed")
            problem = Problem(kind, headers=error.headers)
        else:
            problem = problem_for(error, words=may_speak)
            if problem is not error and problem.kind.status >= 500:
                problem.facts["incident"] = note_incident(error, doing(request.scope))
        return problem_response(problem)

    for kind in (Problem, SottovoceError, ValueError, TypeError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)
