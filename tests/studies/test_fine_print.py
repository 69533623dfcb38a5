"""Temporary files, lax servers, foreign tables, odd names, errors that mislead or tell too much, calls out of turn."""

import collections
import sqlite3
import threading

import pytest
from study_tools import Look, ball, losses_of, path_of, raw, sums, watch

import sottovoce as sv
from sampling import every
from sottovoce.errors import StorageError
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.store import SqlStore
from sottovoce.studies import verify_stored
from sottovoce.studies.opening import AUTO


def test_no_temporary_file_ever_holds_losses(opened, sqlite_url, monkeypatch):
    """SQLite sorts in memory; and what reads losses has an index in order, so there is nothing to sort."""
    study, sent = opened(sqlite_url, patience=5, **sums()), set()
    watch(sent.add, put=monkeypatch.setattr)
    ids = study.ask(60).ids
    study.forget(ids[3])
    study.tell(ids[20:40:3], losses_of(ids[20:40:3]))
    study.tell(ids[:12][::-1], losses_of(ids[:12]), late="drop")
    study.ask(30)
    study.ask()
    study.outstanding()
    study.verify()
    assert study.round > 2
    reading = [one for one in sent if "slots" in one and one.startswith("SELECT")]
    assert len(reading) > 3
    database, anything = raw(sqlite_url), collections.defaultdict(int)
    for statement in reading:
        values = anything if ":" in statement else [0] * statement.count("?")
        plan = " ".join(str(row) for row in database.execute(f"EXPLAIN QUERY PLAN {statement}", values))
        assert "TEMP B-TREE" not in plan, statement
    database.close()


@every("url", ["sqlite:///file:u.db?uri=true", "sqlite:///u.db?vfs=unix-none", "sqlite:///u.db?nolock=1"])
def test_uris_that_undo_locks_or_permissions_are_refused(url, opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="plain file"):
        opened(url, **sums())
    assert not list(tmp_path.iterdir())


def test_a_server_that_forgets_commits_is_told_not_to(opened, postgres_url):
    lax = postgres_url + ("%20" if "options=" in postgres_url else "?options=") + "-csynchronous_commit%3Doff"
    base = open_database(lax)
    durable = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "on")
    for setting, expected in {**durable, "transaction_isolation": "read committed"}.items():
        assert base.transaction(lambda setting=setting: base.run(f"SHOW {setting}")) == [(expected,)]
    base.close()


def test_what_is_on_record_is_not_called_a_failure(opened, sqlite_url, monkeypatch):
    study = opened(sqlite_url, **sums())
    ids = study.ask(12).ids

    def no_room(*_):
        raise StorageError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "release", no_room)
        study.tell(ids, losses_of(ids))  # on record, though its round cannot be closed
        assert len(study.ask(5)) == 5  # nor is any action lost
        for looking in (study.status, study.outstanding, study.recommend, study.history):
            with pytest.raises(StorageError, match="full"):  # that closing fails can be seen here
                looking()
    assert Look(sqlite_url).counters.clock == 17
    assert study.status().round == 1
    assert study.status().told == 12


def test_no_call_shares_the_transaction_of_a_release(opened, sqlite_url, monkeypatch):
    """What follows from a release must not be used before it is committed, by another thread's call least of all."""
    study = opened(sqlite_url, **ball(privacy=sv.PureDP(1.0)))
    ids = study.ask(8).ids
    other = threading.Thread(target=study.change, kwargs={"patience": 77})
    kind, alone = type(study._policy), []
    compute = kind.compute

    def watched(self, *facts):
        other.start()
        found = compute(self, *facts)
        alone.append(Look(sqlite_url).counters.patience)
        return found

    monkeypatch.setattr(kind, "compute", watched)
    study.tell(ids, losses_of(ids))
    other.join(600)
    assert alone == [AUTO]
    assert study.status().patience == 77


def test_what_is_committed_is_on_the_disk_and_what_is_deleted_is_gone(opened, sqlite_url):
    """A killed process cannot show this: the settings are asserted on the live connection."""
    study = opened(sqlite_url, **sums())
    expected = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "temp_store": 2}
    assert {name: study._base.run(f"PRAGMA {name}")[0][0] for name in expected} == expected


@pytest.mark.filterwarnings("ignore:.* lets next to nothing be learned")
@pytest.mark.parametrize("epsilon", [1.0, 1e-4])
def test_reports_of_any_size_are_kept_as_they_are(url, opened, epsilon):
    """Slots are as large as what they hold: reports of owners may be far larger than losses on their grid."""
    made = ball(domain=sv.domains.Simplex(3), horizon=3_000, privacy=sv.LocalDP(epsilon))
    study = opened(url, **made | {"batch_size": 39})  # an odd number: one direction has an event without its opposite
    largest = study.channel.most_report
    actions = study.ask(45)
    study.tell(actions.ids[:40], report=[largest] * 40)
    study.tell(actions.ids[40], report=study.channel.least_report)
    assert study.round == 1
    released, weights = study._store.releases(0, 0)[0].numbers
    assert weights.any()
    assert (released == weights * largest).all()  # the noise is in the reports
    assert study.verify().ok
    assert study.status().outstanding == 4


# ---------------------------------------------------------------------- what others may have put there, and odd names


def test_tables_of_others_are_their_business(opened, sqlite_url):
    with sqlite3.connect(path_of(sqlite_url)) as connection:
        connection.executescript(
            "CREATE TABLE notes (text); CREATE TABLE log (text);"
            "CREATE TRIGGER t AFTER INSERT ON notes BEGIN INSERT INTO log VALUES (NEW.text); END;"
        )
    connection.close()
    assert len(opened(sqlite_url, **sums()).ask(3)) == 3


@every("name", ["", "x" * 201, "\ud800", "a\x00b", "two\nlines", "a\x1b[31m", "\u2028", 7, None, b"x"])
def test_names_that_cannot_be_stored_or_shown_are_refused(name, opened, url):
    with pytest.raises(ValueError, match="name must be 1 to 200 letters without") as refused:
        opened(url, name, **sums())
    str(refused.value).encode("ascii")
    assert len(str(refused.value)) < 400
    with pytest.raises(ValueError, match="name must be 1 to 200 letters"):
        verify_stored(url, name)


@every("name", ["x" * 200, "été 🎉", "a'b\"c;--", "%s {} \\", "  "])
def test_names_that_are_unusual_work(name, opened, url):
    opened(url, name, **sums()).ask(2)
    assert opened(url, name).status().asked == 2


def longest_statement(opened, url, name, rounds):
    """Return how long the longest statement was while so many rounds were open, read elsewhere, and closed."""
    lengths = []
    with pytest.MonkeyPatch.context() as patch:
        watch(lambda statement: lengths.append(len(statement)), put=patch.setattr)
        study = opened(url, name, patience=None, **sums())
        ids = study.ask(12 * rounds).ids
        study.tell(ids[1:], losses_of(ids[1:]))  # the first round waits, and all after it
        assert opened(url, name).status().open_rounds == rounds
        study.tell(ids[0], losses_of(ids[:1])[0])
        assert study.status().round == rounds
    return max(lengths)


def test_no_statement_has_a_parameter_for_each_round(opened, url):
    """Databases take some tens of thousands in a statement, and there may be any number of open rounds."""
    assert longest_statement(opened, url, "few", 2) == longest_statement(opened, url, "many", 40)
