"""Where the service keeps its own things: made once, for the owner alone, seen by all processes at once."""

import os
import signal
import sqlite3
import stat
import threading

import pytest

from sampling import every
from sottovoce.errors import StorageError
from sottovoce.service.store import ServiceStore

INSERT = "INSERT INTO sottovoce_service_requests (study, client, request, asks, answer, at) VALUES (?, ?, ?, ?, ?, ?)"
COUNT = "SELECT count(*) FROM sottovoce_service_requests WHERE study = ?"


@pytest.fixture
def store(url):
    with_tables = ServiceStore(url)
    yield with_tables
    with_tables.close()


def put(store, request, study="spring"):
    store.transaction(lambda run: insert(run, request, study))


def insert(run, request, study="spring"):
    run(INSERT, study, "someone", request, "one", b"answer", 1.5)


def count(store, study="spring"):
    return store.read(COUNT, study)[0][0]


def test_what_is_committed_is_read_by_another_store_at_once(store, url):
    other = ServiceStore(url)
    for n in range(5):
        put(store, bytes([n]))
        assert count(other) == count(store) == n + 1
    rows = store.read("SELECT * FROM sottovoce_service_requests WHERE request = ?", b"\x00")
    assert rows == [("spring", "someone", b"\x00", "one", b"answer", 1.5)]
    other.close()


def test_an_error_undoes_the_whole_transaction(store):
    def fail(run):
        insert(run, b"1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.transaction(fail)
    assert count(store) == 0
    put(store, b"1")
    with pytest.raises(StorageError) as refused:
        put(store, b"1")
    assert "someone" not in str(refused.value)
    assert refused.value.__cause__ is None
    put(store, b"2")
    assert count(store) == 2


def test_reading_waits_for_no_transaction(store):
    def look(run):
        insert(run, b"1")
        return count(store)

    assert store.transaction(look) == 0
    assert count(store) == 1


def test_many_threads_share_a_store(store):
    def work(first):
        for n in range(10):
            put(store, bytes([first, n]))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(store) == 80


def test_those_who_start_together_make_one_set_of_tables(url):
    together, found = threading.Barrier(6), []

    def start():
        together.wait()
        store = ServiceStore(url)
        found.append(tuple(store.read("SELECT * FROM sottovoce_service_version")))
        store.close()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1
    assert len(found[0]) == 1


def test_tables_of_another_version_are_refused_and_left_alone(store, url):
    store.transaction(lambda run: run("UPDATE sottovoce_service_version SET version = 2"))
    with pytest.raises(StorageError, match="version 2, and this sottovoce knows 1"):
        ServiceStore(url)


def test_a_file_beside_the_studies_for_the_owner_alone(shelf):
    store = ServiceStore(f"sqlite:///{shelf}/spring.db")
    assert store.path == shelf / "spring.service.db"
    assert not (shelf / "spring.db").exists()
    put(store, b"1")
    for path in shelf.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    for name, expected in (("synchronous", 2), ("journal_mode", "wal")):
        assert store.transaction(lambda run: run(f"PRAGMA {name}")) == [(expected,)]  # noqa: B023
    store.close()


def test_a_storage_has_the_same_keys_under_each_of_its_names(shelf):
    (shelf / "deep").mkdir()
    (shelf / "deep" / "spring.db").touch()
    (shelf / "link.db").symlink_to(shelf / "deep" / "spring.db")
    store, linked = ServiceStore(f"sqlite:///{shelf}/deep/spring.db"), ServiceStore(f"sqlite:///{shelf}/link.db")
    assert store.path == linked.path == shelf / "deep" / "spring.service.db"
    store.close()
    linked.close()


@every(
    ("url", "words"),
    [
        ("mysql://me:secret@host/x", "'mysql', which is not supported"),
        ("sqlite://", "in memory"),
        ("spring", "'spring'"),
    ],
)
def test_urls_that_name_no_storage_are_refused(url, words):
    with pytest.raises(ValueError, match=words) as refused:
        ServiceStore(url)
    assert "secret" not in str(refused.value)


@every("folder", ["what?", "100%41", "a b&c#d"])
def test_odd_folders_are_found(shelf, folder):
    (shelf / folder).mkdir()
    (shelf / "link").symlink_to(shelf / folder)
    store = ServiceStore(f"sqlite:///{shelf}/link/spring.db")
    assert store.path == shelf / folder / "spring.service.db"
    put(store, b"1")
    assert (shelf / folder / "spring.service.db").exists()
    store.close()
    (shelf / "link").unlink()


def test_it_goes_on_when_the_database_comes_back(own_server):
    store = ServiceStore(f"{own_server.url}/postgres")
    put(store, b"1")
    assert count(store) == 1
    own_server.stop(signal.SIGQUIT)
    for call in (lambda: put(store, b"2"), lambda: count(store)):
        with pytest.raises(StorageError) as refused:
            call()
        assert refused.value.__cause__ is None
    own_server.start()
    put(store, b"2")
    assert count(store) == 2
    store.close()


def test_a_file_that_was_taken_away_is_noticed(shelf):
    store = ServiceStore(f"sqlite:///{shelf}/spring.db")
    assert count(store) == 0
    os.replace(shelf / "spring.service.db", shelf / "elsewhere.db")
    sqlite3.connect(shelf / "spring.service.db").close()
    for call in (lambda: put(store, b"1"), lambda: count(store)):
        with pytest.raises(StorageError, match="removed or replaced"):
            call()
    store.close()
