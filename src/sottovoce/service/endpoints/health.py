"""GET /health and /ready: for whoever watches the service. They need no key, and say nothing of what it does."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.service.context import Context
from sottovoce.service.endpoints._documented import documented
from sottovoce.service.problem_documents import Problem

__all__ = ["health_routes"]

_STATE = {"type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}}


def health_routes(context: Context) -> APIRouter:
    """Return the routes by which the service says that it is well."""
    router = APIRouter()
    alive = documented("Whether the process is alive.", answers=_STATE)
    ready = documented("Whether it can reach its storage.", answers=_STATE)
    for about in (alive, ready):
        about["openapi_extra"]["security"] = []

    @router.get("/health", name="health", **alive)
    async def health(request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    @router.get("/ready", name="ready", **ready)
    async def is_ready(request: Request) -> Response:
        try:
            await context.reach()
        except Exception:  # whatever it is, the answer is the same
            pass
        else:
            return Response(b'{"status":"ok"}', media_type="application/json")
        raise Problem("storage-error", "The storage cannot be reached.", {"Retry-After": "1"})

    return router
