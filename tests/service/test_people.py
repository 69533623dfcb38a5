"""People who are counted, over HTTP: together nobody gives more losses than was promised, and no name is kept.

By whatever call they are asked for: tests/test_parity.py.
"""

import contextlib
import hashlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sottovoce.service.store import ServiceStore

SECRET = "ada@example.org"
TWICE = {"privacy": {"epsilon": 1.0, "contributions": 2}}


@pytest.fixture
def served(served):
    served.create(**TWICE)
    return served


def test_calls_that_arrive_together_never_get_more_than_was_promised(served):
    def ask(_):
        return served.client.post("/studies/spring/ask", json={"person": SECRET}).json()["wants_loss"]

    with ThreadPoolExecutor(8) as callers:
        assert sorted(callers.map(ask, range(8))) == [False] * 6 + [True] * 2


def test_nothing_that_is_kept_links_a_person_to_the_answer_of_a_repeated_ask(served, sqlite_url):
    """Answers hold ids. What tells repetitions for others apart follows from the caller's key, which is not kept."""
    served.ask(headers={"Idempotency-Key": "once"}, person=SECRET)
    served.ask(headers={"Idempotency-Key": "again"}, person=SECRET)
    with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as base:
        ((person,),) = base.execute("SELECT person FROM sottovoce_people").fetchall()
    with contextlib.closing(ServiceStore(sqlite_url)) as store:
        asks = [text for (text,) in store.read("SELECT asks FROM sottovoce_service_requests")]
    assert len({one.split()[-1] for one in asks}) == 2  # of one person
    assert not any(hashlib.sha256(person).hexdigest() in one for one in asks)
    everything = b"".join(path.read_bytes() for path in Path(sqlite_url.removeprefix("sqlite:///")).parent.iterdir())
    assert SECRET.encode() not in everything
