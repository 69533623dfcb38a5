"""The addresses of the dashboard, and what is shown there to whom. Pages are read, and change nothing."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sottovoce._loopback import is_loopback
from sottovoce.errors import SottovoceError
from sottovoce.report import statement
from sottovoce.service.context import Context
from sottovoce.service.dashboard.pages import ASSETS, asset, page
from sottovoce.service.dashboard.shown import rows_of, study_of
from sottovoce.service.gate import bearer
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import KINDS, Problem, problem_for
from sottovoce.service.redaction import note_incident
from sottovoce.service.request_log import doing

_CHALLENGE = {"WWW-Authenticate": 'Basic realm="sottovoce: any name, and a key as the password", charset="UTF-8"'}
_NO_KEY = "Load the page again, and give the browser a key that may read as the password; the name may be any."
_MAY_NOT_READ = "The key may not read. Use one that was created with `--may read`, for this study or for all."
_IN_THE_CLEAR = (
    "This connection is not encrypted: a key that is sent over it can be read on the way. Use https. Behind a proxy "
    "that does that, start the service with the proxy's address (`--trust-proxy`), so that it knows."
)
Page = Callable[[Request], Awaitable[Response]]


def dashboard_routes(context: Context) -> APIRouter:
    """Return the routes of the dashboard, for an application.

    Parameters
    ----------
    context
        What pages are made from.
    """
    here, router = _Pages(context), APIRouter()
    pages: dict[str, Page] = {
        "/": here.studies,
        "/docs": here.docs,
        "/openapi.json": here.openapi,
        "/problems/{kind}": here.problem,
        "/dashboard/studies/{name:path}/statement": here.statement,
        "/dashboard/studies/{name:path}": here.study,
        "/dashboard/static/{file}": here.static,
    }
    for path, answer in pages.items():
        router.add_api_route(path, here.safely(answer), include_in_schema=False)
    return router


class _Pages:
    """What is answered at each address.

    Parameters
    ----------
    context
        What pages are made from.
    """

    def __init__(self, context: Context) -> None:
        self._context, self._dev = context, context.settings.dev

    def safely(self, answer: Page) -> Page:
        """Turn what goes wrong into a page: words of the library where they name nothing that is not the reader's."""

        async def safe(request: Request) -> Response:
            try:
                return await answer(request)
            except (SottovoceError, Problem, ValueError, TypeError) as error:
                problem = problem_for(error)
                words = problem.detail or problem.kind.advice
                if problem is not error and problem.kind.status >= 500:
                    words += f" Incident {note_incident(error, doing(request.scope))} is in the log."
                about = {"dev": self._dev, "title": problem.kind.title, "words": words}
                said = await page(request, "message.html", about, problem.kind.status)
                said.headers.update(problem.headers)
                return said

        return safe

    async def _reader(self, request: Request, study: str | None = None, role: str | None = "read") -> Key:
        """Return the key of whoever may read a study, or any; what a refusal says does not depend on what there is."""
        key = await self._context.gate.key(_key_of(request))
        if key is None and _is_confidential(request):
            is_script = request.headers.get("sec-fetch-dest") == "empty"  # which shall not have the browser ask
            raise Problem("unauthorised", _NO_KEY, {} if is_script else _CHALLENGE)
        if key is None:
            raise Problem("forbidden", _IN_THE_CLEAR)
        self._context.gate.counted(request, key)
        if role is not None and not (key.has(role) if study is None else key.may(role, study)):
            raise Problem("forbidden", _MAY_NOT_READ)
        return key

    async def studies(self, request: Request) -> Response:
        """All studies at a glance, read from their counters: none of them is opened."""
        key = await self._reader(request)
        rows = rows_of(one for one in await self._context.entries() if key.may("read", one.name))
        return await page(request, "studies.html", {"dev": self._dev, "rows": rows})

    async def study(self, request: Request) -> Response:
        """The page of one study."""
        name = request.path_params["name"]
        await self._reader(request, name)
        about = {"dev": self._dev, "address": f"/dashboard/studies/{quote(name, '')}"}
        return await page(request, "study.html", {**about, **await study_of(self._context, name)})

    async def statement(self, request: Request) -> Response:
        """The statement of a study, to be printed and signed."""
        name = request.path_params["name"]
        await self._reader(request, name)
        return await page(request, "statement.html", {"it": await self._context.look(name, statement)})

    async def docs(self, request: Request) -> Response:
        """What the service can be asked, from its OpenAPI document."""
        await self._reader(request, role=None)
        return await page(request, "docs.html", {"dev": self._dev, "document": request.app.openapi()})

    async def openapi(self, request: Request) -> Response:
        """The same for machines."""
        await self._reader(request, role=None)
        return JSONResponse(request.app.openapi(), headers={"Cache-Control": "no-store"})

    async def problem(self, request: Request) -> Response:
        """What a kind of problem means, and what to do: for anybody."""
        kind = KINDS.get(request.path_params["kind"])
        if kind is None:
            raise Problem("not-found")
        about = {"dev": self._dev, "kind": kind, "kinds": tuple(KINDS.values())}
        return await page(request, "problem.html", about)

    async def static(self, request: Request) -> Response:
        """The style sheet and the scripts."""
        name = request.path_params["file"]
        if name not in ASSETS:
            raise Problem("not-found")
        return await asyncio.to_thread(asset, name)


def _is_confidential(request: Request) -> bool:
    """Say whether a key can be sent this way: encrypted, or without leaving this machine."""
    return request.url.scheme == "https" or is_loopback(request.url.hostname)


def _key_of(request: Request) -> str | None:
    """Return the key that a request comes with: as the password that the browser was told, or like that of a call.

    A password is for pages alone: a page of another site could make a browser call with it, if it were not.
    """
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic" and _is_confidential(request):
        with suppress(ValueError):
            return base64.b64decode(text, validate=True).decode("ascii").partition(":")[2]
    return bearer(request.scope)
