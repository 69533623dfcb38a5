"""What a database has to do for a store: files of their owner, servers that go, triggers refused, a third kind.

Erasure, threads, forks and kills are tested where people meet them, in tests/studies.
"""

import contextlib
import os
import signal
import sqlite3
import threading
import time

import pytest
from psycopg.errors import LockNotAvailable

from children import at_once
from sampling import every
from sottovoce.errors import StorageError, StudyBehind
from sottovoce.rounds.stores.sql import database
from sottovoce.rounds.stores.sql.database import KINDS, open_database
from sottovoce.rounds.stores.sql.errors import Deadlock
from sottovoce.rounds.stores.sql.postgresql import PostgresServer
from sottovoce.rounds.stores.sql.sqlite import SqliteFile
from storages import lease_ahead, outside, path_of

from .tools import STREAMS, ask, close, open_book, opened, tell


class ToyFile(SqliteFile):
    """A third kind of database: a file, and a line in `KINDS`."""


def test_a_third_kind_of_database_is_a_class_and_a_line(shelf, monkeypatch):
    monkeypatch.setitem(KINDS, "toy", f"{__name__}:ToyFile")
    monkeypatch.setattr(database, "import_module", lambda name: __import__("sys").modules[name])
    with opened(f"toy:///{shelf}/toys.db") as (book,):
        tell(book, ask(book, 40))
        assert isinstance(book.store._base, ToyFile)
        assert book.store.closed()[0] == 1


@every(
    ("url", "words"),
    [
        ("mysql://root:secret@host/x", "one of kind 'mysql', which is not supported"),
        ("sqlite3:///x.db", "one of kind 'sqlite3'"),
        ("user:secret@host", "a text without '://'"),
        ("prices.db", "'prices.db'"),
        (7, "something of type int"),
    ],
)
def test_any_other_kind_is_refused_at_the_door(url, words):
    with pytest.raises(ValueError, match="url must be like") as refused:
        open_database(url)
    assert words in str(refused.value)
    assert "secret" not in str(refused.value)


@every("url", ["sqlite://", "sqlite:///:memory:", "sqlite:///x.db?mode=memory"])
def test_a_database_in_memory_is_refused(url):
    with pytest.raises(ValueError, match="does not survive"):
        open_database(url)


# ---------------------------------------------------------------------- erasure


def test_that_a_log_is_empty_is_on_record_once_somebody_has_looked(sqlite_url):
    """A book that ends with a release has nothing to write with which it could be said otherwise."""
    with opened(sqlite_url, 2) as (book, other):
        tell(book, ask(book, 30))
        assert [book.store.erase(), other.store.erase()] == [0, 0]
        other.store.check()
        assert other.store._seen.erased == 1


def test_a_log_begins_again_though_nothing_is_released(sqlite_url):
    with opened(sqlite_url, size=400) as (book,):
        for one in ask(book, 300):
            tell(book, [one])
        assert os.path.getsize(path_of(sqlite_url) + "-wal") < 128 * 4096  # every tell adds a page or two


# ---------------------------------------------------------------------- servers


def test_a_lease_holds_up_others_for_two_answers(postgres_url, monkeypatch):
    """It begins with the lock of the book, and commits with all that it writes."""
    journeys, send = [], PostgresServer._journey

    def journey(self, steps):
        journeys.append([statement.split()[0] for statement, _ in steps])
        return send(self, steps)

    with opened(postgres_url) as (book,):
        ask(book, 5)
        monkeypatch.setattr(PostgresServer, "_journey", journey)
        ask(book, 5)
        assert journeys[-3:] == [["BEGIN", "SELECT"], ["SELECT"], ["UPDATE", "UPDATE", "UPDATE", "COMMIT"]]


def test_what_a_call_wants_is_asked_while_nobody_else_can_lease(url):
    """Evaluations read there what the last call has left of a block, and write what they leave."""
    with opened(url) as (book,):
        ask(book, 5)
        asked = []

        def lock():
            if url.startswith("postgresql"):
                outside(url, "SELECT 1 FROM sottovoce_books FOR UPDATE NOWAIT")
            with contextlib.closing(sqlite3.connect(path_of(url), timeout=0)) as other:
                other.execute("BEGIN IMMEDIATE")

        def orders():
            with pytest.raises((sqlite3.OperationalError, LockNotAvailable)) as refused:
                lock()
            asked.append("lock" in str(refused.value))
            return {0: 1}

        book.store.reserve(orders, book._begin, book.policy.draw, 1)
        assert asked == [True]


