"""The same ask again, from many at once, over several workers, after a death: one action, the same for everybody."""

import functools
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hostility import new_key, small_study

import sottovoce as sv
from sampling import sampled
from sottovoce.service.store import ServiceStore
from sottovoce.service.study_workers import requests as record
from sottovoce.service.study_workers.requests import Request, Requests

DYING = """
import os, signal
from sottovoce.service.study_workers.requests import Requests
keep = Requests.keep_each
def dying(self, answers):
    if not os.path.exists({mark!r}):
        open({mark!r}, "w").close()
        {first}
        os.kill(os.getpid(), signal.SIGKILL)
    return keep(self, answers)
Requests.keep_each = dying
"""


def at_once(calls):
    """Make calls in threads, all at the same moment; return what they return."""
    with ThreadPoolExecutor(len(calls)) as threads:
        return [one.result() for one in [threads.submit(call) for call in calls]]


@pytest.mark.long
@pytest.mark.timeout(900)
def test_one_key_from_many_at_once_over_two_workers_is_one_action(serving, postgres_url):
    sv.Study.open(postgres_url, name="spring", **small_study()).close()
    first, second = (new_key(postgres_url, ["ask", "read"])[1] for _ in range(2))
    served = serving(postgres_url, workers=2)
    got = set()

    def ask(key, again, size):
        def call():
            with served.client(key) as client:  # a connection of its own: whichever worker takes it
                return client.post("/studies/spring/ask", json={"size": size}, headers={"Idempotency-Key": again})

        return call

    for turn in range(8):
        size = None if turn % 2 else 3
        answers = at_once([ask(first, f"ask {turn}", size)] * 8 + [ask(second, f"ask {turn}", size)] * 2)
        assert {answer.status_code for answer in answers} == {200}
        mine, others = ({answer.content for answer in part} for part in (answers[:8], answers[8:]))
        assert (len(mine), len(others)) == (1, 1)
        assert mine != others  # another client's requests are its own
        fresh = [answer for answer in answers if "Idempotent-Replayed" not in answer.headers]
        assert len(fresh) == 2
        plain = [json.loads(one) for one in (*mine, *others)]
        got |= {one["id"] for body in plain for one in body.get("actions", [body])}
        reused = ask(first, f"ask {turn}", 7)()
        assert (reused.status_code, reused.json()["type"]) == (422, "/problems/idempotency-key-reused")
    assert served.stop() == 0
    with sv.Study.open(postgres_url, name="spring") as study:
        status, waiting = study.status(), set(study.outstanding().ids.tolist())
    assert len(got) == 4 * 2 * (1 + 3)
    assert waiting == got  # what a worker asked for, and another had answered already, was closed again
    assert status.asked == len(got) + status.forgotten


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kept", sampled([False, True], 1))
def test_a_worker_that_dies_between_asking_and_answering_leaves_one_action(kept, serving, sqlite_url, shelf):
    """Before the answer is on record the repetition gets another action; from then on the same one."""
    sv.Study.open(sqlite_url, name="spring", **small_study()).close()
    key = new_key(sqlite_url, ["ask", "tell", "read"])[1]
    prelude = DYING.format(mark=str(shelf / "dead"), first="keep(self, answers)" if kept else "pass")
    served = serving(sqlite_url, prelude)
    with served.connect(key) as remote:
        found = []
        asking = threading.Thread(target=lambda: found.append(remote.ask()))
        asking.start()
        served.process.wait(600)
        served.start()
        asking.join(600)
        remote.tell(found[0].id, 0.5)
        status = remote.status()
        assert status.told == 1
        assert status.outstanding == (0 if kept else 1)
        assert os.path.exists(shelf / "dead")


def test_two_workers_that_answer_the_same_requests_in_another_order_do_not_wait_in_a_circle(postgres_url):
    """PostgreSQL ends one of those who wait for each other, and its callers would be told that the storage is away."""
    asked = [Request.of("spring", "client", str(number), "one dense") for number in range(300)]
    stores = [ServiceStore(postgres_url) for _ in range(2)]
    try:
        answers = [[(one, body) for one in asked] for body in (b"mine", b"yours")]
        answers[1].reverse()
        keep = [functools.partial(Requests(store).keep_each, made) for store, made in zip(stores, answers, strict=True)]
        beaten = at_once(keep)
        assert [sum(one is not None for one in each) for each in beaten] in ([0, 300], [300, 0])  # nobody was refused
    finally:
        for store in stores:
            store.close()


def test_an_answer_is_forgotten_after_a_day_and_not_before(url, monkeypatch):
    store = ServiceStore(url)
    now = [1e9]
    monkeypatch.setattr(record.time, "time", lambda: now[0])
    one, other = (Request.of("spring", "client", text, "one dense") for text in ("one", "other"))
    kept = Requests(store)
    assert kept.keep_each([(one, b"action")]) == [None]
    now[0] += 24 * 3600 - 1
    Requests(store).keep_each([(other, b"another")])  # which looks for what is old
    assert kept.find_each([one])[0].body == b"action"
    now[0] += 2
    Requests(store).keep_each([(other, b"another")])
    assert kept.find_each([one]) == [None]
    assert kept.keep_each([(one, b"a new one")]) == [None]
    store.close()
