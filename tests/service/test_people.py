"""People who are counted, over HTTP: whoever asks for them, nobody gives more losses than was promised."""

import contextlib
import hashlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.service.store import ServiceStore

SECRET = "ada@example.org"
TWICE = {"privacy": {"epsilon": 1.0, "contributions": 2}}


def kind_of(answer):
    return answer.json()["type"].removeprefix("/problems/"), answer.status_code


@pytest.fixture
def served(served):
    served.create(**TWICE)
    return served


def test_a_person_is_asked_for_so_many_losses_by_whatever_call(served, sqlite_url):
    assert served.ask(person=SECRET)["wants_loss"]
    block = served.ask(people=[SECRET, "grace", SECRET])["actions"]
    assert [one["wants_loss"] for one in block] == [True, True, False]
    rest = served.ask(round=True, people=["grace", SECRET, "grace"])["actions"]
    assert [one["wants_loss"] for one in rest] == [True, False, False]
    ids = [one["id"] for one in block + rest]
    assert served.tell(ids=ids, losses=[0.5] * 6).json() == {"recorded": 3, "already": 0, "dropped": 3}
    with sv.connect(served.url, study="spring", raw_losses=True) as remote:
        assert remote.ask(person="edith").wants_loss
        assert remote.ask(person=["edith", "edith"]).wants_loss.tolist() == [True, False]
        assert not remote.ask_round(2, person=["edith", "grace", SECRET]).wants_loss.any()
        assert remote.privacy.counted
        assert remote.erase_people() == 3
    assert kind_of(served.client.post("/studies/spring/ask", json={"person": SECRET})) == ("state-refused", 409)
    everything = b"".join(path.read_bytes() for path in Path(sqlite_url.removeprefix("sqlite:///")).parent.iterdir())
    assert SECRET.encode() not in everything


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
