"""Who looks: a key in a cookie, which no page can read; and whether a form came from our own page.

A login and a logout are made by POST alone, and from our own origin by the browser's word (Sec-Fetch-Site, or Origin);
the cookie comes with no request of another site.
"""

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sottovoce._loopback import is_loopback
from sottovoce.service.context import Context
from sottovoce.service.keys import Key

LARGEST_FORM = 10_000
_SECONDS = 12 * 3600
_HOST, _PLAIN = "__Host-sottovoce", "sottovoce"


def _is_https(request: Request) -> bool:
    return request.url.scheme == "https"


def confidential(request: Request) -> bool:
    """Say whether a key can be sent this way: encrypted, or without leaving this machine."""
    return _is_https(request) or is_loopback(request.url.hostname)


def _name(request: Request) -> str:
    return _HOST if _is_https(request) else _PLAIN


async def key_of(request: Request, context: Context) -> Key | None:
    """Return the key that a request comes with, by cookie or in its header; None if it comes with none that lives."""
    ring = context.gate.ring
    if ring is None:
        return None
    cookie = request.cookies.get(_name(request))
    key = None if cookie is None else await ring.check(cookie)
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if key is None and scheme.lower() == "bearer":
        key = await ring.check(text.strip())
    if key is not None:
        context.gate.counted(request, key)
    return key


def let_in(request: Request, answer: Response, key: str) -> None:
    """Set the cookie of a login: no script reads it, and no other site sends it."""
    answer.set_cookie(
        _name(request), key, max_age=_SECONDS, path="/", secure=_is_https(request), httponly=True, samesite="strict"
    )


def forget_cookie(request: Request, answer: Response) -> None:
    """Take the cookie of a login away."""
    answer.delete_cookie(_name(request), path="/", secure=_is_https(request), httponly=True, samesite="strict")


def from_here(request: Request) -> bool:
    """Say whether a browser vouches for the page that a request comes from; one that says nothing is not believed."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and origin == f"{request.url.scheme}://{request.headers.get('host', '')}"


async def form_of(request: Request) -> dict[str, str] | None:
    """Return what a form holds; None if it is none of ours: too long, or of another kind."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            return None
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=10)
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items()}


def go_to(path: str) -> Response:
    """Lead a browser elsewhere; nobody remembers that it was led there."""
    return RedirectResponse(path, 303, {"Cache-Control": "no-store"})


def local_path(path: str | None) -> str:
    """Return where to go after a login: a page of the dashboard, whatever was asked for.

    Examples
    --------
    >>> local_path("/dashboard/studies/spring"), local_path("https://elsewhere.example/"), local_path("//elsewhere")
    ('/dashboard/studies/spring', '/', '/')
    """
    plain = path is not None and path.isascii() and path.isprintable() and "\\" not in path
    return path if path and plain and path.startswith(("/dashboard/", "/docs")) else "/"
