"""Pages: templates, and headers that keep them safe."""

import asyncio
import base64
import hashlib
import shlex
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from sottovoce import __version__
from sottovoce.report.html.page import script, style, templates

ASSETS = ("dashboard.css", "dashboard.js", "shared.js")
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@cache
def _environment() -> Environment:
    found = templates(PackageLoader("sottovoce.service.dashboard"))
    found.globals.update(version=__version__, asset_tag=lambda name: _tag(_asset(name)))
    found.filters.update(quoted=shlex.quote, ticked=_ticked)
    return found


def _ticked(words: str) -> Markup:
    """Set what stands between backticks as code; everything is escaped."""
    pieces = enumerate(words.split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(one) if i % 2 else escape(one) for i, one in pieces)


def render(template: str, content: Mapping[str, Any]) -> str:
    """Fill a template; all that is put into it is escaped."""
    return _environment().get_template(template).render(**content)


async def page(request: Request, template: str, content: Mapping[str, Any], status: int = 200) -> Response:
    """Return a page that nobody keeps a copy of, that loads nothing from elsewhere, and that nobody can frame.

    A page of the reports has its style within: that one is allowed, by its hash, and no script is. A reader whose page
    has the same tag is told so. It is filled in a thread: a long list must not hold up those who ask and tell.
    """
    body, policy = await asyncio.to_thread(render, template, content), _POLICY
    if own := body.partition("<style>")[2].partition("</style>")[0]:
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        policy = policy.replace("style-src 'self'", f"style-src 'sha256-{digest}'").replace(
            "script-src 'self'", "script-src 'none'"
        )
    tag = f'"{_tag(body.encode())}"'
    headers = {**_SAFE, "Content-Security-Policy": policy, "Cache-Control": "no-store", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, "text/html; charset=utf-8")


@cache
def _asset(name: str) -> bytes:
    if name == "shared.js":
        return script().encode()
    own = files("sottovoce.service.dashboard").joinpath("static", name).read_text("utf-8")
    return (style() + own if name.endswith(".css") else own).encode()


def _tag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def asset(name: str) -> Response:
    """Return a style sheet or a script; pages address it with a tag of its content, so browsers may keep it."""
    headers = {**_SAFE, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_asset(name), 200, headers, _TYPES[name.rsplit(".", 1)[1]])