def test_transactions_that_wait_in_a_circle_are_carried_out_again(postgres_url):
    with opened(postgres_url, 2) as books:
        chunks = [ask(books[0], 3, stream)[0] >> 6 & 2**30 - 1 for stream in (0, 1)]
        meet, turns = threading.Barrier(2), []

        def lock(number):
            base = books[number].store._base

            def work():
                turns.append(1)
                base.run("SELECT 1 FROM sottovoce_chunks WHERE chunk = ? FOR UPDATE", chunks[number])
                if len(turns) <= 2:
                    meet.wait()
                base.run("SELECT 1 FROM sottovoce_chunks WHERE chunk = ? FOR UPDATE", chunks[1 - number])

            base.transaction(work)

        at_once(lock, 2)
        assert len(turns) >= 3  # whoever goes again may be quicker than the one that waited


def test_a_deadlock_that_comes_again_and_again_is_an_error_in_the_end(url):
    with opened(url) as (book,):
        tries = []

        def work():
            tries.append(1)
            raise Deadlock("again")

        with pytest.raises(Deadlock):
            book.store._base.transaction(work)
        assert len(tries) == 5


# ---------------------------------------------------------------------- foreign things

TRIGGER = "CREATE TRIGGER keeper AFTER UPDATE ON {} BEGIN SELECT 1; END"
ON_A_SERVER = {
    "trigger": (
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
        "CREATE TRIGGER keeper AFTER INSERT ON {} FOR EACH ROW EXECUTE FUNCTION keep()",
    ),
    "rule": (
        "CREATE TABLE kept (one int)",
        "CREATE RULE keeper AS ON INSERT TO {} DO ALSO INSERT INTO kept VALUES (1)",
    ),
    "view or foreign table": ("CREATE VIEW {} AS SELECT 1 AS number",),
}


@pytest.mark.parametrize("table", ["sottovoce_chunks", "SOTTOVOCE_BOOKS"])
def test_a_trigger_that_could_keep_losses_is_refused_whenever_it_comes(table, sqlite_url):
    with opened(sqlite_url) as (book,):
        ids = ask(book, 5)
        outside(sqlite_url, TRIGGER.format(table))
        for call in (lambda: tell(book, ids), lambda: close(open_book(sqlite_url, "another"))):
            with pytest.raises(StorageError, match="a trigger of somebody else's at 'keeper', which could keep losses"):
                call()
        outside(sqlite_url, "DROP TRIGGER keeper")
        tell(book, ids)


@pytest.mark.parametrize("kind", ON_A_SERVER)
def test_a_servers_trigger_rule_or_view_is_refused(kind, postgres_url):
    if "view" not in kind:
        close(open_book(postgres_url))
    for statement in ON_A_SERVER[kind]:
        outside(postgres_url, statement.format("sottovoce_chunks"))
    with pytest.raises(StorageError, match=f"(holds )?a {kind} of somebody else's at 'sottovoce_chunks'"):
        open_book(postgres_url)


@pytest.mark.parametrize(
    "what", ["VIEW sottovoce_chunks AS SELECT 1 AS x", "VIRTUAL TABLE sottovoce_chunks USING fts5(x)"]
)
def test_something_else_in_place_of_a_table_is_refused(what, sqlite_url):
    outside(sqlite_url, f"CREATE {what}")
    with pytest.raises(StorageError, match="of somebody else's at 'sottovoce_chunks'"):
        open_book(sqlite_url)


# ---------------------------------------------------------------------- what rounds and leases say


def test_settings_hold_for_all_processes_and_streams_have_their_names_once(url):
    with opened(url, 2) as (one, other):
        one.store.change_settings(patience=70, deadline=24 * 3600.0)
        other.store.check()
        assert other.store.settings() == (70, 86400.0)
        assert [one.store.stream("new"), other.store.stream("new"), one.store.stream("0")] == [STREAMS, STREAMS, 0]


