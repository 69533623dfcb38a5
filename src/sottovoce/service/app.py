"""The application: endpoints, and what stands before them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from sottovoce import __version__
from sottovoce.errors import SottovoceError
from sottovoce.service.access_log import AccessLog
from sottovoce.service.context import Context
from sottovoce.service.dashboard import ServicePages, dashboard_routes
from sottovoce.service.desks import Desks, Requests
from sottovoce.service.discretion import note_incident
from sottovoce.service.endpoints import (
    asking_routes,
    creating_routes,
    documented_app,
    evaluated_routes,
    evaluating_routes,
    health_routes,
    looking_routes,
    metrics_routes,
    script_routes,
    telling_routes,
)
from sottovoce.service.from_here import FromHere
from sottovoce.service.gate import gate_for
from sottovoce.service.limits import BodyLimit
from sottovoce.service.metrics import Metrics
from sottovoce.service.observing import Observed, doing
from sottovoce.service.problem_documents import Problem, problem_for, problem_response
from sottovoce.service.settings import Settings
from sottovoce.service.shortcut import Shortcut
from sottovoce.service.store import ServiceStore
from sottovoce.studies import prepare_storage

__all__ = ["create_app", "from_environment"]

_WITH_LOSSES = ("tell", "evaluations tell")  # routes whose errors, but for the library's own, keep silent
_FOR_PAGES: dict[str, Any] = {  # what pages of the origins that are named may do; never with cookies
    "allow_methods": ["GET", "POST"],
    "allow_headers": ["Authorization", "Content-Type", "Idempotency-Key"],
    "expose_headers": ["Idempotent-Replayed", "Retry-After"],
    "max_age": 600,
}


def create_app(settings: Settings) -> FastAPI:
    """Return the service as an ASGI application.

    Parameters
    ----------
    settings
        How it runs.
    """
    prepare_storage(settings.storage)
    store = ServiceStore(settings.storage)
    metrics = Metrics()
    desks = Desks(settings, Requests(store), metrics)
    context = Context(settings, store, desks, gate_for(settings, store), metrics)

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
    )
    app.state.context = context
    _answer_problems(app)
    asking, telling = asking_routes(context), telling_routes(context)
    often = [route for router in (asking, telling) for route in router.routes if isinstance(route, APIRoute)]
    app.add_middleware(Shortcut, routes=often, answer=_answer)
    app.add_middleware(BodyLimit, most=settings.largest_body)
    if settings.dev:
        app.add_middleware(FromHere, origins=settings.origins)
    if settings.origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.origins, **_FOR_PAGES)
    app.add_middleware(Observed, log=AccessLog(), metrics=metrics)  # the last one is the outermost
    others = (looking_routes, creating_routes, evaluating_routes, evaluated_routes, health_routes, metrics_routes)
    for router in (asking, telling, *(routes(context) for routes in others), script_routes()):
        app.include_router(router)
    app.openapi_schema = documented_app(app)
    app.router.routes.extend(dashboard_routes(ServicePages(context, app.openapi)))
    return app


def from_environment() -> FastAPI:
    """Return the service that a worker process is to run."""
    return create_app(Settings.from_environment())


async def _answer(request: Request, error: Exception) -> Response:
    """Return the problem document that an error is."""
    may_speak = request.scope.get("route") is not None and request.scope["route"].name not in _WITH_LOSSES
    problem = problem_for(error, words=may_speak)
    if problem is not error and problem.kind.status >= 500:
        problem.facts["incident"] = note_incident(error, doing(request.scope))
    return problem_response(problem)


def _answer_problems(app: FastAPI) -> None:
    """Answer every error with a problem document, which repeats nothing of the request."""

    async def missing(_: Request, error: Exception) -> Response:
        kinds = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}
        status = error.status_code if isinstance(error, HTTPException) else 422
        headers = error.headers if isinstance(error, HTTPException) else None
        return problem_response(Problem(kinds.get(status, "malformed"), headers=headers))

    for kind in (Problem, SottovoceError, ValueError, TypeError):
        app.add_exception_handler(kind, _answer)
    for other in (HTTPException, RequestValidationError):
        app.add_exception_handler(other, missing)
