"""What a database's errors mean, by their codes: SQLite's result codes, PostgreSQL's SQLSTATE. Texts differ by version.

SQLite: https://www.sqlite.org/rescode.html. PostgreSQL: appendix A of its manual.
"""

import sqlite3

from sottovoce._records import DamagedRecord, Record, unpack
from sottovoce.errors import SottovoceError, StorageError, StudyDamaged

_FULL = "the disk is full; nothing was changed. Make room and try again"
_BUSY = "another process has held the database for too long; nothing was changed. Try again"
_STOOD_STILL = (
    "this process stood still within a transaction, and the server has ended it; nothing was changed. Try again"
)
_NO_WRITING = "it cannot be written; nothing was changed. Check the permissions of the file and its folder"
_NO_RIGHTS = "it cannot be written; nothing was changed. Check what the user may do there"
_NO_OPENING = "it cannot be opened. Check the path, and that its folder exists"
_OTHER_TABLES = "its tables are not those that a study needs; nothing was changed. Check what else uses it"
_UNKNOWN = (
    "the database could not finish; whether this call was recorded will be known when it is reached again. "
    "Repeat the call with repeat='ignore'"
)

_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_READONLY: _NO_WRITING,
    sqlite3.SQLITE_PERM: _NO_WRITING,
    sqlite3.SQLITE_CANTOPEN: _NO_OPENING,
}
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)
_DEADLOCKS = ("40P01", "40001")  # deadlock_detected, serialization_failure
_ENDED = ("57P01", "57P02", "57P03", "25P03")  # admin_shutdown, crash_shutdown, cannot_connect_now, and below
_POSTGRESQL = {
    **dict.fromkeys(_DEADLOCKS, _BUSY),
    "53100": _FULL,  # disk_full
    "55P03": _BUSY,  # lock_not_available: lock_timeout
    "25P03": _STOOD_STILL,  # idle_in_transaction_session_timeout
    "25006": _NO_RIGHTS,  # read_only_sql_transaction
    "42501": _NO_RIGHTS,  # insufficient_privilege
    "42P01": _OTHER_TABLES,  # undefined_table
    "42703": _OTHER_TABLES,  # undefined_column
}


class Deadlock(StorageError):
    """Transactions waited for one another, and the server has ended this one: nothing of it was recorded."""


class Lost(StorageError):
    """The connection has ended; what was committed before is on record, and nothing that was not sent to its end."""


def unpacked(data: bytes, what: str) -> Record:
    """Return a record as it was stored; say of what it is, if it is damaged."""
    try:
        return unpack(bytes(data))
    except DamagedRecord as problem:
        raise StudyDamaged(f"{what} is damaged ({problem}): restore a backup, with restored=True") from None


def is_busy(problem: BaseException) -> bool:
    """Say whether SQLite could not because somebody else is at it."""
    return _result_code(problem) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explained(problem: BaseException, storage: str, before: BaseException | None = None) -> SottovoceError:
    """Say what happened in plain words, without a driver's parameters: they may be losses.

    What was met `before` on the same connection explains an error for which the server has given no reason.
    """
    cause = before if before is not None and not getattr(problem, "sqlstate", None) else problem
    if isinstance(cause, UnicodeDecodeError):
        return StudyDamaged(f"{storage} is damaged (its schema cannot be read): restore a backup")
    if not isinstance(cause, sqlite3.Error):
        state = getattr(cause, "sqlstate", None) or ""
        advice = _POSTGRESQL.get(state, _UNKNOWN)
        lost = before is None and (not state or state[:2] == "08" or state in _ENDED)
        kind = Deadlock if state in _DEADLOCKS else Lost if lost else StorageError
        return kind(f"{storage}: {advice} ({type(cause).__name__})")
    words, code = (str(cause).splitlines() or [type(cause).__name__])[0], _result_code(cause)
    if code in _DAMAGED:
        return StudyDamaged(f"{storage} is damaged, or no database at all ({words}): restore a backup")
    return StorageError(f"{storage}: {_SQLITE.get(code, _UNKNOWN)} ({words})")


def _result_code(cause: BaseException) -> int:
    """Return SQLite's primary result code; 0, which is no error's, for what SQLite did not say."""
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF
