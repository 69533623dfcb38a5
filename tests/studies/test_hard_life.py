"""What befalls processes besides being killed: forks, stops, rollbacks, files that vanish, clocks that jump.

After each of these every loss that was acknowledged is on record, none is there twice, released sums are exact and
never change, and what was released is erased; or else the study has said, before it acknowledged anything more, that it
cannot promise this.
"""

import contextlib
import os
import random
import signal
import time

import psycopg
import pytest
from killing import arm, warm_up, work_on
from players import Account
from study_tools import SOAK, Look, losses_of, place, set_clock, sums

import sottovoce as sv
from children import Child
from sottovoce.errors import StorageError, StudyBehind
from sottovoce.rounds.stores.sql import postgresql
from sottovoce.rounds.stores.sql._files import FileReplaced

TIMES = {"sqlite": 20 if SOAK else 2, "postgresql": 10 if SOAK else 1}
pytestmark = pytest.mark.timeout(1800 if SOAK else 900)


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    warm_up(tmp_path_factory.mktemp("warm"), sums())


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Patience with those who hold an SQLite file is short; children inherit this."""
    monkeypatch.setattr("sottovoce.rounds.stores.sql.database.BUSY_SECONDS", 0.3)


def times(url):
    return TIMES["sqlite" if url.startswith("sqlite") else "postgresql"]


def stubborn(url, seed, calls=6):
    """Return work that repeats a call that has failed: what was told is acknowledged once it succeeds."""
    return work_on(url, seed, calls=calls, forgets=0.0, persist=persistent)


def persistent(call, tries=40):
    for _ in range(tries):
        try:
            return call()
        except FileReplaced:
            raise
        except StorageError:
            pass
    return call()


# ---------------------------------------------------------------------- stops


def stopping(after, late, work):
    """Return work that stops itself once, at a statement or a commit, until somebody lets it go on.

    A server has little patience with it, and much with all others, so that a busy machine is not taken for a stop.
    """

    def stopped(report):
        postgresql.IDLE_SECONDS, postgresql.BEAT_SECONDS = 2.0, 0.2  # of this child alone
        arm("statement", after, late, end=lambda: os.kill(os.getpid(), signal.SIGSTOP))
        work(report)

    return stopped


@pytest.mark.long
def test_a_process_that_is_stopped_at_any_statement_holds_up_others_briefly_and_goes_on(url, monkeypatch):
    """On SQLite the others are told that somebody holds the database; a server ends the transaction."""
    if not url.startswith("sqlite"):
        monkeypatch.setattr("sottovoce.rounds.stores.sql.database.BUSY_SECONDS", 300.0)
    sv.Study.open(url, name="study", **sums()).close()
    account, worked, stops = Account(url), 0, 0
    for turn in range(0, 60, 3 if SOAK else (14 if url.startswith("sqlite") else 29)):
        for late in (False, True):
            sleeper = Child(stopping(turn, late, stubborn(url, turn, calls=5)))
            stopped = sleeper.stops()  # or it has come to its end
            if stopped:
                said, _ = Child(impatient(url, turn)).finish()
                worked += any(kind == "told" for kind, _ in said)
                account.hear(said)
                os.kill(sleeper.pid, signal.SIGCONT)
            account.hear(sleeper.finish()[0])
            account.recover()
            if stopped:
                stops += 1
    assert stops
    assert worked == stops or url.startswith("sqlite")  # a server lets everybody else go on


def impatient(url, seed):
    """Return work of one who gives up if somebody else holds the database for too long."""

    def work(report):
        with contextlib.suppress(StorageError):
            work_on(url, seed, calls=5, forgets=0.0, ends=True)(report)

    return work


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
            ids = study.ask(17).ids.tolist()
            study.tell(ids[:9], losses_of(ids[:9]))
            acknowledged += ids[:9]
            own_server.stop(how)
            with pytest.raises(StorageError):
                study.ask()
            own_server.start()
            look = Look(url)
            closed = {one for row in look.rounds if not row.open for one in range(row.first, row.first + row.size)}
            assert {place(one)[1] for one in acknowledged} <= closed | look.told().keys()
            study.tell(ids[9:], losses_of(ids[9:]))
            acknowledged += ids[9:]
        assert study.status().incarnation == 1
    own_server.stop(signal.SIGINT)
    own_server.copy(own_server.data, own_server.folder / "backup")
    own_server.start()
    other = opened(url)
    persistent(study.status)
    for one in (study, other):
        ids = one.ask(20).ids
        one.tell(ids, losses_of(ids))
    own_server.stop(signal.SIGINT)
    own_server.copy(own_server.folder / "backup", own_server.data)
    own_server.start()
    with pytest.raises(StudyBehind):
        persistent(study.ask)
    life = study.status().incarnation
    assert life > 1
    assert place(persistent(other.ask).id)[0] == life
    assert study.verify().ok


# ---------------------------------------------------------------------- files


# ---------------------------------------------------------------------- clocks


def test_clocks_that_jump_lose_nothing_and_hold_up_nobody(url, monkeypatch):
    sv.Study.open(url, name="study", **sums()).close()
    account = Account(url)
    for number in range(times(url)):
        jumps = random.Random(number)
        set_clock(monkeypatch, lambda jumps=jumps: time.time() + jumps.choice((0.0, -3600.0, 86400.0, -5.0)))
        children = [Child(stubborn(url, 10 * number + which)) for which in range(3)]
        for child in children:
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
        ids = study.ask(5).ids.tolist()
        study.tell(ids[:4], losses_of(ids[:4]))
    account = Account(url)
    account.hear([("asked", ids), ("telling", ids), ("told", ids)])
    with pytest.raises(AssertionError, match="an acknowledged tell is lost"):
        account.recover()
