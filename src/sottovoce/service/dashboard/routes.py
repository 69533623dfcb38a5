"""The addresses of the dashboard, and what is shown there to whom."""

import asyncio
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from sottovoce.report.html.pieces import Mark
from sottovoce.service.context import Context
from sottovoce.service.dashboard.auth import AuthPages
from sottovoce.service.dashboard.manual import manual
from sottovoce.service.dashboard.pages import ASSETS, asset, page, part, render
from sottovoce.service.dashboard.shown import Shown, marks_of, percent_asked, spent_words
from sottovoce.service.dashboard.viewers import NotLoggedIn, Page, ViewerPages
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS, Problem, problem_response
from sottovoce.studies import StudyEntry


def dashboard_routes(context: Context) -> list[BaseRoute]:
    """Return the routes of the dashboard, for the router of an application.

    Parameters
    ----------
    context
        What pages are made from.
    """
    auth = AuthPages(context)
    here = _Looking(context, auth)
    pages: list[tuple[str, Page, tuple[str, ...]]] = [
        ("/", here.studies, ("GET",)),
        ("/login", auth.login, ("GET", "POST")),
        ("/logout", auth.logout, ("POST",)),
        ("/docs", here.docs, ("GET",)),
        ("/openapi.json", here.openapi, ("GET",)),
        ("/problems/{kind}", here.problem, ("GET",)),
        ("/dashboard/parts/studies", here.studies_part, ("GET",)),
        ("/dashboard/keys", auth.keys, ("GET",)),
        ("/dashboard/keys/revoke", auth.revoke, ("POST",)),
        ("/dashboard/studies/{name:path}/parts/now", here.now_part, ("GET",)),
        ("/dashboard/studies/{name:path}/parts/learned", here.learned_part, ("GET",)),
        ("/dashboard/studies/{name:path}/statement", here.statement, ("GET",)),
        ("/dashboard/studies/{name:path}", here.study, ("GET",)),
        ("/dashboard/static/{file}", here.static, ("GET",)),
    ]
    return [_Named(path, here.safely(one), methods=list(ways), include_in_schema=False) for path, one, ways in pages]


class _Named(Route):
    """A route by whose template requests are logged and counted."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, found if match is Match.NONE else {**found, "route": self}


class _Looking(ViewerPages):
    """Pages of studies, and documents."""

    def __init__(self, context: Context, auth: AuthPages) -> None:
        super().__init__(context)
        self._shown, self._auth = Shown(context), auth

    # ------------------------------------------------------------------ pages

    async def studies(self, request: Request) -> Response:
        """All studies at a glance."""
        key = await self.reader(request)
        return await page("studies.html", {**self.about(key), "rows": await self._rows(key)})

    async def studies_part(self, request: Request) -> Response:
        rows = await self._rows(await self.reader(request))
        return part(request, await asyncio.to_thread(render, "studies_part.html", {"rows": rows}))

    async def _rows(self, key: Key | None) -> list[tuple[StudyEntry, float | None, str, tuple[Mark, ...]]]:
        """Return the studies that a key may read, read from their counters: none of them is opened."""
        return [
            (
                one,
                percent_asked(one.asked, one.horizon),
                spent_words(one, one.private),
                tuple(marks_of(one, one.horizon)),
            )
            for one in await self.context.entries()
            if key is None or key.may("read", one.name)
        ]

    async def study(self, request: Request) -> Response:
        """The page of one study."""
        name = request.path_params["name"]
        key = await self.reader(request, name)
        now = await self._shown.now(name)
        learned = await self._shown.learned(name, now["version"])
        about = self.about(key)
        keys = await self._auth.listed(name) if about["admin"] and not about["dev"] else None
        address = f"/dashboard/studies/{quote(name, safe='')}"
        return await page("study.html", {**about, "now": now, "learned": learned, "address": address, "keys": keys})

    async def statement(self, request: Request) -> Response:
        """The statement of a study, to be printed and signed."""
        name = request.path_params["name"]
        await self.reader(request, name)
        return await page("statement.html", {"it": await self._shown.statement(name)})

    async def now_part(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self.reader(request, name)
        return part(request, render("now.html", {"now": await self._shown.now(name)}))

    async def learned_part(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self.reader(request, name)
        now = await self._shown.now(name)
        return part(request, await self._shown.learned(name, now["version"]))

    # ------------------------------------------------------------------ documents

    async def docs(self, request: Request) -> Response:
        """What the service can be asked, from its OpenAPI document."""
        key = await self.who(request)
        base = f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"
        return await page("docs.html", {**self.about(key), "endpoints": manual(self.context.openapi(), base)})

    async def openapi(self, request: Request) -> Response:
        """The same for machines."""
        try:
            await self.who(request)
        except NotLoggedIn:
            return problem_response(Problem("unauthorised", headers={"WWW-Authenticate": 'Bearer realm="sottovoce"'}))
        return JSONResponse(self.context.openapi(), headers={"Cache-Control": "no-store"})

    async def problem(self, request: Request) -> Response:
        """What a kind of problem means, and what to do."""
        kind = KINDS.get(request.path_params["kind"])
        if kind is None:
            raise Problem("not-found")
        return await page("problem.html", {**self.nobody(), "kind": kind, "kinds": tuple(KINDS.values())})

    async def static(self, request: Request) -> Response:
        """The style sheet and the scripts."""
        name = request.path_params["file"]
        if name not in ASSETS:
            raise Problem("not-found")
        return asset(name, request.query_params.get("v"))
