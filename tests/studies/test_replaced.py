"""A file that is unlinked or replaced under an open study: nothing is acknowledged into nothing."""

import contextlib
import os
import shutil
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from study_tools import Look, ask_and_tell, ball, losses_of, path_of, sums, watch

import sottovoce as sv
from sampling import every
from sottovoce._records import unpack
from sottovoce.errors import StorageError
from sottovoce.learning import policy
from sottovoce.rounds.stores.sql import sqlite

ENDS = ("", "-wal", "-shm")


def remove(path):
    os.unlink(path)


def move(path):
    os.rename(path, path + ".moved")


def put_a_copy(path):
    shutil.copy(path, path + ".copy")
    os.rename(path + ".copy", path)


WAYS = {"rm": remove, "mv": move, "copy": put_a_copy}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_acknowledged_once_a_file_is_gone(way, end, opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    ids = ask_and_tell(study, 9, told=3)
    WAYS[way](path_of(sqlite_url) + end)
    calls = (lambda: study.tell(ids[3:], losses_of(ids[3:])), study.ask, study.status, lambda: study.forget(ids[3:]))
    for call in (*calls, study.verify):
        with pytest.raises(StorageError, match=r"removed or replaced while the study was open .*nothing of this call"):
            call()
    study.close()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_goes_in_the_midst_of_a_call_is_noticed_before_the_answer(
    when, end, opened, sqlite_url, monkeypatch
):
    study = opened(sqlite_url, **sums())
    ids = study.ask(9).ids

    def replaced(statement):
        if statement == "COMMIT":
            put_a_copy(path_of(sqlite_url) + end)

    with monkeypatch.context() as patch:
        watch(**{when: replaced}, put=patch.setattr)
        with pytest.raises(StorageError, match="this call may be recorded in the old file only"):
            study.tell(ids, losses_of(ids))
    with pytest.raises(StorageError, match="removed or replaced"):
        study.ask()


def test_a_release_into_a_file_that_is_gone_is_not_used(opened, sqlite_url):
    """The round is closed in the file that was put in its place, under one noise: the other is never seen."""
    study = opened(sqlite_url, **ball(privacy=sv.PureDP(1.0)))
    ids = ask_and_tell(study, 8, told=7)
    before, draw, released = study.point, policy.draw_noise, []
    with contextlib.closing(sqlite3.connect(path_of(sqlite_url))) as outsider:
        assert outsider.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0  # all of it is in the file

    def noted(epoch, *arguments):
        released.append(draw(epoch, *arguments))
        return released[-1]

    def replaced(statement):
        if statement == "COMMIT" and released:
            put_a_copy(path_of(sqlite_url))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "draw_noise", noted)
        watch(replaced, put=patch.setattr)
        study.tell(ids[7], losses_of(ids[7:])[0])
    assert len(released) == 1
    assert np.array_equal(study.point, before)
    with pytest.raises(StorageError, match="replaced"):
        study.ask()
    study.close()
    for end in ENDS[1:]:
        Path(path_of(sqlite_url) + end).unlink(missing_ok=True)
    with sv.Study.open(sqlite_url, name="study") as again:
        again.tell(ids[7], losses_of(ids[7:])[0])
        assert again.status().round == 1
        assert not np.array_equal(unpack(Look(sqlite_url).closed[0, 0])["numbers"][0], released[0])


def test_closing_what_was_replaced_leaves_its_successor_alone(opened, sqlite_url):
    """SQLite removes a log by its name when the last connection goes: that of the file that is there now."""
    study = opened(sqlite_url, **sums())
    study.ask(3)
    for end in ENDS:
        move(path_of(sqlite_url) + end)
    successor = opened(sqlite_url, **sums())
    ids = successor.ask(5).ids
    with pytest.raises(StorageError, match="removed or replaced"):
        study.ask()
    study.close()
    successor.tell(ids, losses_of(ids))
    assert successor.status().told == 5


def test_a_connection_made_again_is_to_the_same_file(opened, sqlite_url):
    study = opened(sqlite_url, **sums())
    study.ask(3)
    study._base._forget()
    put_a_copy(path_of(sqlite_url))
    with pytest.raises(StorageError, match="removed or replaced"):
        study.ask()


def test_a_change_of_the_working_folder_changes_nothing(opened, shelf, tmp_path, monkeypatch):
    monkeypatch.chdir(shelf)
    study = opened("sqlite:///study.db", **sums())
    study.ask(3)
    monkeypatch.chdir(tmp_path)
    study.ask(3)
    study._base._forget()  # as after an error: the next call connects again
    assert study.status().asked == 6
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_is_led_elsewhere_is_noticed(opened, sqlite_url, shelf):
    opened(sqlite_url, **sums()).close()
    shutil.copy(shelf / "study.db", shelf / "other.db")
    (shelf / "link.db").symlink_to("study.db")
    study = opened(f"sqlite:///{shelf}/link.db")
    study.ask(3)
    (shelf / "link.db").unlink()
    (shelf / "link.db").symlink_to("other.db")
    with pytest.raises(StorageError, match="removed or replaced"):
        study.ask()


def test_a_file_with_two_names_is_refused(opened, sqlite_url, shelf):
    """SQLite names the log after the name: under two names a file has two logs."""
    opened(sqlite_url, **sums()).close()
    os.link(shelf / "study.db", shelf / "twin.db")
    for name in ("study.db", "twin.db"):
        with pytest.raises(StorageError, match=r"has 2 names \(hard links\)"):
            opened(f"sqlite:///{shelf}/{name}")
    os.unlink(shelf / "twin.db")
    assert opened(sqlite_url).status().asked == 0


def test_a_link_to_a_file_that_is_not_there_yet_makes_a_private_one(opened, shelf):
    (shelf / "vault").mkdir()
    (shelf / "link.db").symlink_to(shelf / "vault" / "real.db")
    before = os.umask(0)
    try:
        study = opened(f"sqlite:///{shelf}/link.db", **sums())
        study.ask()
        found = {one.name: stat.S_IMODE(one.stat().st_mode) for one in (shelf / "vault").iterdir()}
    finally:
        os.umask(before)
    assert found == {"real.db": 0o600, "real.db-wal": 0o600, "real.db-shm": 0o600}


@pytest.mark.parametrize("target", ["nowhere/real.db", "link.db"])
def test_a_link_that_leads_nowhere_is_a_clear_error(target, opened, shelf):
    (shelf / "link.db").symlink_to(shelf / target)
    with pytest.raises(StorageError, match=r"does not exist|leads nowhere"):
        opened(f"sqlite:///{shelf}/link.db", **sums())
    assert [one.name for one in shelf.iterdir()] == ["link.db"]


def test_sqlite_itself_never_creates_the_file(opened, sqlite_url, monkeypatch):
    """Gone between the look at it and the connection: it would come back readable by everybody."""
    study = opened(sqlite_url, **sums())
    study._base._forget()
    connect = sqlite.SQLiteConnection

    def vanish(*positional, **named):
        for end in ENDS:
            Path(path_of(sqlite_url) + end).unlink(missing_ok=True)
        return connect(*positional, **named)

    monkeypatch.setattr(sqlite, "SQLiteConnection", vanish)
    with pytest.raises(StorageError):
        study.ask()
    assert not Path(path_of(sqlite_url)).exists()


@every("name", ["a b.db", "what?.db", "100%25.db", "x#y.db", "ünï.db", "file:x.db"])
def test_odd_names_of_files_are_names_of_files(name, opened, shelf):
    opened(f"sqlite:///{quote(str(shelf / name))}", **sums()).ask()
    assert (shelf / name).exists()
