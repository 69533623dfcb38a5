"""A service that is told to stop, in the middle of everything: whoever was answered can rely on it, and nothing that
was not answered has happened."""

import asyncio
import contextlib
import threading

import httpx2
import pytest
from hostility import new_key, small_study

import sottovoce as sv
from sampling import sampled
from sottovoce.service.study_workers.asking import AskOrder
from sottovoce.service.study_workers.worker import StudyWorker


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", sampled(["sqlite", "postgresql"], 1))
def test_what_was_answered_counts_and_what_was_not_did_not_happen(kind, request, serving):
    url = request.getfixturevalue("sqlite_url" if kind == "sqlite" else "postgres_url")
    sv.Study.open(url, name="spring", **small_study()).close()
    key = new_key(url, ["ask", "tell"])[1]
    served = serving(url, workers=1 if kind == "sqlite" else 2)
    asked, told, odd, lock = [], [], [], threading.Lock()
    enough = threading.Event()

    def use():
        with contextlib.suppress(httpx2.TransportError):  # refused, or closed before anything was read
            while True:
                with served.client(key, headers={"Connection": "close"}) as client:
                    one = answered(client.post("/studies/spring/ask"))["id"]
                    with lock:
                        asked.append(one)
                    answered(client.post("/studies/spring/tell", json={"id": one, "loss": 0.5}))
                    with lock:
                        told.append(one)
                    if len(told) > 30:
                        enough.set()

    def answered(answer):
        if answer.status_code != 200:
            odd.append(answer.text)
        return answer.json()

    running = [threading.Thread(target=use) for _ in range(6)]
    for one in running:
        one.start()
    assert enough.wait(600)
    assert served.stop() in (0, -15)
    for one in running:
        one.join(600)
        assert not one.is_alive()
    assert odd == []
    with sv.Study.open(url, name="spring") as study:
        status, waiting = study.status(), study.outstanding().ids.tolist()
    assert status.told == len(told)
    assert status.asked - status.forgotten == len(asked)  # forgotten: leased ahead, and handed out to nobody
    assert set(waiting) == set(asked) - set(told)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_it_stops_while_its_database_is_away(serving, own_server):
    """What it has in hand cannot be given back; what was acknowledged is there when the database is back."""
    url = f"{own_server.url}/postgres"
    sv.Study.open(url, name="spring", **small_study()).close()
    key = new_key(url, ["ask", "tell"])[1]
    served = serving(url)
    with served.client(key) as client:
        ids = [client.post("/studies/spring/ask").json()["id"] for _ in range(12)]
        for one in ids[:6]:
            assert client.post("/studies/spring/tell", json={"id": one, "loss": 0.5}).json()["recorded"] == 1
        own_server.stop()
        away = client.post("/studies/spring/tell", json={"id": ids[6], "loss": 0.5})
        assert (away.status_code, away.headers["Retry-After"]) == (503, "1")
        assert client.get("/ready").status_code == 503
    served.stop(30)
    own_server.start()
    with sv.Study.open(url, name="spring") as study:
        assert study.status().told == 6
        assert set(study.outstanding().ids.tolist()) >= set(ids[6:])


def test_a_call_that_arrives_in_the_turn_in_which_its_study_is_closed_is_carried_out(sqlite_url):
    given = {"horizon": 10, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0)}
    study = sv.Study.open(sqlite_url, name="spring", domain=sv.domains.Simplex(3), **given)

    async def life():
        worker = StudyWorker(study)
        asking = asyncio.create_task(worker.ask(AskOrder()))
        await asyncio.sleep(0)  # it has arrived, and the thread does not know of it
        await worker.close()
        return (await asyncio.wait_for(asking, 60)).ids

    assert len(asyncio.run(life())) == 1
