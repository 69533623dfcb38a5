"""People who are counted, in a database that processes share.

The count of a person is one statement: it raises the count, or finds that it must not, in a row that it has the lock
of; and a constraint says the same. It is part of the transaction that leases the slot. So two processes that ask for
one person at once never both get the last loss, and a process that is killed has counted and leased, or neither.

The key that people are hashed with lies beside an SQLite file, in one of its own that has its permissions, so that a
copy of the database alone says nothing about anybody. On a server it lies in the database.
"""

import hmac
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sottovoce._disk import write_atomically
from sottovoce.errors import StorageError
from sottovoce.rounds.people import check_of_key, people_erased, people_uncounted
from sottovoce.rounds.stores.sql._book_rows import BookCounters, BookRows, Steps
from sottovoce.rounds.stores.sql.database import Database, Row

COUNTED = "SELECT CASE WHEN key_check IS NULL THEN 0 ELSE most END FROM sottovoce_counting c WHERE c.book ="
"""How many losses a person of a book may give; 0 once people were erased, and nothing where they are not counted."""

_FIND = "SELECT most, person_key, key_check FROM sottovoce_counting WHERE book = ?"
_COUNT = (
    "INSERT INTO sottovoce_people SELECT book, ?, 1, most FROM sottovoce_counting "
    "WHERE book = ? AND key_check IS NOT NULL "
    "ON CONFLICT (book, person) DO UPDATE SET losses = sottovoce_people.losses + 1 "
    "WHERE sottovoce_people.losses < sottovoce_people.most RETURNING losses"
)


class People(BookRows):
    """How people are counted, and erased."""

    @property
    def counts_people(self) -> bool:
        """Whether people are counted, or were until they were erased."""
        return bool(self._base.run(_FIND, self._book))

    def people_key(self, most: int) -> bytes:
        """Return the key that people are hashed with; begin to count them, if nothing was asked so far."""
        found = self._base.run(_FIND, self._book)
        if not found:
            self._locked(lambda counters, steps: self._begin_counting(counters, steps, most))
            found = self._base.run(_FIND, self._book)
        _, key, check = found[0]
        if check is None:
            raise people_erased()
        return _stored(self._base, key, bytes(check))

    def _begin_counting(self, counters: BookCounters, steps: Steps, most: int) -> None:
        if self._base.run(_FIND, self._book):
            return  # another process has begun
        if counters.clock:
            raise people_uncounted()
        key = secrets.token_bytes(32)
        stored = _keep(self._base, key)  # before the commit: without it, it is a key to nothing
        steps.append(
            ("INSERT INTO sottovoce_counting VALUES (?, ?, ?, ?)", (self._book, most, stored, check_of_key(key)))
        )

    def count(self, people: Sequence[bytes]) -> list[bool]:
        """Count a loss of each hashed person; say whose was none too many."""
        return [bool(rows) for rows in self._base.batch([(_COUNT, (one, self._book)) for one in people])]

    def erase_people(self) -> int:
        """Erase who was counted, and the key, for good; return how many people there were."""

        def erase(counters: BookCounters, steps: Steps) -> int:
            ((count,),) = self._base.run("SELECT count(*) FROM sottovoce_people WHERE book = ?", self._book)
            steps.append(("DELETE FROM sottovoce_people WHERE book = ?", (self._book,)))
            end = "UPDATE sottovoce_counting SET person_key = NULL, key_check = NULL WHERE book = ?"
            steps.append((end, (self._book,)))
            return int(count)

        keys = keys_of(self._base, self._book)
        erased = self._locked(erase) or 0
        forget_keys(keys)
        self._base.erase()
        return erased


# ---------------------------------------------------------------------- keys


def keys_of(base: Database, book: int) -> list[Path]:
    """Return the files with keys of a book: one, if its people are counted and its database is a file."""
    found = base.run(_FIND, book)
    return [_file_of(base.path, bytes(check)) for _, _, check in found if check is not None and base.path is not None]


def forget_keys(files: list[Path]) -> None:
    """Remove files with keys that are of no use any more."""
    for file in files:
        file.unlink(missing_ok=True)


def carried(base: Database, target: Database, row: Row) -> Row:
    """Return how a book counts people, as another database stores it; the key is put where that one has it."""
    most, key, check = row
    return row if check is None else (most, _keep(target, _stored(base, key, bytes(check))), check)


def _file_of(path: Path, check: bytes) -> Path:
    """Return the file of a key: by the key, since the number of a book changes when it moves."""
    return Path(f"{os.path.realpath(path)}-people-{check[:6].hex()}")


def _stored(base: Database, key: Any, check: bytes) -> bytes:
    """Return the key that people are hashed with; refuse another one, with which all of them would be new."""
    file = None if base.path is None else _file_of(base.path, check)
    found = bytes(key) if file is None else b""
    if file is not None:
        with suppress(OSError):
            found = file.read_bytes()
    if not hmac.compare_digest(check_of_key(found), check):
        raise StorageError(
            f"{file or base.name} does not hold the key that people of this study were counted with: put it back, from "
            "where the study was backed up or copied. Without it nobody can be counted"
        )
    return found


def _keep(base: Database, key: bytes) -> bytes | None:
    """Put a key into its file, durably, for the owner alone; return what is stored of it in the database."""
    if base.path is None:
        return key

    def write(partial: Path) -> None:
        partial.unlink(missing_ok=True)
        partial.touch(0o600, exist_ok=False)  # before anything is in it
        partial.write_bytes(key)

    write_atomically(_file_of(base.path, check_of_key(key)), write)
    return None
