"""SQLite's log (`-wal`): emptied by whomever, begun anew, or cut short while nobody has it open."""

import contextlib
import os
import random
import sqlite3

import pytest
from killing import die
from study_tools import SOAK, losses_of, path_of, sums

import sottovoce as sv
from children import Child
from sottovoce.errors import StudyBehind


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


@pytest.mark.parametrize("which", CUTS)
def test_cut_short_while_nobody_has_it_open_an_id_that_is_gone_tells(which, sqlite_url):
    """A process is killed, and its log is cut before the next one opens it: as with a backup, an id says so."""

    def work(report):
        study = sv.Study.open(sqlite_url, name="study")
        study.ask(5)
        report("ids", study.ask(40).ids.tolist())
        die()

    sv.Study.open(sqlite_url, name="study", patience=None, **sums(probe_events=40)).close()
    said, _ = Child(work).finish()
    cut(sqlite_url, which)
    with sv.Study.open(sqlite_url, name="study") as study:
        with pytest.raises(StudyBehind):
            study.tell(said[0][1][-1], 0.5)
        assert study.status().incarnation > 1


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_nothing_is_lost_by_a_checkpoint_whoever_makes_it(mode, opened, sqlite_url):
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


def test_nothing_is_lost_by_processes_that_work_while_others_empty_the_log(sqlite_url):
    """Rounds of twelve close all the time, and each empties the log; an outsider does so as well."""
    calls = 150 if SOAK else 12

    def work(report, seed):
        rng = random.Random(seed)
        for _ in range(2):
            with sv.Study.open(sqlite_url, name="study") as study:
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
    with sv.Study.open(sqlite_url, name="study") as study:
        assert study.status().outstanding == 0
        assert study.verify().ok
