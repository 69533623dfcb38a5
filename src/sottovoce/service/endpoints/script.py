"""GET /sottovoce.js: the client for pages. It needs no key: a browser loads it before it has any.

For trying things out: a page for others has the file from elsewhere, or names its hash (docs/how-to/service.md).
"""

import hashlib
from importlib.resources import files

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["script_routes"]

_KINDS = {"sottovoce.js": "text/javascript; charset=utf-8", "sottovoce.d.ts": "text/plain; charset=utf-8"}


def script_routes() -> APIRouter:
    """Return the routes by which pages load the client."""
    router = APIRouter()
    for name, kind in _KINDS.items():
        _file(router, name, kind)
    return router


def _file(router: APIRouter, name: str, kind: str) -> None:
    content = (files("sottovoce.service") / "static" / name).read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {
        "ETag": tag,
        "Cache-Control": "public, max-age=300",
        "Access-Control-Allow-Origin": "*",  # the file is public, and a module of another origin needs to be told so
        "X-Content-Type-Options": "nosniff",
    }

    @router.get(f"/{name}", name=name, include_in_schema=False)
    async def script(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)
