"""The gate: a good key is let in to what it is for, everything else is refused, and refusals say nothing."""

import asyncio
import json

import pytest
from fastapi import FastAPI
from httpx2 import ASGITransport, AsyncClient
from starlette.requests import Request

from sottovoce.service.gate import ANY, Gate
from sottovoce.service.keys import ROLES, KeyStore
from sottovoce.service.problem_documents import Problem, problem_response
from sottovoce.service.store import ServiceStore


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def application(gate):
    app = FastAPI()

    async def answer(_, problem):
        return problem_response(problem)

    app.add_exception_handler(Problem, answer)

    @app.get("/studies/{name:path}/{role}")
    async def one(request: Request, name: str, role: str):
        return {"id": (await gate(request, role, name)).id}

    @app.get("/all/{role}")
    async def everything(request: Request, role: str):
        return {"id": (await gate(request, role)).id}

    @app.get("/any/{role}")
    async def whichever(request: Request, role: str):
        return {"id": (await gate(request, role, ANY)).id}

    @app.get("/either")
    async def either(request: Request):
        return {"id": (await gate(request, ("ask", "tell"), "spring")).id}

    return app


class Caller:
    """Calls an application; the address and the clock can be set."""

    def __init__(self, url):
        self.clock = Clock()
        self.ring = KeyStore(ServiceStore(url))
        self.gate = Gate(self.ring, 100.0, clock=self.clock)
        self.app = application(self.gate)

    def __call__(self, path, key=None, *, headers=None, address="192.0.2.1", times=1):
        async def call():
            transport = ASGITransport(self.app, client=(address, 1))
            async with AsyncClient(transport=transport, base_url="http://x") as client:
                sent = headers if headers is not None else {} if key is None else {"Authorization": f"Bearer {key}"}
                return [await client.get(path, headers=sent) for _ in range(times)]

        answers = asyncio.run(call())
        return answers[0] if times == 1 else answers


@pytest.fixture
def call(sqlite_url):
    caller = Caller(sqlite_url)
    yield caller
    caller.ring.close()


def test_each_role_for_each_study(call):
    """All roles against all places, by the rule written out here once more."""
    for role in ROLES:
        for study in (None, "spring", "a/b ü"):
            key, text = call.ring.create([role], study)
            for wanted in ROLES:
                has = wanted == role or role == "admin"
                for path, allowed in (
                    (f"/studies/spring/{wanted}", has and study in (None, "spring")),
                    (f"/studies/a%2Fb%20%C3%BC/{wanted}", has and study in (None, "a/b ü")),
                    (f"/studies/%00/{wanted}", has and study is None),
                    (f"/all/{wanted}", has and study is None),
                    (f"/any/{wanted}", has),
                ):
                    call.clock.now += 1
                    answer = call(path, text)
                    assert answer.status_code == (200 if allowed else 403), (role, study, path)
                    assert answer.json().get("id") == (key.id if allowed else None)


def test_one_of_several_roles_will_do(call):
    for role, status in (("ask", 200), ("tell", 200), ("read", 403)):
        assert call("/either", call.ring.create([role], "spring")[1]).status_code == status


def test_wrong_and_missing_look_alike(call):
    key, text = call.ring.create(["ask"])
    revoked, gone = call.ring.create(["ask"])
    call.ring.revoke(revoked.id)
    _, late = call.ring.create(["ask"], expires=1e-9)
    odd = [None, "", "x", gone, late, text[:-1], key.id, "sv_" + "a" * 12 + "_" + "A" * 43, text + " x"]
    answers = [call("/studies/spring/ask", one, address=f"192.0.2.{n}") for n, one in enumerate(odd)]
    others = ({"Authorization": text}, {"Authorization": f"Basic {text}"}, {"Authorization": ""}, {"X-Key": text})
    answers += [call("/studies/spring/ask", headers=one, address=f"198.51.100.{n}") for n, one in enumerate(others)]
    twice = [("Authorization", f"Bearer {text}"), ("Authorization", f"Bearer {gone}")]
    answers.append(call("/studies/spring/ask", headers=twice))
    seen = {(answer.status_code, answer.content, tuple(answer.headers.items())) for answer in answers}
    assert len(seen) == 1
    status, body, headers = seen.pop()
    assert status == 401
    assert json.loads(body)["type"] == "/problems/unauthorised"
    assert dict(headers)["www-authenticate"].startswith("Bearer")
    assert call("/studies/spring/ask", headers={"authorization": f"bEARER   {text} "}).status_code == 200


def test_a_refusal_names_no_study(call):
    _, text = call.ring.create(["ask"], "spring")
    answers = {call(f"/studies/{name}/ask", text).content for name in ("autumn", "no-such-study", "%00", "%F0%9F")}
    assert len(answers) == 1
    assert b"spring" not in answers.pop()


def test_wrong_keys_are_slowed_down_and_good_ones_are_not(call):
    key, text = call.ring.create(["ask"])
    statuses = [answer.status_code for answer in call("/studies/spring/ask", "wrong", times=25)]
    assert statuses == [401] * 20 + [429] * 5
    refused = call("/studies/spring/ask")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "5"
    assert refused.json()["type"] == "/problems/too-many"
    assert call("/studies/spring/ask", text).json() == {"id": key.id}  # from the same address
    assert call("/studies/spring/ask", "wrong", address="192.0.2.2").status_code == 401
    call.clock.now += 5
    assert [answer.status_code for answer in call("/studies/spring/ask", "wrong", times=2)] == [401, 429]


def test_a_key_has_its_rate(call):
    _, text = call.ring.create(["ask"])
    _, slow = call.ring.create(["ask"], rate=0.5)
    assert [answer.status_code for answer in call("/studies/spring/ask", slow, times=12)] == [200] * 10 + [429] * 2
    assert call("/studies/spring/ask", slow).headers["retry-after"] == "2"
    assert {answer.status_code for answer in call("/studies/spring/ask", text, times=200)} == {200}
    assert call("/studies/spring/ask", text).status_code == 429
    assert call("/studies/spring/tell", text).status_code == 429  # what it may not do counts as well
    call.clock.now += 2
    assert call("/studies/spring/ask", slow).status_code == 200


def test_in_development_everybody_may_do_everything():
    key = asyncio.run(Gate(None, 100.0)(Request({"type": "http"}), "admin"))
    assert all(key.may(role) for role in ROLES)