def test_a_storage_that_is_restored_as_a_call_begins_leases_nothing_in_streams_that_may_be_others(
    sqlite_url, monkeypatch
):
    with opened(sqlite_url, 2) as (book, other):
        ask(book, 5, 1)
        book.store.close()
        other.store.restore()
        for number, name in ((1, "a"), (2, "1"), (1, "2")):
            outside(sqlite_url, f"UPDATE sottovoce_streams SET name = '{name}' WHERE stream = {number}")
        with monkeypatch.context() as patch:
            patch.setattr(book.store, "check", lambda: None)  # it had looked just before
            with pytest.raises(StudyBehind, match="restored"):
                book.ask_block(5, 1)
        book.ask_block(5, 1)
        asked = outside(sqlite_url, "SELECT stream FROM sottovoce_rounds WHERE open = 1")
        assert asked == [(2,)]  # which has the name now that stream 1 had


def test_whoever_finds_a_file_busy_waits_for_its_turn_and_goes_on(sqlite_url):
    with opened(sqlite_url) as (book,), contextlib.closing(sqlite3.connect(path_of(sqlite_url), timeout=60)) as other:
        ids = ask(book, 5)
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        telling = threading.Thread(target=tell, args=(book, ids))
        telling.start()
        telling.join(0.2)
        assert telling.is_alive()
        other.execute("COMMIT")
        telling.join()
        assert not book.store.waiting().size


def test_whoever_leases_ahead_leaves_the_next_chunk_to_others(url, monkeypatch):
    lease_ahead(monkeypatch)
    leases = set()
    with opened(url, 2, horizon=100_000, size=400) as books:
        for book in books * 200:
            book.ask_one(0)
            lease = book.store.leases[0]
            leases.add((lease.first & 2**30 - 1, lease.size))
    assert max(size for _, size in leases) in (64, 96)  # of a round of 400: from a place half-way through a chunk on
    assert all((first + size) % 64 == 0 or first >> 6 == first + size - 1 >> 6 for first, size in leases)


class Cut:
    """A driver's object, whose user is interrupted where it would call one of its methods."""

    def __init__(self, real, at, **others):
        self.real, self.at = real, at
        vars(self).update(others)

    def __getattr__(self, name):
        if name == self.at:
            raise KeyboardInterrupt
        return getattr(self.real, name)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("at", ["send_query_prepared", "pipeline_sync", "flush", "is_busy", "exit_pipeline_mode"])
def test_an_interrupt_of_what_is_sent_together_waits_for_nothing(at, postgres_url):
    base = open_database(postgres_url)
    two = [("SELECT 1", ()), ("SELECT 2", ())]
    base.transaction(lambda: base.batch(two))
    real = base._raw
    base._raw = Cut(real, "", pgconn=Cut(real.pgconn, at))
    with pytest.raises(KeyboardInterrupt):
        base.transaction(lambda: base.batch(two))
    assert base.transaction(lambda: base.batch(two)) == [[(1,)], [(2,)]]
    assert real.closed
    base.close()


@pytest.mark.timeout(60)
def test_an_interrupt_ends_the_wait_for_a_lock_here_and_on_the_server(postgres_url):
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND position('books' IN query) > 0"
    with opened(postgres_url, 2) as (book, other):

        def interrupt():
            while not outside(postgres_url, waiting):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        def within():
            other.store._base.run("SELECT 1 FROM sottovoce_books FOR UPDATE")
            threading.Thread(target=interrupt).start()
            with pytest.raises(KeyboardInterrupt):
                book.ask_block(5, 0)
            assert not outside(postgres_url, waiting)

        other.store._base.transaction(within)
        assert len(ask(book, 5)) == 5


def test_values_come_back_as_they_were_sent(postgres_url):
    base = open_database(postgres_url)
    base.run("CREATE TABLE odd (a bigint, b smallint, c double precision, d text, e bytea)")
    rows = [(-(2**63), -7, 0.1, "\u00fc \u2603 '", b"\x00\xff"), (2**63 - 1, 7, -1e300, "", b""), (None,) * 5]
    for row in rows:
        base.transaction(lambda row=row: base.run("INSERT INTO odd VALUES (?, ?, ?, ?, ?)", *row))
    assert base.run("SELECT * FROM odd") == rows
    with pytest.raises(ValueError, match="character NUL"):
        base.run("SELECT a FROM odd WHERE d = ?", "a\x00b")
    base.close()


def test_more_than_any_buffer_holds_is_sent_and_answered_together(postgres_url):
    """Neither side may wait for the other to read: eight megabytes go each way."""
    base = open_database(postgres_url)
    steps = [("SELECT CAST(? AS bytea)", (bytes([one]) * 2**20,)) for one in range(8)]
    assert base.transaction(lambda: base.batch(steps)) == [[(values[0],)] for _, values in steps]
    base.close()
