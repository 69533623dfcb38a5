"""Disks fill up, files are read-only, locked, damaged or no databases at all: clear errors, and nothing is lost."""

import os
import pwd
import shutil
from pathlib import Path

import numpy as np
import pytest
from study_tools import Look, ask_and_tell, ball, losses_of, raw, sums, watch

import sottovoce as sv
from children import Child
from sottovoce.errors import StorageError, StudyDamaged, StudyNotFound
from sottovoce.rounds.stores.sql.sqlite import SqliteFile
from sottovoce.studies import delete_study, list_studies, opening, state_stored
from storages import outside


def told(study):
    status = study.status()
    return status.asked, status.told, status.outstanding


def test_a_full_disk_loses_nothing_and_work_goes_on_once_there_is_room(opened, sqlite_url, monkeypatch):
    study = opened(sqlite_url, **sums())
    ids = ask_and_tell(study, 20, told=3)
    limit, begin = [True], SqliteFile._begin

    def begin_small(file, begins):
        begin(file, begins)
        pages = file._execute("PRAGMA page_count", ())[0][0] if limit[0] else 10**6
        file._execute(f"PRAGMA max_page_count = {pages}", ())

    monkeypatch.setattr(SqliteFile, "_begin", begin_small)
    before = Look(sqlite_url)
    with pytest.raises(StorageError, match=r"the disk is full; nothing was changed. Make room and try again"):
        study.ask(5000)
    limit[0] = False
    assert Look(sqlite_url).counts()["told"] == before.counts()["told"] == 3
    asked, _, outstanding = told(study)
    assert asked - 3 == outstanding
    study.tell(ids[3:], losses_of(ids[3:]))
    assert study.status().told == 20
    assert study.status().round == 1
    assert opened(sqlite_url).status().told == 20


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root to become somebody else")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_storage_that_may_not_be_written_is_a_clear_error(what, opened, tmp_path):
    shelf = Path("/tmp") / f"sottovoce-{os.getpid()}-{what}"  # pytest's own folders are closed to others
    shelf.mkdir()
    try:
        url = f"sqlite:///{shelf / 'study.db'}"
        opened(url, **sums()).close()
        os.chmod(shelf / "study.db", 0o644)
        os.chmod(shelf, 0o777 if what == "file" else 0o755)

        def work(report):
            os.setgroups([])
            os.setuid(pwd.getpwnam("nobody").pw_uid)
            for arguments in ({}, {"name": "another", **sums()}):
                try:
                    sv.Study.open(url, **{"name": "study", **arguments}).ask()
                except StorageError as problem:
                    report("problem", str(problem))

        said, _ = Child(work).finish()
        assert len(said) == 2
        for _, words in said:
            assert "it cannot be written" in words or "it cannot be opened" in words
        assert opened(url).status().asked == 0
    finally:
        shutil.rmtree(shelf)


def test_a_database_that_somebody_else_holds_is_a_clear_error(opened, sqlite_url, monkeypatch):
    monkeypatch.setattr("sottovoce.rounds.stores.sql.database.BUSY_SECONDS", 0.05)
    study = opened(sqlite_url, **sums())
    ids = study.ask(5).ids
    other = raw(sqlite_url)
    other.execute("BEGIN IMMEDIATE")
    for call in (study.ask, lambda: study.tell(ids, losses_of(ids)), lambda: study.forget(ids)):
        with pytest.raises(
            StorageError, match="another process has held the database for too long; nothing was change"
        ):
            call()
    assert told(study) == told(opened(sqlite_url)) == (5, 0, 5)  # who only looks is not held up
    other.execute("ROLLBACK")
    other.close()
    assert told(study) == (5, 0, 5)
    study.tell(ids, losses_of(ids))
    assert told(study) == (5, 5, 0)


@pytest.mark.parametrize("when", ["before the call", "within it"])
def test_a_connection_that_a_server_ends_is_made_again_and_every_loss_counts_once(
    when, opened, postgres_url, monkeypatch
):
    study = opened(postgres_url, **sums())
    ids = ask_and_tell(study, 9, told=4)
    left = [when == "within it"]

    def end(statement=""):
        if statement.startswith("UPDATE sottovoce_chunks") and left[0]:
            left[0] = False
            outside(
                postgres_url,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )

    watch(end, put=monkeypatch.setattr)
    if when == "before the call":
        left[0] = True
        end("UPDATE sottovoce_chunks")
    study.tell(ids[4:8], losses_of(ids[4:8]))
    study.tell(ids[8], 0.5)
    assert left == [False]
    assert told(study) == (9, 9, 0)
    assert study.verify().ok


