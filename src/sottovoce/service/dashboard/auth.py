"""AuthPages: logging in and out, and keys. Whatever changes something does so by a form of ours."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sottovoce.service.dashboard import logins
from sottovoce.service.dashboard.pages import page
from sottovoce.service.dashboard.sessions import MAY_NOT_READ, SessionPages, ended
from sottovoce.service.keys import Key
from sottovoce.service.problem_documents import Problem

_LATE = "The page is out of date, or the form did not come from it. Load it again, and repeat what you did."


class AuthPages(SessionPages):
    """Who comes in, and with which key."""

    # ------------------------------------------------------------------ keys

    async def listed(self, study: str | None = None) -> Any:
        """Return all keys, or those that reach a study."""
        ring = self.context.logins
        return () if ring is None else key_rows(await asyncio.to_thread(ring.list), time.time(), study)

    async def keys(self, request: Request) -> Response:
        """All keys, for whoever may administer all studies."""
        key = await self.who(request)
        if key is not None and not key.may("admin"):
            raise Problem("forbidden", "Keys are shown to keys with the role admin, for all studies.")
        return await page("keys.html", {**self.about(request, key), "keys": await self.listed()})

    async def revoke(self, request: Request) -> Response:
        """Revoke a key, at once and for good."""
        cookie, form, ring = logins.cookie_of(request), await logins.form_of(request), self.context.logins
        key = await ring.session_key(cookie) if ring is not None and cookie is not None else None
        if key is None or ring is None:
            return ended()
        self.context.counted(request, key)
        if form is None or not logins.is_own_form(request, form, cookie):
            return await self.said(403, "Nothing was changed", _LATE)
        if not key.may("admin"):
            raise Problem("forbidden", "Keys are revoked by keys with the role admin, for all studies.")
        if form.get("sure") != "yes":
            about = self.about(request, key)
            rows = [one for one in await self.listed() if one.id == form.get("id") and one.living]
            if not rows:
                return await self.said(404, "There is no such key", "It may have been revoked meanwhile.")
            back = logins.local_path(form.get("back"))
            return await page("sure.html", {**about, "one": rows[0], "own": rows[0].id == key.id, "back": back})
        try:
            await asyncio.to_thread(ring.revoke, form.get("id", ""))
        except ValueError:
            return await self.said(404, "There is no such key", "Nothing was changed.")
        return RedirectResponse(logins.local_path(form.get("back")), 303)

    # ------------------------------------------------------------------ logging in and out

    async def login(self, request: Request) -> Response:
        """The form, and what is sent with it."""
        if self.context.dev:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return await self._form(request)
        return await self._log_in(request)

    async def _form(self, request: Request, words: str = "", status: int = 200, goes_to: str | None = None) -> Response:
        secret, token = logins.new_form(request)
        path = logins.local_path(request.query_params.get("next") if goes_to is None else goes_to)
        usable = logins.confidential(request)
        content = {**self.nobody(), "token": token, "words": words, "next": path, "usable": usable}
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
        ring = self.context.logins
        key = None if ring is None else await ring.check(form.get("key", "").strip())
        if ring is None or key is None:
            self.context.refused(request)
            words = "This is not a key that can be used: it may be mistyped, expired or revoked."
            return await self._form(request, words, 401, goes_to)
        self.context.counted(request, key)
        if not key.has("read"):
            return await self._form(request, MAY_NOT_READ, 403, goes_to)
        answer = RedirectResponse(goes_to, 303)
        answer.headers["Cache-Control"] = "no-store"
        logins.let_in(request, answer, await ring.open_session(key))
        return answer

    async def logout(self, request: Request) -> Response:
        """End a login, here and for whoever has a copy of its cookie."""
        cookie, form = logins.cookie_of(request), await logins.form_of(request)
        if form is None or not logins.is_own_form(request, form, cookie):
            return await self.said(403, "Nothing was changed", _LATE)
        if self.context.logins is not None:
            await self.context.logins.close_session(cookie)
        answer = RedirectResponse("/login", 303)
        logins.forget_cookie(request, answer)
        return answer


# ----------------------------------------------------------------------
# Keys, for whoever may see them: what they may do and until when, never a secret.


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key in the list; `living` ones can be revoked."""

    id: str
    roles: str
    study: str
    expires: str
    note: str
    state: str
    living: bool


def key_rows(keys: Iterable[Key], now: float, study: str | None = None) -> tuple[KeyRow, ...]:
    """Return the keys, those that live first; of a study, those that reach it."""
    rows = [_row(one, now) for one in keys if study is None or one.study in (None, study)]
    return tuple(sorted(rows, key=lambda one: not one.living))


def _row(key: Key, now: float) -> KeyRow:
    living = key.lives(now)
    ended = "expired" if key.revoked is None else f"revoked {_day(key.revoked)}"
    return KeyRow(
        id=key.id,
        roles=", ".join(sorted(key.roles)),
        study="all studies" if key.study is None else key.study,
        expires="never" if key.expires is None else _day(key.expires),
        note=key.note,
        state="living" if living else ended,
        living=living,
    )


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"
