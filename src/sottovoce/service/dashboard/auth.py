"""AuthPages: logging in and out, and keys. Whatever changes something does so by a form of ours."""

import asyncio
import time

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sottovoce.service.dashboard import logins
from sottovoce.service.dashboard.pages import page
from sottovoce.service.dashboard.viewers import MAY_NOT_READ, ViewerPages, ended
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import Problem

_LATE = "The page is out of date, or the form did not come from it. Load it again, and repeat what you did."


class AuthPages(ViewerPages):
    """Who comes in, and with which key."""

    # ------------------------------------------------------------------ keys

    async def listed(self, study: str | None = None) -> list[tuple[Key, str]]:
        """Return all keys, or those that reach a study, each with how it ended, if it did; those that live first."""
        ring, now = self.context.gate.ring, time.time()
        keys = [] if ring is None else await asyncio.to_thread(ring.list)
        rows = [(one, "" if one.lives(now) else "expired" if one.revoked is None else "revoked") for one in keys]
        return sorted(
            (row for row in rows if study is None or row[0].study in (None, study)), key=lambda row: row[1] != ""
        )

    async def keys(self, request: Request) -> Response:
        """All keys, for whoever may administer all studies."""
        key = await self.who(request)
        if key is not None and not key.may("admin"):
            raise Problem("forbidden", "Keys are shown to keys with the role admin, for all studies.")
        return await page("keys.html", {**self.about(key), "keys": await self.listed()})

    async def revoke(self, request: Request) -> Response:
        """Revoke a key, at once and for good."""
        form, ring = await logins.form_of(request), self.context.gate.ring
        key = await logins.key_of(request, self.context)
        if key is None or ring is None:
            return ended()
        if form is None or not logins.from_here(request):
            return await self.said(403, "Nothing was changed", _LATE)
        if not key.may("admin"):
            raise Problem("forbidden", "Keys are revoked by keys with the role admin, for all studies.")
        if form.get("sure") != "yes":
            about = self.about(key)
            found = [one for one, ended in await self.listed() if one.id == form.get("id") and not ended]
            if not found:
                return await self.said(404, "There is no such key", "It may have been revoked meanwhile.")
            return await page("sure.html", {**about, "one": found[0], "back": logins.local_path(form.get("back"))})
        try:
            await asyncio.to_thread(ring.revoke, form.get("id", ""))
        except ValueError:
            return await self.said(404, "There is no such key", "Nothing was changed.")
        return RedirectResponse(logins.local_path(form.get("back")), 303)

    # ------------------------------------------------------------------ logging in and out

    async def login(self, request: Request) -> Response:
        """The form, and what is sent with it."""
        if self.context.settings.dev:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return await self._form(request)
        return await self._log_in(request)

    async def _form(self, request: Request, words: str = "", status: int = 200, goes_to: str | None = None) -> Response:
        path = logins.local_path(request.query_params.get("next") if goes_to is None else goes_to)
        usable = logins.confidential(request)
        return await page("login.html", {**self.nobody(), "words": words, "next": path, "usable": usable}, status)

    async def _log_in(self, request: Request) -> Response:
        form = await logins.form_of(request)
        if form is None or not logins.from_here(request):
            return await self._form(request, _LATE, 403)
        goes_to = logins.local_path(form.get("next"))
        if not logins.confidential(request):
            return await self._form(request, "", 400, goes_to)
        ring, text = self.context.gate.ring, form.get("key", "").strip()
        key = None if ring is None else await ring.check(text)
        if key is None:
            words = "This is not a key that can be used: it may be mistyped, expired or revoked."
            return await self._form(request, words, 401, goes_to)
        self.context.gate.counted(request, key)
        if not key.has("read"):
            return await self._form(request, MAY_NOT_READ, 403, goes_to)
        answer = RedirectResponse(goes_to, 303)
        answer.headers["Cache-Control"] = "no-store"
        logins.let_in(request, answer, text)
        return answer

    async def logout(self, request: Request) -> Response:
        """Have the browser forget the key; who has a copy of it is refused once it is revoked."""
        if not logins.from_here(request):
            return await self.said(403, "Nothing was changed", _LATE)
        answer = RedirectResponse("/login", 303)
        logins.forget_cookie(request, answer)
        return answer
