"""What whoever runs a service looks at: whether it is well, and its metrics."""

import asyncio
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from sottovoce.service.endpoints import models
from sottovoce.service.endpoints._route import Endpoints, context_of
from sottovoce.service.problem_documents import Problem

operation_routes = Endpoints()


@operation_routes.declared("GET /health", "Whether the process is alive.", models.Health)
async def health() -> Any:
    """Say that the process answers."""
    return {"status": "ok"}


@operation_routes.declared("GET /ready", "Whether it can reach its storage.", models.Health)
async def ready(request: Request) -> Any:
    """Say whether the storage answers; whatever is in the way, the answer is the same."""
    with suppress(Exception):
        await context_of(request).entries(ready=True)
        return {"status": "ok"}
    raise Problem("storage-error", "The storage cannot be reached.", {"Retry-After": "1"})


@operation_routes.declared(
    "GET /metrics", "Counts and times for Prometheus.", None, "read", response_class=PlainTextResponse
)
async def metrics(request: Request) -> Response:
    """Return counts and times of requests, by route; nothing of what was sent."""
    page, kind = await asyncio.to_thread(context_of(request).metrics.page)
    return Response(page, headers={"Content-Type": kind})
