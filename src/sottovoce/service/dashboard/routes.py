"""The addresses of the dashboard, and what is shown there to whom."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from sottovoce.errors import SottovoceError
from sottovoce.service.dashboard import logins
from sottovoce.service.dashboard.context import DashboardContext
from sottovoce.service.dashboard.pages import ASSETS, asset, page, part, render
from sottovoce.service.dashboard.shown import Shown
from sottovoce.service.dashboard.views.keys import key_rows
from sottovoce.service.dashboard.views.manual import manual
from sottovoce.service.dashboard.views.overview import overview
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS, Problem, problem_for, problem_response

__all__ = ["dashboard_routes"]

Page = Callable[[Request], Awaitable[Response]]
_READ = "The key may not read. Log in with one that was created with --may read, for this study or for all."
_LATE = "The page is out of date, or the form did not come from it. Load it again, and repeat what you did."


def dashboard_routes(context: DashboardContext) -> list[BaseRoute]:
    """Return the routes of the dashboard, for the router of an application.

    Parameters
    ----------
    context
        What pages are made from.
    """
    here = _Dashboard(context)
    pages: list[tuple[str, Page, tuple[str, ...]]] = [
        ("/", here.studies, ("GET",)),
        ("/login", here.login, ("GET", "POST")),
        ("/logout", here.logout, ("POST",)),
        ("/docs", here.docs, ("GET",)),
        ("/openapi.json", here.openapi, ("GET",)),
        ("/problems/{kind}", here.problem, ("GET",)),
        ("/dashboard/parts/studies", here.studies_part, ("GET",)),
        ("/dashboard/keys", here.keys, ("GET",)),
        ("/dashboard/keys/revoke", here.revoke, ("POST",)),
        ("/dashboard/studies/{name:path}/parts/now", here.now_part, ("GET",)),
        ("/dashboard/studies/{name:path}/parts/learned", here.learned_part, ("GET",)),
        ("/dashboard/studies/{name:path}", here.study, ("GET",)),
        ("/dashboard/static/{file}", here.static, ("GET",)),
    ]
    return [Route(path, here.safely(one), methods=list(ways), include_in_schema=False) for path, one, ways in pages]


def _frame(key: Key | None, *, dev: bool = False, cookie: str | None = None) -> dict[str, Any]:
    """Return what every page has: who looks, and what must not be overlooked."""
    return {
        "dev": dev,
        "key": key,
        "admin": dev or (key is not None and key.may("admin")),
        "token": "" if cookie is None else logins.form_token(cookie),
    }


class _Dashboard:
    def __init__(self, context: DashboardContext) -> None:
        self._context = context
        self._shown = Shown(context)

    def safely(self, answer: Page) -> Page:
        """Turn what goes wrong into a page: words of the library where they name nothing that is not the reader's."""

        async def safe(request: Request) -> Response:
            try:
                return await answer(request)
            except (SottovoceError, Problem, ValueError, TypeError) as problem:
                found = problem_for(problem)
                said = await self._said(found.kind.status, found.kind.title, found.detail or found.kind.advice)
                said.headers.update(found.headers)
                return said

        return safe

    async def _said(self, status: int, title: str, words: str) -> Response:
        return await page("message.html", {**self._nobody(), "title": title, "words": words}, status)

    def _nobody(self) -> dict[str, Any]:
        """Return what a page has that is the same for everybody."""
        return _frame(None, dev=self._context.dev) | {"admin": False}

    # ------------------------------------------------------------------ who looks

    async def _who(self, request: Request) -> Key | None:
        """Return the key of a request; None in development, where none is needed, and whoever has none is refused."""
        if self._context.dev:
            return None
        key = await logins.key_of(request, self._context)
        if key is None:
            raise _NotLoggedIn
        return key

    def _about(self, request: Request, key: Key | None) -> dict[str, Any]:
        cookie = None if self._context.dev else logins.cookie_of(request)
        return {**_frame(key, dev=self._context.dev, cookie=cookie), "every": getattr(self._context, "refresh", 3.0)}

    async def _reader(self, request: Request, name: str | None = None) -> Key | None:
        key = await self._who(request)
        if key is not None and not (key.has("read") if name is None else key.may("read", name)):
            raise Problem("forbidden", _READ)
        return key

    # ------------------------------------------------------------------ pages

    async def studies(self, request: Request) -> Response:
        """All studies at a glance."""
        try:
            key = await self._reader(request)
        except _NotLoggedIn:
            return _to_login(request)
        found = overview(await self._context.entries(), key)
        return await page("studies.html", {**self._about(request, key), "it": found})

    async def studies_part(self, request: Request) -> Response:
        try:
            key = await self._reader(request)
        except _NotLoggedIn:
            return _ended()
        found = overview(await self._context.entries(), key)
        return part(request, await asyncio.to_thread(render, "studies_part.html", {"it": found}))

    async def study(self, request: Request) -> Response:
        """The page of one study."""
        name = request.path_params["name"]
        try:
            key = await self._reader(request, name)
        except _NotLoggedIn:
            return _to_login(request)
        now = await self._shown.now(name)
        learned = await self._shown.learned(name, now.version)
        about = self._about(request, key)
        keys = await self._keys(name) if about["admin"] and not about["dev"] else None
        address = f"/dashboard/studies/{quote(name, safe='')}"
        return await page("study.html", {**about, "now": now, "learned": learned, "address": address, "keys": keys})

    async def now_part(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            await self._reader(request, name)
        except _NotLoggedIn:
            return _ended()
        return part(request, render("now.html", {"now": await self._shown.now(name)}))

    async def learned_part(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            await self._reader(request, name)
        except _NotLoggedIn:
            return _ended()
        now = await self._shown.now(name)
        return part(request, await self._shown.learned(name, now.version))

    # ------------------------------------------------------------------ keys

    async def _keys(self, study: str | None = None) -> Any:
        ring = self._context.logins
        return () if ring is None else key_rows(await asyncio.to_thread(ring.list), time.time(), study)

    async def keys(self, request: Request) -> Response:
        """All keys, for whoever may administer all studies."""
        try:
            key = await self._who(request)
        except _NotLoggedIn:
            return _to_login(request)
        if key is not None and not key.may("admin"):
            raise Problem("forbidden", "Keys are shown to keys with the role admin, for all studies.")
        return await page("keys.html", {**self._about(request, key), "keys": await self._keys()})

    async def revoke(self, request: Request) -> Response:
        """Revoke a key, at once and for good."""
        cookie, form, ring = logins.cookie_of(request), await logins.form_of(request), self._context.logins
        key = await ring.session_key(cookie) if ring is not None and cookie is not None else None
        if key is None or ring is None:
            return _ended()
        self._context.counted(request, key)
        if form is None or not logins.is_own_form(request, form, cookie):
            return await self._said(403, "Nothing was changed", _LATE)
        if not key.may("admin"):
            raise Problem("forbidden", "Keys are revoked by keys with the role admin, for all studies.")
        if form.get("sure") != "yes":
            about = self._about(request, key)
            rows = [one for one in await self._keys() if one.id == form.get("id") and one.living]
            if not rows:
                return await self._said(404, "There is no such key", "It may have been revoked meanwhile.")
            back = logins.local_path(form.get("back"))
            return await page("sure.html", {**about, "one": rows[0], "own": rows[0].id == key.id, "back": back})
        try:
            await asyncio.to_thread(ring.revoke, form.get("id", ""))
        except ValueError:
            return await self._said(404, "There is no such key", "Nothing was changed.")
        return RedirectResponse(logins.local_path(form.get("back")), 303)

    # ------------------------------------------------------------------ logging in and out

    async def login(self, request: Request) -> Response:
        """The form, and what is sent with it."""
        if self._context.dev:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return await self._form(request)
        return await self._log_in(request)

    async def _form(self, request: Request, words: str = "", status: int = 200, goes_to: str | None = None) -> Response:
        secret, token = logins.new_form(request)
        path = logins.local_path(request.query_params.get("next") if goes_to is None else goes_to)
        usable = logins.confidential(request)
        content = {**self._nobody(), "token": token, "words": words, "next": path, "usable": usable}
        answer = await page("login.html", content, status)
        logins.keep_form(request, answer, secret)
        return answer

    async def _log_in(self, request: Request) -> Response:
        form = await logins.form_of(request)
        if form is None or not logins.is_own_form(request, form, logins.form_secret(request)):
            return await self._form(request, _LATE, 403)
        goes_to = logins.local_path(form.get("next"))
        if not logins.confidential(request):
            return await self._form(request, "", 400, goes_to)
        ring = self._context.logins
        key = None if ring is None else await ring.check(form.get("key", "").strip())
        if ring is None or key is None:
            self._context.refused(request)
            words = "This is not a key that can be used: it may be mistyped, expired or revoked."
            return await self._form(request, words, 401, goes_to)
        if not key.has("read"):
            return await self._form(request, _READ, 403, goes_to)
        answer = RedirectResponse(goes_to, 303)
        answer.headers["Cache-Control"] = "no-store"
        logins.let_in(request, answer, await ring.open_session(key))
        return answer

    async def logout(self, request: Request) -> Response:
        """End a login, here and for whoever has a copy of its cookie."""
        cookie, form = logins.cookie_of(request), await logins.form_of(request)
        if form is None or not logins.is_own_form(request, form, cookie):
            return await self._said(403, "Nothing was changed", _LATE)
        if self._context.logins is not None:
            await self._context.logins.close_session(cookie)
        answer = RedirectResponse("/login", 303)
        logins.forget_cookie(request, answer)
        return answer

    # ------------------------------------------------------------------ documents

    async def docs(self, request: Request) -> Response:
        """What the service can be asked, from its OpenAPI document."""
        try:
            key = await self._who(request)
        except _NotLoggedIn:
            return _to_login(request)
        base = f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"
        return await page("docs.html", {**self._about(request, key), "it": manual(self._context.openapi(), base)})

    async def openapi(self, request: Request) -> Response:
        """The same for machines."""
        try:
            await self._who(request)
        except _NotLoggedIn:
            return problem_response(Problem("unauthorised", headers={"WWW-Authenticate": 'Bearer realm="sottovoce"'}))
        return JSONResponse(self._context.openapi(), headers={"Cache-Control": "no-store"})

    async def problem(self, request: Request) -> Response:
        """What a kind of problem means, and what to do."""
        kind = KINDS.get(request.path_params["kind"])
        if kind is None:
            raise Problem("not-found")
        return await page("problem.html", {**self._nobody(), "kind": kind, "kinds": tuple(KINDS.values())})

    async def static(self, request: Request) -> Response:
        """The style sheet and the scripts."""
        name = request.path_params["file"]
        if name not in ASSETS:
            raise Problem("not-found")
        return asset(name, request.query_params.get("v"))


class _NotLoggedIn(Exception):
    """Nobody is."""


def _to_login(request: Request) -> Response:
    answer = RedirectResponse(f"/login?next={quote(request.url.path, safe='')}", 303)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _ended() -> Response:
    return Response("The login has ended.", 401, {"Cache-Control": "no-store"}, "text/plain")
