"""GET /metrics: for Prometheus. Counts and times of requests, by route; nothing of what was sent."""

import asyncio

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sottovoce.service.context import Context
from sottovoce.service.endpoints._documented import documented

__all__ = ["metrics_routes"]


def metrics_routes(context: Context) -> APIRouter:
    """Return the route by which the service is measured."""
    router = APIRouter()

    about = documented("Counts and times for Prometheus.", answers={"type": "string"}, media="text/plain")

    @router.get("/metrics", name="metrics", **about)
    async def metrics(request: Request) -> Response:
        await context.gate(request, "read")
        page, kind = await asyncio.to_thread(context.metrics.page)
        return Response(page, headers={"Content-Type": kind})

    return router
