"""What is said of a database's error follows from its code: a driver's words change with version and language."""

import sqlite3

import psycopg
import pytest

from sampling import every
from sottovoce.errors import StorageError, StudyDamaged
from sottovoce.rounds.stores.sql.database import open_database
from sottovoce.rounds.stores.sql.errors import explained, is_busy

FULL, HELD, NOT_KNOWN = "the disk is full", "another process has held the database", "could not finish"


def of_sqlite(code, words="etwas ist schiefgegangen"):
    problem = sqlite3.OperationalError(words)
    if code is not None:
        problem.sqlite_errorcode = code
    return problem


def of_postgresql(code):
    return psycopg.errors.lookup(code)("quelque chose: loss 0.123")


@every(
    ("problem", "words"),
    [
        (of_sqlite(sqlite3.SQLITE_FULL), FULL),
        (of_sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT), HELD),  # an extended code of SQLITE_BUSY
        (of_sqlite(sqlite3.SQLITE_LOCKED), HELD),
        (of_sqlite(sqlite3.SQLITE_READONLY_DBMOVED), "it cannot be written"),
        (of_sqlite(sqlite3.SQLITE_CANTOPEN), "it cannot be opened"),
        (of_sqlite(sqlite3.SQLITE_IOERR_WRITE), NOT_KNOWN),
        (of_sqlite(sqlite3.SQLITE_IOERR_WRITE, "the disk is full, locked and read-only"), NOT_KNOWN),
        (of_sqlite(None, "database is locked"), NOT_KNOWN),
        (of_postgresql("53100"), FULL),
        (of_postgresql("55P03"), HELD),
        (of_postgresql("40P01"), HELD),
        (of_postgresql("25P03"), "stood still within a transaction"),
        (of_postgresql("42501"), "it cannot be written"),
        (of_postgresql("42P01"), "not those that a study needs"),
        (of_postgresql("57P01"), NOT_KNOWN),
        (psycopg.OperationalError("the connection is lost: disk full"), NOT_KNOWN),
    ],
)
def test_a_code_decides_and_no_word(problem, words):
    found = explained(problem, "the storage")
    assert isinstance(found, StorageError)
    assert words in str(found)
    assert ("nothing was changed" in str(found)) == (words not in (NOT_KNOWN, "it cannot be opened"))
    assert "0.123" not in str(found)


@every("code", [sqlite3.SQLITE_CORRUPT_INDEX, sqlite3.SQLITE_NOTADB])
def test_damage_is_told_by_its_code(code):
    assert isinstance(explained(of_sqlite(code), "the storage"), StudyDamaged)


def test_what_is_busy_is_tried_again_and_what_only_says_so_is_not(sqlite_url, monkeypatch):
    assert is_busy(of_sqlite(sqlite3.SQLITE_BUSY_RECOVERY))
    assert not is_busy(of_sqlite(sqlite3.SQLITE_IOERR, "the disk is busy, and the file locked"))
    storage = open_database(sqlite_url)

    def broken():
        raise of_sqlite(sqlite3.SQLITE_IOERR, "busy")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "_connect", broken)
        with pytest.raises(StorageError, match=NOT_KNOWN):
            storage.erase()
    assert storage.erase()
    storage.close()
