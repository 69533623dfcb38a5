"""A storage that goes back to an older state under running processes: they notice it, one new life begins, once.

What a process has seen does not go backwards. Restored are: an SQLite file through the backup interface or by copying
bytes over it, a server's rows by an administrator; and in between, other processes may have moved the counters on.
"""

import contextlib
import json
import shutil
import sqlite3

import numpy as np
import pytest
from players import KINDS
from study_tools import Backup, Look, ask_and_tell, believing, curved, losses_of, path_of, place, raw, sums, watch

from sampling import every
from sottovoce._records import unpack
from sottovoce.errors import StorageError, StudyBehind, UnknownAction
from sottovoce.rounds.stores.sql._book_rows import MOST


def segment_of(url, name, one):
    """Return the segment whose round an id is of, as the storage has it."""
    look, at = Look(url, name), place(one)[1]
    (stream,) = {row.stream for row in look.rounds if row.first <= at < row.first + row.size}
    return json.loads(look.streams[stream].name)


def empty_log(url):
    with contextlib.closing(raw(url)) as outsider:
        assert outsider.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def lives_of(url, name="study"):
    return Look(url, name).counters.incarnation


@pytest.mark.parametrize("kind", KINDS)
@every("call", ["ask", "block", "tell", "forget", "look"])
def test_a_process_notices_that_its_storage_went_back_and_others_follow(kind, call, url):
    with KINDS[kind].first(url, call) as handle, KINDS[kind](url, call) as other:
        before = handle.block(17)
        handle.tell(before)
        backup = Backup(url)
        ids = handle.block(30)
        other.tell(ids[:20])
        backup.put_back()
        calls = {
            "ask": handle.ask,
            "block": lambda: handle.block(9),
            "tell": lambda: handle.tell(ids[20:]),
            "forget": lambda: handle.forget(ids[20:]),
            "look": handle.stands,
        }
        with pytest.raises(StudyBehind, match="older than what this process has seen"):
            calls[call]()
        assert lives_of(url, call) > 1
        assert Look(url, call).chunks == []  # losses that may have been released since: they are released no more
        for one in (handle, other):
            assert one.waiting() == set()
            for old in (before[0], before[-1], ids[0], ids[-1]):
                with pytest.raises(UnknownAction):
                    one.tell([old])
        fresh = []
        for one in (handle, other):
            one.make_room(24)
            fresh += one.block(24)
            one.tell(fresh[-24:])
        assert len({place(one) for one in fresh}) == 48
        assert not {place(one) for one in fresh} & {place(one) for one in ids}
        assert handle.counts() in (None, (17 + 48, 0))
        assert handle.stands() == other.stands()
        assert handle.opened.verify().ok


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_that_is_newer_than_the_storage_ends_its_life(kind, url):
    """Whoever opens it after it was put back cannot know; also if it is told among older ones."""
    for alone in (True, False):
        name = f"study {alone}"
        with KINDS[kind].first(url, name) as handle:
            old = handle.block(5)
            handle.tell(old[:2])
        backup = Backup(url)
        with KINDS[kind](url, name) as handle:
            newer = handle.block(4)[-1]
        backup.put_back()
        with KINDS[kind](url, name) as again:
            with pytest.raises(StudyBehind, match="a newer state of the storage"):
                again.tell([newer] if alone else [old[3], newer])
            assert Look(url, name).counters.incarnation > 1
            assert Look(url, name).chunks == []
            again.make_room(3)
            again.tell([again.ask()])
            for one in (newer, old[3]):
                with pytest.raises(UnknownAction):
                    again.tell([one])
            assert again.opened.verify().ok


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_restored_drops_what_is_open_and_goes_on(kind, url):
    with KINDS[kind].first(url) as handle:
        released = handle.rest()
        handle.tell(released)
        ids = handle.block(30)
        handle.tell(ids[:20])
    closed = {key: one for key, one in Look(url).closed.items() if "numbers" in unpack(one)}
    with KINDS[kind](url, restored=True) as again:
        assert lives_of(url) > 1
        assert again.waiting() == set()
        assert Look(url).chunks == []
        assert closed
        assert closed.items() <= Look(url).closed.items()
        for one in (ids[0], *ids[20:]):
            with pytest.raises(UnknownAction, match="before the storage was restored"):
                again.tell([one])
        again.make_room(12)
        again.tell(again.block(12))
        assert again.opened.verify().ok


def test_a_history_that_went_another_way_is_noticed_however_far_it_has_come(opened, url):
    """Another process has moved every counter past what this one had seen."""
    one = opened(url, **sums())
    ask_and_tell(one, 5)
    backup = Backup(url)
    ask_and_tell(one, 9, told=4)
    one_has_seen = Look(url).counters.version
    backup.put_back()
    stranger = opened(url)  # opened after the rollback: it cannot know
    for _ in range(8):
        ask_and_tell(stranger, 6)
    assert Look(url).counters.version > one_has_seen
    with pytest.raises(StudyBehind):
        one.ask()
    assert stranger.status().incarnation == one.status().incarnation > 1


