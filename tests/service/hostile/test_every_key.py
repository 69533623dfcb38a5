"""Every route against every kind of key: those that are no good look alike, and nobody learns which studies exist."""

import asyncio
import re
from base64 import b64encode
from urllib.parse import quote

import httpx2
import pytest
from hostility import new_key, revoke, small_study

import sottovoce as sv
from sottovoce.service.app import create_app
from sottovoce.service.keys import ROLES
from sottovoce.service.settings import Settings

PUBLIC = {"/health", "/ready", "/problems/{kind}", "/dashboard/static/{file}"}
READING = (
    *("list", "status", "definition", "recommend", "plan", "posterior", "fit-check", "privacy"),
    *("statement", "outstanding", "export", "metrics", "forecast", "report"),
)
WHO = {  # which roles a route wants, of which one will do; what is not here fails the tests
    "ask": {"ask"},
    "tell": {"tell"},
    "forget": {"tell"},
    "channel": {"ask", "tell", "read"},
    **{name: {"admin"} for name in ("create", "change", "erase-people")},
    **{name: {"read"} for name in READING},
    **{f"evaluations {name}": {"admin"} for name in ("create", "open", "close", "abandon", "erase-people")},
    **{f"evaluations {name}": {"read"} for name in ("status", "results", "result", "evaluation")},
    "evaluations assign": {"ask"},
    "evaluations tell": {"tell"},
    "evaluations forget": {"tell"},
    "evaluations channel": {"ask", "tell", "read"},
}
FOR_ALL = {"create", "evaluations create", "metrics"}  # not for a key of a single study
STUDIES = ("spring", "autumn", "no such study", "a/b", "\x00", "n" * 201)


class Caller:
    """Calls the application in this process."""

    def __init__(self, url):
        self.app = create_app(Settings(storage=url))

    async def __call__(self, method, path, headers):
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url="http://x") as client:
            return await client.request(method, path, headers=headers)

    def run(self, calls):
        """Return what comes of calls, and let go of the application."""

        async def whole():
            found = await calls
            await self.app.state.context.close()
            return found

        return asyncio.run(whole())

    def places(self, dashboard):
        """Yield (route, method, path with each name) of all routes that need a key."""
        for route in self.app.routes:
            called = route.path.startswith(("/studies", "/evaluations")) or route.path == "/metrics"
            if route.path in PUBLIC or called == dashboard:
                continue
            for method in sorted(route.methods - {"HEAD"}):
                for name in STUDIES if "{name" in route.path else ("",):
                    yield route, method, re.sub(r"\{name[^}]*\}", quote(name, safe=""), route.path), name


@pytest.fixture
def call(sqlite_url, monkeypatch):
    forecast = sv.Study.forecast  # which is seconds of work
    monkeypatch.setattr(sv.Study, "forecast", lambda study, rehearse: forecast(study, rehearse=0.01))
    for name in ("spring", "autumn", "a/b"):
        sv.Study.open(sqlite_url, name=name, **small_study()).close()
    sv.PrivateEvaluations(storage=sqlite_url, name="gone", loss_range=(0.0, 1.0), privacy=sv.NoPrivacy()).close()
    return Caller(sqlite_url)


def bad_headers(url):
    """Return the headers of requests that have no good key, each in its way."""
    good = new_key(url, ["admin"])[1]
    public, revoked = new_key(url, ["admin"])
    revoke(url, public)
    late = new_key(url, ["admin"], expires=1e-6)[1]
    other = new_key(url, ["admin"])[1]
    mixed = good[:16] + other[16:]  # the id of one, the secret of another
    for text in (revoked, late, mixed, good[:-1], good + "a", good.upper(), "", "x", "sv_", good[:15], "ü", "a" * 9999):
        yield {b"Authorization": f"Bearer {text}".encode()}
    yield {}
    yield {b"Authorization": good.encode()}
    yield {b"Authorization": b"Basic " + good.encode()}
    yield {b"X-Key": good.encode()}
    yield {b"Cookie": b"sottovoce=" + good.encode()}
    yield {b"Authorization": b"Bearer \xff\xfe" + good.encode()}


def test_without_a_good_key_every_route_answers_the_same_bytes(call, sqlite_url):
    headers, names = list(bad_headers(sqlite_url)), set()

    async def all_of_them():
        seen = set()
        for route, method, path, _ in call.places(dashboard=False):
            names.add(route.name)
            for one in headers:
                answer = await call(method, path, list(one.items()))
                seen.add((answer.status_code, answer.content, tuple(sorted(answer.headers.items()))))
        return seen

    ((status, *_),) = call.run(all_of_them())
    assert status == 401
    assert names == WHO.keys()  # a new route says here who may call it


def test_a_key_does_what_it_is_for_and_learns_nothing_else(call, sqlite_url):
    """Roles against routes, by the rule written out here once more; refusals are the same whether a study exists."""
    kinds = [(role, study) for role in ROLES for study in (None, "spring", "gone")]
    keys = [(*kind, new_key(sqlite_url, [kind[0]], kind[1])[1]) for kind in kinds]

    async def all_of_them():
        for role, study, text in keys:
            refusals = {}
            for route, method, path, name in call.places(dashboard=False):
                answer = await call(method, path, {"Authorization": f"Bearer {text}"})
                has = role in WHO[route.name] or role == "admin"
                where = study is None or (study == name if name else route.name not in FOR_ALL)
                assert (answer.status_code != 403) == (has and where), (role, study, method, path, answer.text)
                assert answer.status_code not in (401, 500)
                if answer.status_code == 403:
                    refusals.setdefault(route.name, set()).add((answer.content, str(answer.headers)))
            for (content, _), *others in refusals.values():
                assert others == []
                assert b"spring" not in content

    call.run(all_of_them())


def test_the_dashboard_shows_nothing_without_a_key(call, sqlite_url):
    """Over a connection that is not encrypted not even for a good one that is sent as a password."""
    good = new_key(sqlite_url, ["admin"])[1]
    passwords = (f"x:{text}".encode() for text in ("", "x", good[:-1], good))
    headers = [{}, {b"Authorization": b"Basic \xff"}, {"Cookie": f"sottovoce={good}"}]
    headers += [{"Authorization": f"Basic {b64encode(one).decode()}"} for one in passwords]

    async def all_of_them():
        return [await call(method, path, one) for _, method, path, _ in call.places(dashboard=True) for one in headers]

    seen = call.run(all_of_them())
    assert len(seen) > 50
    assert {answer.status_code for answer in seen} == {403}
    assert not [answer for answer in seen if "Simplex" in answer.text]
