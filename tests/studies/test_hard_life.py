"""What befalls processes besides being killed: servers that end what stands still, crashes, clocks that jump.

Forks, rollbacks and files that vanish have tests of their own.

After each of these every loss that was acknowledged is on record, none is there twice, released sums are exact and
never change, and what was released is erased; or else the study has said, before it acknowledged anything more, that it
cannot promise this.
"""

import contextlib
import random
import signal
import time

import psycopg
import pytest
from killing import warm_up, work_on
from players import Account
from study_tools import SOAK, Look, ask_and_tell, losses_of, place, set_clock, sums

import sottovoce as sv
from children import Child
from sottovoce.errors import StorageError, StudyBehind

pytestmark = pytest.mark.timeout(1800 if SOAK else 900)


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    warm_up(tmp_path_factory.mktemp("warm"), sums())


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Patience with those who hold an SQLite file is short; children inherit this."""
    monkeypatch.setattr("sottovoce.rounds.stores.sql.database.BUSY_SECONDS", 0.3)


def persistent(call, tries=40):
    for _ in range(tries):
        with contextlib.suppress(StorageError):
            return call()
    return call()


# ---------------------------------------------------------------------- stops


def test_who_computes_within_a_transaction_says_that_it_is_alive(postgres_url, opened, monkeypatch):
    monkeypatch.setattr("sottovoce.rounds.stores.sql.postgresql.BEAT_SECONDS", 0.05)
    study = opened(postgres_url, **sums())

    base = study._store._base

    def compute():
        mine, seen = base._raw.info.backend_pid, set()
        with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as other:
            query = "SELECT state_change FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: seen.add(other.execute(query, (mine,)).fetchone()) or len(seen) > 3)

    base.transaction(compute)
    assert len(study.ask(3)) == 3


def standing_still(study, url, *, beats, then, times):
    """Return work that stands still within a transaction, so often, until the server has ended it."""
    base, left = study._store._base, [times]

    def work():
        raw = base._raw
        base.run("UPDATE sottovoce_books SET clock = clock + 1")
        if not left[0]:
            return "done"
        left[0] -= 1
        base.run("SET idle_in_transaction_session_timeout = 100")
        if then == "a batch":  # ends with what the server waits behind, too
            base.batch([("SELECT 1", ()), ("SELECT 2", ())])
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as other:
            query = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
            wait_until(lambda: other.execute(query, (raw.info.backend_pid,)).fetchone() is None)
        if beats:
            wait_until(lambda: base._pulse.failure is not None)
        return base.run("SELECT 1") if then != "a commit" else None

    return work


@pytest.mark.parametrize("then", ["a statement", "a commit", "a batch"])
@pytest.mark.parametrize("beats", [False, True])
def test_a_server_ends_a_transaction_that_stands_still_and_nothing_of_it_is_on_record(
    beats, then, postgres_url, opened, monkeypatch
):
    """Whoever meets the end first: a beat that meets it takes the server's reason with it, and hands it on."""
    monkeypatch.setattr("sottovoce.rounds.stores.sql.postgresql.BEAT_SECONDS", 1.0 if beats else 600.0)
    opened(postgres_url, **sums()).close()
    still = opened(postgres_url)
    with pytest.raises(StorageError, match=r"stood still within a transaction, .*nothing was changed") as refused:
        still._store._base.transaction(standing_still(still, postgres_url, beats=beats, then=then, times=10))
    assert refused.value.__cause__ is None
    assert still.status().asked == 0
    assert still.verify().ok


def test_a_transaction_that_ends_before_its_commit_is_carried_out_again(postgres_url, opened, monkeypatch):
    monkeypatch.setattr("sottovoce.rounds.stores.sql.postgresql.BEAT_SECONDS", 600.0)
    study = opened(postgres_url, **sums())
    work = standing_still(study, postgres_url, beats=False, then="a statement", times=2)
    assert study._store._base.transaction(work) == "done"


def wait_until(condition, seconds=600.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


# ---------------------------------------------------------------------- rollbacks


def test_a_server_that_crashes_keeps_what_was_acknowledged_and_one_put_back_is_noticed(own_server, opened):
    """Its folder is copied while it is stopped; later the old copy is put in its place."""
    url = f"{own_server.url}/postgres"
    study = opened(url, repeat="ignore", **sums())
    acknowledged, rounds = [], range(2 if SOAK else 1)
    for _ in rounds:
        for how in (signal.SIGINT, signal.SIGQUIT):
            ids = ask_and_tell(study, 17, told=9).tolist()
            acknowledged += ids[:9]
            own_server.stop(how)
            with pytest.raises(StorageError):
                study.ask()
            own_server.start()
            assert Look(url).has(acknowledged)
            study.tell(ids[9:], losses_of(ids[9:]))
            acknowledged += ids[9:]
        assert study.status().incarnation == 1
    own_server.stop(signal.SIGINT)
    own_server.copy(own_server.data, own_server.folder / "backup")
    own_server.start()
    other = opened(url)
    persistent(study.status)
    for one in (study, other):
        ids = ask_and_tell(one, 20)
    own_server.stop(signal.SIGINT)
    own_server.copy(own_server.folder / "backup", own_server.data)
    own_server.start()
    with pytest.raises(StudyBehind):
        persistent(study.ask)
    life = study.status().incarnation
    assert life > 1
    assert place(persistent(other.ask).id)[0] == life
    assert study.verify().ok


# ---------------------------------------------------------------------- clocks


def test_clocks_that_jump_lose_nothing_and_hold_up_nobody(url, monkeypatch):
    sv.Study.open(url, name="study", **sums()).close()
    account = Account(url)
    for number in range(20 if SOAK else 1):
        jumps = random.Random(number)
        set_clock(monkeypatch, lambda jumps=jumps: time.time() + jumps.choice((0.0, -3600.0, 86400.0, -5.0)))
        seeds, patiently = range(10 * number, 10 * number + 3), {"calls": 6, "forgets": 0.0, "persist": persistent}
        for child in [Child(work_on(url, seed, **patiently)) for seed in seeds]:
            account.hear(child.finish()[0])
        set_clock(monkeypatch, lambda: time.time() - 7200.0)
        account.recover()
    with sv.Study.open(url, name="study") as study:
        waiting = study.status().waiting
        assert waiting is None or waiting.outstanding or waiting.not_asked  # whatever was complete is closed


def test_a_loss_that_is_gone_would_have_been_noticed(shelf):
    """The checks above can fail: here they do."""
    url = f"sqlite:///{shelf / 'study.db'}"
    sv.Study.open(url, name="study", **sums()).close()
    with sv.Study.open(url, name="study") as study:
        ids = ask_and_tell(study, 5, told=4).tolist()
    account = Account(url)
    account.hear([("asked", ids), ("telling", ids), ("told", ids)])
    with pytest.raises(AssertionError, match="an acknowledged tell is lost"):
        account.recover()
