"""Looking in: who does, and what every page has."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sottovoce.errors import SottovoceError
from sottovoce.service.context import Context
from sottovoce.service.dashboard import logins
from sottovoce.service.dashboard.pages import page
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import Problem, problem_for
from sottovoce.service.redaction import note_incident
from sottovoce.service.request_log import doing

Page = Callable[[Request], Awaitable[Response]]
MAY_NOT_READ = "The key may not read. Log in with one that was created with --may read, for this study or for all."


class ViewerPages:
    """What pages have in common.

    Parameters
    ----------
    context
        What they are made from.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    def safely(self, answer: Page) -> Page:
        """Turn what goes wrong into a page: words of the library where they name nothing that is not the reader's."""

        async def safe(request: Request) -> Response:
            try:
                return await answer(request)
            except NotLoggedIn:
                return ended() if "/parts/" in request.scope["route"].path else to_login(request)
            except (SottovoceError, Problem, ValueError, TypeError) as problem:
                found = problem_for(problem)
                words = found.detail or found.kind.advice
                if found is not problem and found.kind.status >= 500:
                    words += f" Incident {note_incident(problem, doing(request.scope))} is in the log."
                said = await self.said(found.kind.status, found.kind.title, words)
                said.headers.update(found.headers)
                return said

        return safe

    async def said(self, status: int, title: str, words: str) -> Response:
        """Return a page that says something, and nothing else."""
        return await page("message.html", {**self.nobody(), "title": title, "words": words}, status)

    def nobody(self) -> dict[str, Any]:
        """Return what a page has that is the same for everybody."""
        return {"dev": self.context.settings.dev, "key": None, "admin": False}

    # ------------------------------------------------------------------ who looks

    async def who(self, request: Request) -> Key | None:
        """Return the key of a request; None in development, where none is needed, and whoever has none is refused."""
        if self.context.settings.dev:
            return None
        key = await logins.key_of(request, self.context)
        if key is None:
            raise NotLoggedIn
        return key

    def about(self, key: Key | None) -> dict[str, Any]:
        """Return what a page has for whoever looks: a key, or anybody in development."""
        dev = self.context.settings.dev
        return {"dev": dev, "key": key, "admin": dev or bool(key and key.may("admin")), "every": self.context.refresh}

    async def reader(self, request: Request, name: str | None = None) -> Key | None:
        """Return the key of a request that may read a study, or any; what it says does not depend on what there is."""
        key = await self.who(request)
        if key is not None and not (key.has("read") if name is None else key.may("read", name)):
            raise Problem("forbidden", MAY_NOT_READ)
        return key


class NotLoggedIn(Exception):
    """Nobody is."""


def to_login(request: Request) -> Response:
    """Lead a reader to the form, and back."""
    answer = RedirectResponse(f"/login?next={quote(request.url.path, safe='')}", 303)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def ended() -> Response:
    """Say that a login is over."""
    return Response("The login has ended.", 401, {"Cache-Control": "no-store"}, "text/plain")
