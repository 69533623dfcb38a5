"""What runs and watches a service needs: whether it is well, metrics, and the client's script for pages."""

import asyncio
import hashlib
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from sottovoce.service.endpoints import models
from sottovoce.service.endpoints._route import Endpoints, context_of
from sottovoce.service.problem_documents import Problem

operation_routes = Endpoints()
_SCRIPTS = {"sottovoce.js": "text/javascript; charset=utf-8", "sottovoce.d.ts": "text/plain; charset=utf-8"}


@operation_routes.declared("GET /health", "Whether the process is alive.", models.Health)
async def health() -> Any:
    """Say that the process answers."""
    return {"status": "ok"}


@operation_routes.declared("GET /ready", "Whether it can reach its storage.", models.Health)
async def ready(request: Request) -> Any:
    """Say whether the storage answers; whatever is in the way, the answer is the same."""
    try:
        await context_of(request).reach()
    except Exception:
        reached = False
    else:
        reached = True
    if not reached:
        raise Problem("storage-error", "The storage cannot be reached.", {"Retry-After": "1"})
    return {"status": "ok"}


@operation_routes.declared(
    "GET /metrics", "Counts and times for Prometheus.", None, "read", response_class=PlainTextResponse
)
async def metrics(request: Request) -> Response:
    """Return counts and times of requests, by route; nothing of what was sent."""
    page, kind = await asyncio.to_thread(context_of(request).metrics.page)
    return Response(page, headers={"Content-Type": kind})


def _script(name: str, kind: str) -> None:
    """Declare a file that needs no key: a browser loads it before it has any."""
    content = (files("sottovoce.service") / "static" / name).read_bytes()
    headers = {
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        "Cache-Control": "public, max-age=300",
        "Access-Control-Allow-Origin": "*",  # the file is public, and a module of another origin needs to be told so
        "X-Content-Type-Options": "nosniff",
    }

    @operation_routes.get(f"/{name}", name=name, include_in_schema=False)
    async def script(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)


for _name, _kind in _SCRIPTS.items():
    _script(_name, _kind)
