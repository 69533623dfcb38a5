"""Where the service keeps its own things: made once, for the owner alone, seen by all processes at once."""

import contextlib
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from sampling import every
from sottovoce.errors import StorageError
from sottovoce.service.store import ServiceStore

INSERT = "INSERT INTO sottovoce_service_requests (study, client, request, asks, answer, at) VALUES (?, ?, ?, ?, ?, ?)"
COUNT = "SELECT count(*) FROM sottovoce_service_requests"


@pytest.fixture
def store(url):
    with contextlib.closing(ServiceStore(url)) as with_tables:
        yield with_tables


def insert(run, request):
    run(INSERT, "spring", "someone", request, "one", b"answer", 1.5)


def put(store, request):
    store.transaction(lambda run: insert(run, request))


def count(store):
    return store.read(COUNT)[0][0]


def test_an_error_undoes_the_whole_transaction_and_reading_waits_for_none(store):
    def fail(run):
        insert(run, b"1")
        assert count(store) == 0
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


def test_those_who_start_together_make_one_set_of_tables(url):
    def start(_):
        with contextlib.closing(ServiceStore(url)) as store:
            return store.read("SELECT * FROM sottovoce_service_version")

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(start, range(6))) == [[(1,)]] * 6


def test_tables_of_another_version_are_refused_and_left_alone(store, url):
    store.transaction(lambda run: run("UPDATE sottovoce_service_version SET version = 2"))
    with pytest.raises(StorageError, match="version 2, and this sottovoce knows 1"):
        ServiceStore(url)


@every("folder", ["deep", "what?", "100%41", "a b&c#d"])
def test_a_file_beside_the_studies_for_the_owner_alone_under_each_of_its_names(shelf, folder):
    (shelf / folder).mkdir()
    (shelf / folder / "spring.db").touch(0o600)
    (shelf / "link.db").symlink_to(shelf / folder / "spring.db")
    with contextlib.closing(ServiceStore(f"sqlite:///{shelf}/link.db")) as store:
        assert store._writer.path == shelf / folder / "spring.service.db"
        put(store, b"1")
        for path in (shelf / folder).iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        for name, expected in (("synchronous", 2), ("journal_mode", "wal")):
            assert store.transaction(lambda run, name=name: run(f"PRAGMA {name}")) == [(expected,)]
    (shelf / "link.db").unlink()
