"""A loss of power, as far as a file can show it: what is left opens to an earlier state, or is refused.

Copies of the database and its log are taken while a study works, then cut short, torn or bent. Every state that was
ever committed is on record here; a copy that opens must be one of them.
"""

import contextlib
import random
import shutil
import sqlite3

import numpy as np
import pytest
from study_tools import SOAK, Look, ask_and_tell, believing, losses_of, path_of, raw, sums, watch

import sottovoce as sv
from children import Child
from sottovoce.errors import StorageError, StudyDamaged
from sottovoce.rounds.stores.sql import sqlite

TRIES = 100 if SOAK else 16


def state(url):
    """Return all that a study is, as plain data; of its released rounds, everything."""
    look = Look(url)
    told = tuple(sorted(look.told().items()))
    counts = look.counts()
    closed = sum(row.closed for row in look.streams)
    return look.counters.clock, counts["told"], counts["forgotten"], closed, told, tuple(look.closed.items())


@pytest.fixture(scope="module", params=[sums, believing])
def history(request, tmp_path_factory):
    """Return every committed state of a short life, and copies of its files at every one of them."""
    folder = tmp_path_factory.mktemp("life")
    url = f"sqlite:///{folder / 'study.db'}"
    rng = random.Random(5)
    study = sv.Study.open(url, name="study", **request.param())
    erase, study._base.erase = study._base.erase, lambda: False  # a log to lose
    states, copies, waiting, points = set(), [], [], {}

    def note():
        now = state(url)
        states.add(now)
        points.setdefault(now, study.point)
        target = folder / f"copy{len(copies)}"
        target.mkdir()
        for end in ("", "-wal"):
            shutil.copy(path_of(url) + end, target / f"study.db{end}")
        copies.append(target)

    states.add(state(url))

    def committed(statement):  # those of leases and releases, too
        if statement == "COMMIT":
            states.add(state(url))

    with pytest.MonkeyPatch.context() as patch:
        # Pages that SQLite copies into the file are synced in the log before: no loss of power takes them from there.
        patch.setattr(sqlite, "_COMMITS", 10**9)
        watch(after=committed, put=patch.setattr)
        for turn in range(40):
            if turn in (0, 20):
                assert erase()  # that there is a study is in the file, and then half of its life
            if not waiting or rng.random() < 0.4:
                waiting += study.ask(rng.choice((1, 6, 14))).ids.tolist()
            else:
                rng.shuffle(waiting)
                size = rng.randint(1, len(waiting))
                mine, waiting = waiting[:size], waiting[size:]
                study.tell(mine, losses_of(mine)) if rng.random() < 0.8 else study.forget(mine)
            note()
        study.close()
    return states, copies, points


def broken(history, shelf, bend, seed):
    states, copies, points = history
    rng = random.Random(seed)
    outcomes = {"opened": 0, "refused": 0, "found": 0}
    for turn in range(TRIES):
        folder = shelf / str(turn)
        shutil.copytree(rng.choice(copies), folder)
        bend(rng, folder)
        outcome = _outcome(folder, states, points)
        outcomes[outcome] += 1
        shutil.rmtree(folder)
    return outcomes


def _outcome(folder, states, points):
    url = f"sqlite:///{folder / 'study.db'}"
    try:
        study = sv.Study.open(url, name="study", repeat="ignore")
    except (StudyDamaged, StorageError, sv.errors.StudyNotFound):
        return "refused"
    with study:
        try:
            if not study.verify().ok:
                return "found"
        except (StudyDamaged, StorageError):
            return "refused"
        now = state(url)
        if now not in states:  # opening may have closed a round whose losses were all in, as recovery does
            return _closed_since(now, states)
        if now in points:
            assert np.array_equal(study.point, points[now])
        ask_and_tell(study, 3)
        assert study.status().told == now[1] + 3
    return "opened"


def _closed_since(now, states):
    before = [one for one in states if one[:3] == now[:3] and one[3] < now[3]]
    assert before, "a state that never was"
    released = dict(now[5])
    assert any(all(released.get(number) == record for number, record in one[5]) for one in before)
    return "opened"


def cut(end):
    def bend(rng, folder):
        path = folder / f"study.db{end}"
        data = path.read_bytes()
        path.write_bytes(data[: rng.randrange(len(data) + 1)])

    return bend


def flip(rng, path, most):
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, most)) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


HARMLESS = {
    "as it is": lambda rng, folder: None,
    "a log cut short": cut("-wal"),
    "a log that is lost": lambda rng, folder: (folder / "study.db-wal").unlink(),
    "a torn or bent log": lambda rng, folder: flip(rng, folder / "study.db-wal", 40),
}


@pytest.mark.parametrize("what", HARMLESS)
def test_a_log_that_has_suffered_is_an_earlier_state(what, history, shelf):
    assert broken(history, shelf, HARMLESS[what], what)["opened"] == TRIES


def test_a_database_cut_short_is_refused(history, shelf):
    def bend(rng, folder):
        cut("")(rng, folder)
        if rng.random() < 0.5:
            (folder / "study.db-wal").unlink()

    outcomes = broken(history, shelf, bend, 6)
    assert sum(outcomes.values()) == TRIES
    assert outcomes["refused"] > TRIES // 3  # the log holds what the others lost


def test_flipped_bits_in_the_database_are_noticed_or_harmless(history, shelf):
    def bend(rng, folder):
        merged = raw(f"sqlite:///{folder / 'study.db'}")
        assert merged.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        merged.close()
        flip(rng, folder / "study.db", 30)

    outcomes = broken(history, shelf, bend, 7)
    assert outcomes["refused"] + outcomes["found"] > TRIES // 10


# ---------------------------------------------------------------------- the log, while processes work


def test_nothing_is_lost_by_processes_that_work_while_others_empty_the_log(sqlite_url):
    """Rounds of twelve close all the time, and each empties the log; an outsider does so as well."""
    calls = 150 if SOAK else 12

    def work(report, seed):
        rng = random.Random(seed)
        for _ in range(2):
            with sv.Study.open(sqlite_url, name="study") as study:
                for _ in range(calls):
                    ask_and_tell(study, rng.choice((1, 5, 13)))
        report("done", seed)

    def empty(report):
        for turn in range(calls):
            with contextlib.closing(sqlite3.connect(path_of(sqlite_url), timeout=60)) as outsider:
                mode = ("TRUNCATE", "RESTART", "PASSIVE", "FULL")[turn % 4]
                outsider.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                outsider.execute("SELECT count(*) FROM sottovoce_chunks").fetchone()
        report("done", "outsider")

    sv.Study.open(sqlite_url, name="study", **sums()).close()
    children = [Child(lambda report, seed=seed: work(report, seed)) for seed in range(3)] + [Child(empty)]
    assert all(child.finish()[0][-1][0] == "done" for child in children)
    with sv.Study.open(sqlite_url, name="study") as study:
        assert study.status().outstanding == 0
        assert study.verify().ok
