"""Workers, whole services and database servers are killed among thousands of calls: nothing that was acknowledged is
lost, no id is handed out twice, and clients recover by themselves."""

import os
import random
import signal
import time

import pytest
from crowds import Crowd, check_all
from hostility import new_key
from study_tools import SOAK, sums

import sottovoce as sv

KILLS = 6 if SOAK else 1
CALLS = 400 if SOAK else 80  # before and after each kill
STOPPED = (0, -signal.SIGTERM)  # one process hands on the signal that has stopped it, in good order


@pytest.fixture
def study(request):
    def create(url):
        sv.Study.open(url, name="study", patience=None, **sums()).close()
        return new_key(url, ["ask", "tell", "read"], "study")[1]

    return create


@pytest.mark.long
@pytest.mark.timeout(900)
def test_workers_that_are_killed_are_replaced_and_lose_nothing(study, serving, postgres_url):
    key = study(postgres_url)
    served = serving(postgres_url, workers=2)
    rng = random.Random("workers")
    with Crowd(served, key) as crowd:
        for _ in range(KILLS):
            crowd.wait_for(CALLS)
            victim = rng.choice(served.workers())
            os.kill(victim, signal.SIGKILL)
            until_replaced(served, victim)
        crowd.wait_for(CALLS)
    status = check_all(postgres_url, crowd.said())
    assert status.told > KILLS * CALLS / 4
    assert served.stop() in STOPPED


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_database_that_is_killed_and_comes_back_loses_nothing(study, serving, own_server):
    url = f"{own_server.url}/postgres"
    key = study(url)
    served = serving(url, workers=2)
    workers = set(served.workers())
    with Crowd(served, key) as crowd:
        for turn in range(max(2, KILLS)):
            crowd.wait_for(CALLS)
            own_server.stop(signal.SIGQUIT if turn % 2 else signal.SIGKILL)
            own_server.start()
        crowd.wait_for(CALLS)
    check_all(url, crowd.said())
    assert set(served.workers()) == workers  # they went on: nobody had to start them again
    assert served.stop() in STOPPED


@pytest.mark.timeout(900)
@pytest.mark.skipif(not SOAK, reason="uvicorn waits for a minute for a worker that has died while it started")
def test_workers_and_their_database_may_die_together(study, serving, own_server):
    """A worker that comes back before its database does not give up, and neither does whoever starts it."""
    url = f"{own_server.url}/postgres"
    key = study(url)
    served = serving(url, workers=2)
    with Crowd(served, key) as crowd:
        crowd.wait_for(CALLS)
        own_server.stop(signal.SIGKILL)
        before = set(served.workers())
        for victim in before:
            os.kill(victim, signal.SIGKILL)
        seen = set(before)
        for _ in range(1200):  # until a worker that found no database was replaced in its turn
            seen |= set(served.workers())
            if len(seen) > 2 * len(before):
                break
            time.sleep(0.05)
        assert len(seen) > 2 * len(before)
        own_server.start()
        crowd.wait_for(CALLS)
    check_all(url, crowd.said())
    assert served.stop() in STOPPED


@pytest.mark.timeout(900)
def test_a_service_on_sqlite_that_is_killed_and_started_again_loses_nothing(study, serving, sqlite_url):
    key = study(sqlite_url)
    served = serving(sqlite_url)
    with Crowd(served, key) as crowd:
        for _ in range(KILLS):
            crowd.wait_for(CALLS)
            served.kill()
            served.start()
        crowd.wait_for(CALLS)
    check_all(sqlite_url, crowd.said())
    assert served.stop() in STOPPED


def until_replaced(served, victim, seconds=600):
    for _ in range(seconds * 20):
        workers = served.workers()
        if victim not in workers and len(workers) == served.settings.workers:
            return
        time.sleep(0.05)
    raise AssertionError("the supervisor has not replaced a worker that was killed")
