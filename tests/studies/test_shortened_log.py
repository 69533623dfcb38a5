"""A log (`-wal`) that somebody cuts short in place: no call is acknowledged into it; and SQLite's own cuts are none."""

import contextlib
import io
import os
import random
import sqlite3

import pytest
from killing import die, tally
from study_tools import SOAK, losses_of, path_of, sums

import sottovoce as sv
from children import Child
from sottovoce.errors import StorageError, StudyBehind, StudyDamaged, UnknownAction
from sottovoce.rounds.stores.sql import _files


def lengths(size):
    """Lengths to cut a log to: nothing, within its header, its header, and so many of its frames, or a part of one."""
    frame = 24 + 4096
    frames = (size - 32) // frame
    return [0, 20, 32, *(32 + frame * count for count in {frames // 3, frames - 1}), size - 100]


CUTS = range(6)


def cut(url, which):
    """Cut the log short, as an outsider."""
    log = path_of(url) + "-wal"
    os.truncate(log, lengths(os.path.getsize(log))[which])


def make(kind, url):
    if kind == "evaluations":
        return sv.PrivateEvaluations(
            storage=url, name="study", loss_range=(0.0, 1.0), privacy=sv.NoPrivacy(), patience=None
        )
    return sv.Study.open(url, name="study", patience=None, **sums(probe_events=40))


def again(kind, url):
    return (
        sv.PrivateEvaluations(storage=url, name="study") if kind == "evaluations" else sv.Study.open(url, name="study")
    )


def asked(kind, study, size):
    """Return ids."""
    if kind == "study":
        return study.ask(size).ids.tolist()
    if not study.open_evaluations:
        study.open(events=1000)
    return study.open_evaluations[0].assign(size=size).tolist()


CALLS = {
    "tell one": lambda study, ids: study.tell(ids[0], 0.5),
    "tell several": lambda study, ids: study.tell(ids[:5], losses_of(ids[:5])),
    "forget": lambda study, ids: study.forget(ids[:5]),
}


@pytest.mark.parametrize("kind", ["study", "evaluations"])
@pytest.mark.parametrize(("which", "call"), [(which, call) for which in CUTS for call in CALLS][:: 1 if SOAK else 4])
def test_nothing_is_acknowledged_into_a_log_that_was_cut_short(which, call, kind, sqlite_url):
    study, other = make(kind, sqlite_url), again(kind, sqlite_url)
    ids = asked(kind, study, 40)
    for one in ids[:9]:
        study.tell(one, 0.25)
    other.tell(ids[9], 0.25)
    cut(sqlite_url, which)
    for handle, mine in ((study, ids[10:]), (other, ids[20:]), (study, ids[30:])):
        with pytest.raises((StorageError, StudyBehind, StudyDamaged)) as refused:
            CALLS[call](handle, mine)
        assert "0.5" not in str(refused.value)
    study.close()
    other.close()


@pytest.mark.parametrize("which", CUTS)
def test_it_says_what_has_happened_and_what_to_do(which, opened, sqlite_url):
    study = opened(sqlite_url, **sums(probe_events=40))
    ids = study.ask(40).ids
    study.tell(ids[:3], losses_of(ids[:3]))
    cut(sqlite_url, which)
    with pytest.raises(StorageError, match=r"-wal was cut short while the study was open.*restored=True"):
        study.tell(ids[3:9], losses_of(ids[3:9]))
    for call in (study.ask, study.status, study.verify, lambda: study.tell(ids[20], 0.5)):
        with pytest.raises(StorageError, match="was cut short while the study was open"):
            call()
    study.close()


@pytest.mark.parametrize("which", CUTS)
def test_whoever_opens_it_afterwards_finds_an_earlier_state_and_begins_a_new_life(which, sqlite_url):
    """Those who had it open end; what they leave behind is as a backup that was put back."""

    def work(report):
        study = make("study", sqlite_url)
        ids = study.ask(40).ids.tolist()
        study.tell(ids[:9], losses_of(ids[:9]))
        report("ids", ids)
        cut(sqlite_url, which)
        with contextlib.suppress(StorageError):
            study.tell(ids[9:], losses_of(ids[9:]))
            report("acknowledged", True)
        die()

    make("study", sqlite_url).close()
    said, _ = Child(work).finish()
    (ids,) = (what for kind, what in said if kind == "ids")
    assert not [kind for kind, _ in said if kind == "acknowledged"]
    with sv.Study.open(sqlite_url, name="study", restored=True) as study:
        for one in ids:
            with pytest.raises(UnknownAction):
                study.tell(one, 0.5)
        assert study.status().outstanding == 0
        fresh = study.ask(3).ids
        study.tell(fresh, losses_of(fresh))
        assert study.verify().ok


@pytest.mark.parametrize("which", CUTS)
def test_cut_short_while_nobody_has_it_open_an_id_that_is_gone_tells(which, sqlite_url):
    """A process is killed, and its log is cut before the next one opens it: as with a backup, an id says so."""

    def work(report):
        study = make("study", sqlite_url)
        study.ask(5)
        report("ids", study.ask(40).ids.tolist())
        die()

    make("study", sqlite_url).close()
    said, _ = Child(work).finish()
    cut(sqlite_url, which)
    with again("study", sqlite_url) as study:
        with pytest.raises(StudyBehind):
            study.tell(said[0][1][-1], 0.5)
        assert study.status().incarnation > 1


# ---------------------------------------------------------------------- no false alarm


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_checkpoints_are_no_cuts_whoever_makes_them(mode, opened, sqlite_url):
    studies = [opened(sqlite_url, **sums(probe_events=40, patience=None)), opened(sqlite_url)]
    ids = []
    for turn in range(12):
        ids += studies[turn % 2].ask(5).ids.tolist()
        studies[(turn + 1) % 2].tell(ids[-1], losses_of(ids[-1:])[0])
        if turn % 3 == 0:
            with contextlib.closing(sqlite3.connect(path_of(sqlite_url))) as outsider:
                outsider.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        studies[turn % 2].tell(ids[-2], losses_of(ids[-2:])[0])
    assert studies[0].status().told == studies[1].status().told == 24
    assert studies[0].verify().ok


def test_a_log_that_begins_anew_many_times_is_no_cut(opened, sqlite_url):
    """It is written from its start again once it has a thousand pages; rounds that close empty it in between."""
    study, other = opened(sqlite_url, **sums(probe_events=500, patience=None)), opened(sqlite_url)
    for _ in range(12):
        block = study.ask(400)
        for part in range(0, 400, 20):
            mine = block.ids[part : part + 20]
            (study if part % 40 else other).tell(mine, losses_of(mine))
    assert study.status().told == 4800
    assert study.verify().ok


def test_processes_that_work_while_others_empty_the_log_see_no_cut(sqlite_url):
    """Rounds of twelve close all the time, and each empties the log; an outsider does so as well."""
    calls = 400 if SOAK else 12

    def work(report, seed):
        rng = random.Random(seed)
        for _ in range(2):
            with again("study", sqlite_url) as study:
                for _ in range(calls):
                    ids = study.ask(rng.choice((1, 5, 13))).ids
                    study.tell(ids, losses_of(ids))
        report("done", seed)

    def empty(report):
        for turn in range(calls):
            with contextlib.closing(sqlite3.connect(path_of(sqlite_url), timeout=60)) as outsider:
                mode = ("TRUNCATE", "RESTART", "PASSIVE")[turn % 3]
                outsider.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                outsider.execute("SELECT count(*) FROM sottovoce_chunks").fetchone()
        report("done", "outsider")

    sv.Study.open(sqlite_url, name="study", **sums()).close()
    children = [Child(lambda report, seed=seed: work(report, seed)) for seed in range(3)] + [Child(empty)]
    assert all(child.finish()[0][-1][0] == "done" for child in children)
    with again("study", sqlite_url) as study:
        assert study.status().outstanding == 0
        assert study.verify().ok
    tally("processes that empty the log at once", sqlite_url, "no false alarm")


@pytest.mark.parametrize("read", ["size", "header"])
def test_a_log_that_others_empty_while_it_is_looked_at_is_no_cut(read, opened, sqlite_url, monkeypatch):
    """Its size is then that of one log, and its header that of the next."""
    study, other = opened(sqlite_url, patience=None, **sums(probe_events=40)), opened(sqlite_url)
    ids = study.ask(60).ids.tolist()
    for one in ids[:20]:
        study.tell(one, 0.5)
    raced = []

    def race():
        if not raced:
            raced.append(True)
            with contextlib.closing(sqlite3.connect(path_of(sqlite_url))) as outsider:
                assert outsider.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
            other.tell(ids[20], 0.5)

    class Racing(io.FileIO):
        def seek(self, at, whence=os.SEEK_SET):
            found = super().seek(at, whence)
            if (read, whence) == ("size", os.SEEK_END):
                race()
            return found

        def read(self, size=-1):
            if read == "header":
                race()
            return super().read(size)

    other.tell(ids[21], 0.5)  # so that the log is another when it is looked at
    with monkeypatch.context() as patch:
        patch.setattr(_files, "open", lambda path, mode, buffering: Racing(path, mode), raising=False)
        study.tell(ids[22], 0.5)
    assert raced
    for one in ids[23:30]:
        study.tell(one, 0.5)
    assert study.status().told == 30
