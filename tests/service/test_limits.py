"""How often and how much: buckets let through what they promise, and no body is held beyond its limit."""

import asyncio
from fractions import Fraction

import pytest
from httpx2 import ASGITransport, AsyncClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from sottovoce.service.app import create_app
from sottovoce.service.gate import Gate
from sottovoce.service.keys import KeyStore
from sottovoce.service.problem_documents import Problem
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


# -- rates --------------------------------------------------------------------------------------------------------

gaps = st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.125, 0.25, 0.5, 1.0, 4.0]), max_size=120)


@given(gaps, st.sampled_from([2.0, 4.0, 8.0, 64.0]))
def test_a_bucket_gives_what_its_tokens_allow(gaps, rate):
    """Against the textbook: tokens come back at the rate, and the bucket holds so many."""
    clock = Clock()
    gate, deep = Gate(None, rate, clock=clock), Fraction(max(2 * rate, 10))
    tokens = deep
    for gap in gaps:
        clock.now += gap
        tokens = min(deep, tokens + Fraction(gap) * Fraction(rate))
        allowed = tokens >= 1
        tokens -= allowed
        assert (gate.wait("key") == 0.0) == allowed


@given(st.floats(0.01, 50.0))
def test_whoever_waits_as_long_as_told_is_let_in(rate):
    clock = Clock()
    gate = Gate(None, rate, clock=clock)
    for _ in range(200):
        if wait := gate.wait("key"):
            break
    assert wait > 0
    clock.now += wait * (1 - 1e-3) - 2e-6
    assert gate.wait("key") > 0
    clock.now += wait * 1e-3 + 4e-6
    assert gate.wait("key") == 0


def test_full_buckets_are_forgotten():
    clock = Clock()
    gate = Gate(None, 100.0, clock=clock)
    for n in range(60_000):
        clock.now += 0.001
        assert gate.wait(f"key {n}") == 0
    assert len(gate._full) <= 10_000


@pytest.fixture
def call(sqlite_url):
    """`call("Bearer ...", role="ask")` comes to a gate: returns the name of the key, or the kind of the problem."""
    ring, clock = KeyStore(ServiceStore(sqlite_url)), Clock()
    gate = Gate(ring, 100.0, clock=clock)

    def come(*keys, role="ask", times=1):
        sent = [(b"authorization", one.encode()) for one in keys]

        async def calls():
            found = []
            for _ in range(times):
                try:
                    found.append((await gate(Request({"type": "http", "headers": sent}), (role,))).id)
                except Problem as problem:
                    found.append((problem.kind.name, *problem.headers.values()))
            return found

        return asyncio.run(calls())[-1]

    come.ring, come.clock = ring, clock
    yield come
    ring.close()


def test_there_is_one_key_however_its_scheme_is_written_and_wrong_ones_stand_in_nobodys_way(call):
    key, text = call.ring.create(["ask"])
    assert call(f"bEARER   {text} ") == key.id
    for wrong in ((), (text,), (f"Basic {text}",), (f"Bearer {text} x",), (f"Bearer {text}", f"Bearer {text}")):
        assert call(*wrong, times=25) == ("unauthorised", 'Bearer realm="sottovoce"')
    assert call(f"Bearer {text}") == key.id


def test_a_key_has_its_rate(call):
    key, text = call.ring.create(["ask"])
    assert call(f"Bearer {text}", times=200) == key.id
    assert call(f"Bearer {text}") == ("too-many", "1")
    assert call(f"Bearer {text}", role="tell")[0] == "too-many"  # what it may not do counts as well
    other, good = call.ring.create(["ask"])
    assert call(f"Bearer {good}") == other.id
    call.clock.now += 2
    assert call(f"Bearer {text}") == key.id


# -- bodies -------------------------------------------------------------------------------------------------------

MOST = 100


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """An application, and what calls it as a server would: returns the problem, and how many pieces it took."""
    url = f"sqlite:///{tmp_path_factory.mktemp('limits')}/a.db"
    app = create_app(Settings(url, dev=True, largest_body=MOST))

    async def post(pieces, headers):
        taken = []

        async def stream():
            for piece in pieces:
                taken.append(1)
                yield piece

        async with AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1") as client:
            answer = await client.post("/studies", content=stream(), headers=headers)
        return answer.json()["type"], len(taken)

    with asyncio.Runner() as runner:
        yield lambda pieces, headers: runner.run(post(pieces, headers))
        runner.run(app.state.context.close())


@given(
    st.lists(st.integers(0, 60), max_size=8),
    st.sampled_from(["", "-1", "1e1", "+5", "0x10", "1", "100", "9" * 5000]),
    st.booleans(),
)
def test_a_body_is_read_up_to_the_limit_whatever_is_said_of_its_length(limited, sizes, length, chunked):
    headers = [("content-length", length), *([("transfer-encoding", "chunked")] if chunked else [])]
    found, taken = limited([b"[" * size for size in sizes], headers)
    assert found == ("/problems/malformed" if sum(sizes) <= MOST else "/problems/too-large")
    assert sum(sizes[: taken - 1]) <= MOST  # nothing was taken after the piece that was too much


def test_a_set_that_no_memory_holds_is_refused_by_its_words(served):
    wish = {"name": "huge", "domain": "birkhoff:1000000", "horizon": 1000, "privacy": {"epsilon": 1.0}}
    answer = served.client.post("/studies", json=wish)
    assert (answer.status_code, answer.json()["detail"]) == (422, "domain must fit into memory")
