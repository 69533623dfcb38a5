"""Every route against every kind of key: those that are no good look alike, and nobody learns which studies exist."""

import asyncio
import re
import threading
from urllib.parse import quote

import httpx2
import pytest
from hostility import new_key, revoke, small_study

import sottovoce as sv
from sottovoce.service.app import create_app
from sottovoce.service.keys import ROLES
from sottovoce.service.settings import Settings

PUBLIC = {"/health", "/ready", "/login", "/problems/{kind}", "/dashboard/static/{file}"}
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


def flat(routes):
    """Yield the routes of an application, those of routers that it includes as well."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from flat(inner.routes)
        else:
            yield route


class Caller:
    """Calls the application in this process, each time from another address: nobody is slowed down."""

    def __init__(self, url):
        self.app = create_app(Settings(storage=url))
        self._count = 0

    async def __call__(self, method, path, headers):
        self._count += 1
        address = f"10.{self._count >> 16 & 255}.{self._count >> 8 & 255}.{self._count & 255}"
        transport = httpx2.ASGITransport(self.app, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.request(method, path, headers=headers)

    def places(self, dashboard):
        """Yield (route, method, path with each name) of all routes that need a key."""
        for route in flat(self.app.routes):
            called = route.path.startswith(("/studies", "/evaluations")) or route.path == "/metrics"
            if route.path in PUBLIC or called == dashboard:
                continue
            for method in sorted(route.methods - {"HEAD"}):
                for name in STUDIES if "{name" in route.path else ("",):
                    yield route, method, re.sub(r"\{name[^}]*\}", quote(name, safe=""), route.path), name


@pytest.fixture
def call(sqlite_url, monkeypatch):
    making = sv.Study._forecaster  # which is seconds of work
    monkeypatch.setattr(sv.Study, "_forecaster", lambda study, times: making(study, 0.01))
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
    headers, seen, names = list(bad_headers(sqlite_url)), set(), set()

    async def all_of_them():
        for route, method, path, _ in call.places(dashboard=False):
            names.add(route.name)
            for one in headers:
                answer = await call(method, path, list(one.items()))
                seen.add((answer.status_code, answer.content, tuple(sorted(answer.headers.items()))))
        await call.app.state.context.close()

    asyncio.run(all_of_them())
    assert names == WHO.keys()  # a new route says here who may call it
    assert len(seen) == 1
    assert seen.pop()[0] == 401


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
            assert all(len(seen) == 1 for seen in refusals.values())
            for seen in refusals.values():
                assert b"spring" not in seen.copy().pop()[0]
        await call.app.state.context.close()

    asyncio.run(all_of_them())


def test_the_dashboard_shows_nothing_without_a_login(call, sqlite_url):
    good = new_key(sqlite_url, ["admin"])[1]
    cookies = ("", "x", "sottovoce=x", f"sottovoce={good[:-1]}", f"sottovoce_session={good}", "a" * 5000)

    async def all_of_them():
        count = 0
        for _, method, path, name in call.places(dashboard=True):
            for cookie in cookies:
                answer = await call(method, path, {"Cookie": cookie} if cookie else {})
                count += 1
                assert answer.status_code in (302, 303, 401, 403, 404), (method, path, answer.status_code)
                if answer.status_code in (302, 303):
                    assert answer.headers["location"].startswith("/login")
                elif answer.status_code == 404:
                    assert name in ("\x00", "n" * 201)
                assert "Simplex" not in answer.text
        await call.app.state.context.close()
        return count

    assert asyncio.run(all_of_them()) > 50


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_key_that_is_revoked_is_refused_at_once_by_all_workers(serving, postgres_url):
    """Whichever worker answers, from the moment on at which `revoke` has returned; until then all do."""
    sv.Study.open(postgres_url, name="spring", **small_study()).close()
    served = serving(postgres_url, workers=2)
    for _ in range(2):
        public, text = new_key(postgres_url, ["read"], "spring")
        gone, after, before = threading.Event(), [], []

        def call_often(text=text, gone=gone, after=after, before=before):
            while len(after) < 10:
                over = gone.is_set()
                with served.client(text) as client:  # a connection of its own: whichever worker takes it
                    status = client.get("/studies/spring/status").status_code
                (after if over else before).append(status)

        threads = [threading.Thread(target=call_often) for _ in range(3)]
        for one in threads:
            one.start()
        while len(before) < 5:
            threads[0].join(0.001)
        revoke(postgres_url, public)
        gone.set()
        for one in threads:
            one.join()
        assert set(after) <= {401, 429}  # 429: wrong keys, too many of them
        assert set(before) <= {200, 401, 429}
        assert before[0] == 200