def test_what_is_no_storage_is_named_and_left_alone(opened, tmp_path):
    for path, made, words in (
        ("missing/study.db", sums(), r"the folder .*missing does not exist: create it first"),
        ("", sums(), "is a folder, not a database file"),
        ("none.db", {}, "there is no file"),
    ):
        with pytest.raises(StorageError, match=words):
            opened(f"sqlite:///{tmp_path / path}", **made)
    assert list(tmp_path.iterdir()) == []
    notes = tmp_path / "notes.db"
    notes.write_bytes(b"Dear diary, " * 1000)
    for made in ({}, sums()):
        with pytest.raises(StudyDamaged, match="is damaged, or no database at all"):
            opened(f"sqlite:///{notes}", **made)
    assert notes.read_bytes() == b"Dear diary, " * 1000
    with pytest.raises(StorageError, match=r"127\.0\.0\.1.*cannot be reached") as refused:
        opened("postgresql://user:secret@127.0.0.1:1/base", **sums())
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None


COUNTERS = ("clock", "horizon", "version", "incarnation", "next_place", "erased", "patience", "made", "secret")
DAMAGE = [("sottovoce_streams", "believed"), *(("sottovoce_books", one) for one in COUNTERS)]


@pytest.mark.parametrize(("table", "column"), DAMAGE)
def test_damage_to_what_an_open_study_needs_is_noticed_when_it_is_read(table, column, opened, sqlite_url):
    study = opened(sqlite_url, **ball())
    ask_and_tell(study, 20, told=18)
    study.close()
    ((value,),) = outside(sqlite_url, f"SELECT {column} FROM {table}")
    changed = value + 1 if isinstance(value, int) else value[:-3] + bytes([value[-3] ^ 4]) + value[-2:]
    outside(sqlite_url, f"UPDATE {table} SET {column} = ?", changed)
    listing = [lambda: list_studies(sqlite_url)] if column == "made" else []
    for look in (lambda: opened(sqlite_url).ask(), lambda: state_stored(sqlite_url, "study"), *listing):
        with pytest.raises(StudyDamaged, match="checksum"):
            look()


def damaged(slots):
    slots[2] ^= 4


def doubled(slots):
    slots[3] = slots[2]


def elsewhere(slots):
    slots[2], slots[3] = slots[3].copy(), slots[2].copy()


@pytest.mark.parametrize("change", [damaged, doubled, elsewhere, None])
def test_losses_that_are_damaged_or_gone_are_noticed_before_they_are_released(change, opened, sqlite_url):
    study = opened(sqlite_url, **ball())
    ids = ask_and_tell(study, 8, told=7)
    if change is None:
        outside(sqlite_url, "DELETE FROM sottovoce_chunks")
    else:
        study.close()
        slots = np.frombuffer(bytes(Look(sqlite_url).chunks[0].slots), dtype=">i4").copy()
        change(slots)
        outside(sqlite_url, "UPDATE sottovoce_chunks SET slots = ?", slots.tobytes())
        study = opened(sqlite_url)
    for call in (lambda: study.tell(ids[7], 0.5), study.status):
        with pytest.raises(StudyDamaged):
            call()
    assert Look(sqlite_url).closed == {}


def test_a_damaged_round_that_is_over_is_noticed_when_it_is_needed(opened, url):
    study = opened(url, **ball())
    ids = ask_and_tell(study, 8)
    bad = bytearray(Look(url).releases[0].released)
    bad[-1] ^= 1
    outside(url, "UPDATE sottovoce_releases SET released = ?", bytes(bad))
    for call in (lambda: study.tell(ids[0], 0.5), opened(url).recommend):
        with pytest.raises(StudyDamaged, match="checksum"):
            call()


def test_a_study_that_somebody_deletes_while_another_opens_it_is_a_clear_error(opened, url, monkeypatch):
    opened(url, **sums()).close()

    def too_late(*made):
        delete_study(url, "study")
        return stored(*made)

    stored = opening.stored_configuration
    monkeypatch.setattr(opening, "stored_configuration", too_late)
    with pytest.raises(StudyNotFound, match="no such study"):
        opened(url)
