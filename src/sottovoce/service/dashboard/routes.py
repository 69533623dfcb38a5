"""The addresses of the dashboard, and what is shown there to whom. Nothing changes by GET."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sottovoce.errors import SottovoceError
from sottovoce.service.context import Context
from sottovoce.service.dashboard import logins
from sottovoce.service.dashboard.pages import ASSETS, asset, page
from sottovoce.service.dashboard.shown import rows_of, statement_of, study_of
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS, Problem, problem_for, problem_response
from sottovoce.service.redaction import note_incident
from sottovoce.service.request_log import doing

_LATE = "The page is out of date, or the form did not come from it. Load it again, and repeat what you did."
_MAY_NOT_READ = "The key may not read. Log in with one that was created with --may read, for this study or for all."
_WRONG = "This is not a key that can be used: it may be mistyped, expired or revoked."
Page = Callable[[Request], Awaitable[Response]]


def dashboard_routes(context: Context) -> APIRouter:
    """Return the routes of the dashboard, for an application.

    Parameters
    ----------
    context
        What pages are made from.
    """
    here, router = _Pages(context), APIRouter()
    pages: list[tuple[str, Page, str]] = [
        ("/", here.studies, "GET"),
        ("/login", here.login_form, "GET"),
        ("/login", here.log_in, "POST"),
        ("/logout", here.log_out, "POST"),
        ("/docs", here.docs, "GET"),
        ("/openapi.json", here.openapi, "GET"),
        ("/problems/{kind}", here.problem, "GET"),
        ("/dashboard/studies/{name:path}/statement", here.statement, "GET"),
        ("/dashboard/studies/{name:path}", here.study, "GET"),
        ("/dashboard/static/{file}", here.static, "GET"),
    ]
    for path, answer, method in pages:
        router.add_api_route(path, here.safely(answer), methods=[method], include_in_schema=False)
    return router


class NotLoggedIn(Exception):
    """Nobody is."""


class _Pages:
    """What is answered at each address.

    Parameters
    ----------
    context
        What pages are made from.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def safely(self, answer: Page) -> Page:
        """Turn what goes wrong into a page: words of the library where they name nothing that is not the reader's."""

        async def safe(request: Request) -> Response:
            try:
                return await answer(request)
            except NotLoggedIn:
                return logins.go_to(f"/login?next={quote(request.url.path, safe='')}")
            except (SottovoceError, Problem, ValueError, TypeError) as error:
                problem = problem_for(error)
                words = problem.detail or problem.kind.advice
                if problem is not error and problem.kind.status >= 500:
                    words += f" Incident {note_incident(error, doing(request.scope))} is in the log."
                return await self._said(request, problem.kind.status, problem.kind.title, words, problem.headers)

        return safe

    async def _said(self, request: Request, status: int, title: str, words: str, headers: Any = None) -> Response:
        """Return a page that says something, and nothing else."""
        said = await page(request, "message.html", {**self._about(), "title": title, "words": words}, status)
        said.headers.update(headers or {})
        return said

    def _about(self, key: Key | None = None) -> dict[str, Any]:
        """Return what a page has for whoever looks."""
        return {"dev": self._context.settings.dev, "key": key}

    async def _member(self, request: Request) -> dict[str, Any]:
        """Return what a page has for whoever has a key; in development nobody has one, and everybody may look."""
        if self._context.settings.dev:
            return self._about()
        key = await logins.key_of(request, self._context)
        if key is None:
            raise NotLoggedIn
        return self._about(key)

    async def _reader(self, request: Request, study: str | None = None) -> dict[str, Any]:
        """Return what a page has for whoever may read a study, or any; it does not depend on what there is."""
        about = await self._member(request)
        key = about["key"]
        if key is not None and not (key.has("read") if study is None else key.may("read", study)):
            raise Problem("forbidden", _MAY_NOT_READ)
        return about

    # ------------------------------------------------------------------ studies

    async def studies(self, request: Request) -> Response:
        """All studies at a glance, read from their counters: none of them is opened."""
        about = await self._reader(request)
        key, entries = about["key"], await self._context.entries()
        rows = rows_of(one for one in entries if key is None or key.may("read", one.name))
        return await page(request, "studies.html", {**about, "rows": rows})

    async def study(self, request: Request) -> Response:
        """The page of one study."""
        name = request.path_params["name"]
        about = await self._reader(request, name)
        found = await study_of(self._context, name)
        return await page(request, "study.html", {**about, **found, "address": f"/dashboard/studies/{quote(name, '')}"})

    async def statement(self, request: Request) -> Response:
        """The statement of a study, to be printed and signed."""
        name = request.path_params["name"]
        await self._reader(request, name)
        return await page(request, "statement.html", {"it": await statement_of(self._context, name)})

    # ------------------------------------------------------------------ logging in and out

    async def login_form(self, request: Request) -> Response:
        """The form to log in by."""
        if self._context.settings.dev:
            return logins.go_to("/")
        return await self._form(request, request.query_params.get("next"))

    async def _form(self, request: Request, goes_to: str | None, words: str = "", status: int = 200) -> Response:
        given = {"words": words, "next": logins.local_path(goes_to), "usable": logins.confidential(request)}
        return await page(request, "login.html", {**self._about(), **given}, status)

    async def log_in(self, request: Request) -> Response:
        """Take a key, if it is sent by our form and may be sent this way, and let the browser keep it in a cookie."""
        form, ring = await logins.form_of(request), self._context.gate.ring
        if ring is None:
            return logins.go_to("/")
        if form is None or not logins.from_here(request):
            return await self._form(request, None, _LATE, 403)
        goes_to, text = form.get("next"), form.get("key", "").strip()
        if not logins.confidential(request):
            return await self._form(request, goes_to, "", 400)
        key = await ring.check(text)
        if key is None:
            return await self._form(request, goes_to, _WRONG, 401)
        self._context.gate.counted(request, key)
        if not key.has("read"):
            return await self._form(request, goes_to, _MAY_NOT_READ, 403)
        answer = logins.go_to(logins.local_path(goes_to))
        logins.let_in(request, answer, text)
        return answer

    async def log_out(self, request: Request) -> Response:
        """Have the browser forget the key; who has a copy of it is refused once it is revoked."""
        if not logins.from_here(request):
            return await self._said(request, 403, "Nothing was changed", _LATE)
        answer = logins.go_to("/login")
        logins.forget_cookie(request, answer)
        return answer

    # ------------------------------------------------------------------ documents

    async def docs(self, request: Request) -> Response:
        """What the service can be asked, from its OpenAPI document."""
        about = await self._member(request)
        return await page(request, "docs.html", {**about, "document": request.app.openapi()})

    async def openapi(self, request: Request) -> Response:
        """The same for machines."""
        try:
            await self._member(request)
        except NotLoggedIn:
            return problem_response(Problem("unauthorised", headers={"WWW-Authenticate": 'Bearer realm="sottovoce"'}))
        return JSONResponse(request.app.openapi(), headers={"Cache-Control": "no-store"})

    async def problem(self, request: Request) -> Response:
        """What a kind of problem means, and what to do: for anybody."""
        kind = KINDS.get(request.path_params["kind"])
        if kind is None:
            raise Problem("not-found")
        return await page(request, "problem.html", {**self._about(), "kind": kind, "kinds": tuple(KINDS.values())})

    async def static(self, request: Request) -> Response:
        """The style sheet and the scripts."""
        name = request.path_params["file"]
        if name not in ASSETS:
            raise Problem("not-found")
        return await asyncio.to_thread(asset, name)
