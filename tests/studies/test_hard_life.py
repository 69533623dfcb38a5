"""What befalls processes besides being killed: forks, stops, rollbacks, files that vanish, clocks that jump.

After each of these every loss that was acknowledged is on record, none is there twice, released sums are exact and
never change, and what was released is erased; or else the study has said, before it acknowledged anything more, that it
cannot promise this.
"""

import contextlib
import os
import random
import shutil
import signal
import time

import psycopg
import pytest
from killing import arm, warm_up, work_on
from players import Account
from study_tools import SOAK, Backup, Look, losses_of, place, set_clock, sums

import sottovoce as sv
from children import Child
from sottovoce.errors import StorageError, StudyBehind, UnknownAction
from sottovoce.rounds.stores.sql import postgresql
from sottovoce.rounds.stores.sql._files import FileReplaced
from sottovoce.rounds.stores.sql.schema import DROPPED, RELEASED

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


@pytest.mark.long
def test_rollbacks_under_running_processes_begin_lives_and_hand_nothing_out_twice(url, opened):
    rng = random.Random(5)
    opened(url, **sums()).close()
    studies = [opened(url, repeat="ignore") for _ in range(3)]
    handed_out, lives, noticed = set(), {1}, 0
    for _ in range(3 * times(url)):
        turn(rng, studies, handed_out)
        backup, before = Backup(url), Look(url)
        for _ in range(rng.randint(1, 5)):
            turn(rng, studies, handed_out)
        released = {row.round for row in Look(url).releases if row.state == RELEASED}
        changed = Look(url).counters.version != before.counters.version
        backup.put_back()
        rng.shuffle(studies)
        behind = 0
        for study in studies:
            try:
                study.status()
            except StudyBehind:
                behind += 1
        assert behind == changed  # one of them begins a new life, and all others are in it
        noticed += behind
        look = Look(url)
        assert (look.counters.incarnation in lives) == (not changed)
        lives.add(look.counters.incarnation)
        once_open = {row.number for row in before.rounds if row.open}
        if changed:  # what the backup held of open rounds, some of them released since, is released no more
            states = {row.round: row.state for row in look.releases}
            assert all(states.get(number, DROPPED) == DROPPED for number in once_open & released)
        assert studies[0].verify().ok
    assert noticed


def turn(rng, studies, handed_out):
    study = rng.choice(studies)
    ids = study.ask(rng.choice((1, 5, 12))).ids.tolist()
    assert handed_out.isdisjoint(map(place, ids)), "an id was handed out twice"
    handed_out.update(map(place, ids))
    told = rng.randint(0, len(ids))
    with contextlib.suppress(UnknownAction):
        rng.choice(studies).tell(ids[:told], losses_of(ids[:told]))


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


@pytest.mark.long
def test_files_that_are_moved_at_any_moment_hold_all_that_was_acknowledged(shelf):
    """The mover waits for nobody; what it moved away is the study, and what it put there is not."""
    for number in range(2 * times("sqlite")):
        home, away = shelf / f"home{number}", shelf / f"away{number}"
        home.mkdir()
        away.mkdir()
        url = f"sqlite:///{home / 'study.db'}"
        sv.Study.open(url, name="study", **sums()).close()

        def work(report, url=url, number=number):
            with contextlib.suppress(StorageError):  # gone while it was open, or before
                stubborn(url, number, calls=400)(report)

        child = Child(work)
        time.sleep(random.Random(number).random() * 0.15)  # somewhere within its work
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{home}/study.db{end}", f"{away}/study.db{end}")
        said, _ = child.finish()
        account = Account(f"sqlite:///{away / 'study.db'}")
        account.hear(said)
        account.recover()
        assert not (home / "study.db").exists()
        shutil.rmtree(home)


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