def test_a_file_that_was_copied_over_is_noticed(opened, sqlite_url):
    """The same inode with older bytes in it; nobody may do this to a live file, but it must not go unseen."""
    study = opened(sqlite_url, **sums())
    ask_and_tell(study, 12)
    empty_log(sqlite_url)
    shutil.copy(path_of(sqlite_url), path_of(sqlite_url) + ".old")
    ids = ask_and_tell(study, 24)
    empty_log(sqlite_url)
    with open(path_of(sqlite_url) + ".old", "rb") as old, open(path_of(sqlite_url), "r+b") as now:
        now.truncate(0)
        shutil.copyfileobj(old, now)
    with pytest.raises(StudyBehind):
        study.ask()
    with pytest.raises(UnknownAction):
        study.tell(ids[-1], 0.5)
    assert study.verify().ok


def test_a_commit_of_unknown_outcome_is_no_rollback(opened, url, monkeypatch):
    """The connection breaks in the commit: whether it was recorded or not, the study goes on in the same life."""
    study = opened(url, repeat="ignore", **sums())
    ids = study.ask(9).ids
    error = sqlite3.OperationalError if url.startswith("sqlite") else pytest.importorskip("psycopg").OperationalError

    def cut(statement):
        if statement.startswith("COMMIT" if url.startswith("sqlite") else "UPDATE"):
            raise error("the line is cut")

    for when in ("before", "after"):
        with monkeypatch.context() as patch:
            watch(**{when: cut}, put=patch.setattr)
            with pytest.raises(StorageError):
                study.tell(ids[:4], losses_of(ids[:4]))
    study.tell(ids, losses_of(ids))
    assert study.status().told == 9
    assert lives_of(url) == 1


def test_many_processes_that_come_and_go_are_no_rollback(opened, sqlite_url):
    """Only the latest writers are remembered; one that was silent for long goes on."""
    silent = opened(sqlite_url, **sums())
    ids = ask_and_tell(silent, 3, told=1)
    for _ in range(MOST + 3):
        with opened(sqlite_url) as brief:
            brief.ask()
    silent.tell(ids[1:], losses_of(ids[1:]))
    assert lives_of(sqlite_url) == 1
    assert len(Look(sqlite_url).counters.writers) <= 16 * MOST


@every("call", ["one more", "the same block", "another stretch", "ask"])
def test_a_storage_that_lost_nothing_but_tells_is_noticed_by_whoever_told_them(call, opened, url):
    """The counters do not move with a tell: what was told last is looked at by itself."""
    study = opened(url, call, **sums(probe_events=40))  # rounds of 160
    first, second = study.ask(20).ids, study.ask(20).ids
    study.tell(first[0], 0.25)
    backup = Backup(url)
    study.tell(first[1], 0.25)
    backup.put_back()
    calls = {
        "one more": lambda: study.tell(first[2], 0.25),
        "the same block": lambda: study.tell(first[2:9], losses_of(first[2:9])),
        "another stretch": lambda: study.tell(second, losses_of(second)),
        "ask": lambda: study.ask(3),
    }
    with pytest.raises(StudyBehind):
        calls[call]()
    assert lives_of(url, call) > 1
    assert Look(url, call).tells == []


@every(("size", "noticed"), [(None, True), (None, False), (6, True), (6, False)])
def test_segments_that_the_storage_no_longer_knows_are_opened_anew(size, noticed, opened, url):
    """They get other numbers: what is asked for one must not be of another, in whichever process."""
    name = f"{size} {noticed}"
    one, other = opened(url, name, **believing(segments=["a", "b", "c"])), opened(url, name)
    ids = ask_and_tell(one, 18, segment=["a"] * 18)
    backup = Backup(url)
    for study in (one, other):
        ids = ask_and_tell(study, 18, segment=["a", "b", "c"] * 6)
    backup.put_back()
    with pytest.raises(StudyBehind):
        one.status()
    study = one if noticed else other
    one.ask(segment="c")  # now the second
    mine = ["b", "c"] * 3
    ids = [study.ask(segment=segment).id for segment in mine] if size is None else study.ask(size, segment=mine).ids
    assert [segment_of(url, name, one) for one in ids] == mine
    study.tell(ids, losses_of(ids))
    assert study.status().segments == (("a", 18), ("c", 4), ("b", 3))
    assert other.recommend(segment="b").x.shape == one.recommend(segment="b").x.shape
    assert study.verify().ok


@pytest.mark.parametrize("arguments", [sums(), believing(), curved(), believing(horizon=None)])
@every("before", [0, 40])
def test_what_was_learned_from_releases_that_are_gone_is_forgotten(before, arguments, opened, sqlite_url):
    """A process goes on as one does that opens the study now."""
    study = opened(sqlite_url, f"after {before}", **arguments)
    for _ in range(before // 20):
        ask_and_tell(study, 20)
    backup = Backup(sqlite_url)
    for _ in range(6):
        ask_and_tell(study, 20)
    backup.put_back()
    with pytest.raises(StudyBehind):
        study.ask()
    newcomer = opened(sqlite_url, f"after {before}")
    assert np.array_equal(study.status().point, newcomer.status().point)
    assert np.array_equal(study.recommend().x, newcomer.recommend().x)
    for _ in range(3):
        ask_and_tell(study, 20)
        ask_and_tell(newcomer, 20)
    assert np.array_equal(study.recommend().x, newcomer.recommend().x)
    assert study.verify().ok
