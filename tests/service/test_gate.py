"""The gate: how often a key is let in; hostile/test_every_key.py has who is let in to what."""

import asyncio

import pytest
from starlette.requests import Request

from sottovoce.service.gate import Gate
from sottovoce.service.keys import ROLES, KeyStore
from sottovoce.service.problem_documents import Problem
from sottovoce.service.store import ServiceStore


class Caller:
    """Comes to a gate from an address; the clock can be set."""

    def __init__(self, url):
        self.now, self.ring = 0.0, KeyStore(ServiceStore(url))
        self.gate = Gate(self.ring, 100.0, clock=lambda: self.now)

    def __call__(self, *keys, role=("ask",), address="192.0.2.1", times=1):
        """Return what comes of so many calls: the name of the key, or the kind of problem with how long to wait."""
        sent = [(b"authorization", one.encode()) for one in keys]

        async def call():
            try:
                return (await self.gate(Request({"type": "http", "headers": sent, "client": (address, 1)}), role)).id
            except Problem as problem:
                return (problem.kind.name, *problem.headers.values())

        async def calls():
            return [await call() for _ in range(times)]

        found = asyncio.run(calls())
        return found[0] if times == 1 else found

    def refused(self, found):
        return found[0] == "unauthorised" and found[1].startswith("Bearer")


@pytest.fixture
def call(sqlite_url):
    caller = Caller(sqlite_url)
    yield caller
    caller.ring.close()


def test_there_is_one_key_however_its_scheme_is_written(call):
    key, text = call.ring.create(["ask"])
    assert call(f"bEARER   {text} ") == key.id
    for wrong in ((), (text,), (f"Basic {text}",), (f"Bearer {text} x",), (f"Bearer {text}", f"Bearer {text}")):
        assert call.refused(call(*wrong))


def test_wrong_keys_stand_in_nobodys_way(call):
    key, text = call.ring.create(["ask"])
    assert all(map(call.refused, call("Bearer wrong", times=25)))
    assert call(f"Bearer {text}") == key.id


def test_a_key_has_its_rate(call):
    key, text = call.ring.create(["ask"])
    assert set(call(f"Bearer {text}", times=200)) == {key.id}
    assert call(f"Bearer {text}") == ("too-many", "1")
    assert call(f"Bearer {text}", role=("tell",))[0] == "too-many"  # what it may not do counts as well
    other, good = call.ring.create(["ask"])
    assert call(f"Bearer {good}") == other.id
    call.now += 2
    assert call(f"Bearer {text}") == key.id


def test_in_development_everybody_may_do_everything():
    key = asyncio.run(Gate(None, 100.0)(Request({"type": "http"}), ("admin",)))
    assert all(key.may(role) for role in ROLES)
