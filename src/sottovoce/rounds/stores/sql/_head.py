"""The head of a book: its counters, under one lock; and whether they have gone back since somebody saw them."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sottovoce._records import checksum
from sottovoce.errors import StudyDamaged
from sottovoce.rounds.stores.sql._writers import Writers
from sottovoce.rounds.stores.sql.database import Database

__all__ = ["Head", "read_head", "save_head"]

_COLUMNS = (
    "incarnation",
    "horizon",
    "clock",
    "next_place",
    "version",
    "erased",
    "patience",
    "deadline",
    "writers",
)
_values = attrgetter(*_COLUMNS)


@dataclass(slots=True)
class Head:
    """What changes as slots are leased and rounds are released. All of it is public.

    Attributes
    ----------
    clock
        Events that were asked, of all streams; those that processes have leased, and not handed out, among them.
    next_place
        Where the next round begins.
    version
        Raised by every change; `writers` are the latest who made one.
    erased
        Releases whose losses are gone from logs, too, as far as that is on record.
    """

    book: int
    incarnation: int = 1
    horizon: int | None = None
    clock: int = 0
    next_place: int = 0
    version: int = 0
    erased: int = 0
    patience: int | None = None
    deadline: float | None = None
    writers: bytes = b""

    def seal(self) -> bytes:
        """Return a checksum of everything."""
        return checksum(repr([self.book, *_values(self)]).encode())

    def is_older_than(self, seen: "Head") -> bool:
        """Say whether a storage with this has gone back in time, or another way, since that was seen."""
        if self.incarnation != seen.incarnation:  # a new one has begun since: nothing of the old one goes on
            return self.incarnation < seen.incarnation
        if self.version <= seen.version:
            return self != seen
        return not Writers(self.writers).follows(Writers(seen.writers))


_READ = f"SELECT {', '.join(_COLUMNS)}, seal"
_SAVE = f"UPDATE sottovoce_books SET {', '.join(f'{name} = ?' for name in (*_COLUMNS, 'seal'))} WHERE book = ?"


def read_head(base: Database, book: int, more: str = "", *values: Any, lock: bool = False) -> tuple[Head, list[Any]]:
    """Return the head of a book, and the values of more expressions; if it is asked for, hold its lock."""
    statement = f"{_READ}{more} FROM sottovoce_books b WHERE book = ?{base.lock if lock else ''}"
    rows = base.run(statement, *values, book)
    if not rows:
        raise StudyDamaged(f"the book with number {book} is gone from the storage")
    found = dict(zip((*_COLUMNS, "seal"), rows[0], strict=False))
    seal = found.pop("seal")
    head = Head(book, **found)
    if bytes(seal) != head.seal():
        raise StudyDamaged("the counters of the study fail their checksum: restore a backup, with restored=True")
    return head, list(rows[0][len(_COLUMNS) + 1 :])


def save_head(head: Head) -> tuple[str, Any]:
    """Return the statement that stores a head, and its values."""
    return _SAVE, (*_values(head), head.seal(), head.book)
