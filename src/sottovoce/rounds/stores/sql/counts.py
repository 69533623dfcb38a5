"""Where books stand: counts alone, of one or of all. Nothing here reads a loss."""

from typing import NamedTuple

from sottovoce.rounds.stores.sql.database import Database
from sottovoce.rounds.stores.sql.schema import DROPPED, RELEASED

__all__ = ["BookCounts", "counts_of", "counts_of_all"]


class BookCounts(NamedTuple):
    """Counts of a book.

    Attributes
    ----------
    incarnation
        1, unless it was restored.
    asked
        Events that were handed out, or that some process has in hand.
    closed, released, dropped, open_rounds
        Rounds: closed; of these released, and dropped by a restoration; and open.
    told, forgotten, waiting
        Events with their loss, without it for good, and without it so far.
    overdue
        Open rounds whose deadline has passed, and that no process has closed since.
    erasure_pending
        Closed rounds whose losses are deleted, but may linger in the database's log.
    """

    incarnation: int
    asked: int
    closed: int = 0
    released: int = 0
    dropped: int = 0
    open_rounds: int = 0
    told: int = 0
    forgotten: int = 0
    waiting: int = 0
    overdue: int = 0
    erasure_pending: int = 0


def counts_of(base: Database, book: int) -> BookCounts:
    """Count for one book."""
    return counts_of_all(base, book)[book]


def counts_of_all(base: Database, book: int | None = None) -> dict[int, BookCounts]:
    """Count for all books of a database, or for one."""
    one, values = ("", ()) if book is None else (" WHERE b.book = ?", (book,))
    heads = base.run(
        f"SELECT b.book, b.incarnation, b.clock, b.erased, b.slot_bytes FROM sottovoce_books b{one}", *values
    )
    rounds = base.run(
        "SELECT r.book, count(*), count(CASE WHEN r.full_time + b.deadline < ? THEN 1 END), "
        "CAST(sum(r.reserved) AS bigint) FROM sottovoce_rounds r "
        f"JOIN sottovoce_books b ON b.book = r.book AND r.open = 1{one} GROUP BY r.book",
        base.now(),
        *values,
    )
    released = base.run(
        f"SELECT b.book, count(*), count(CASE WHEN b.state = {RELEASED} THEN 1 END), "
        f"count(CASE WHEN b.state = {DROPPED} THEN 1 END), CAST(sum(b.told) AS bigint), CAST(sum(b.missing) AS bigint) "
        f"FROM sottovoce_releases b{one} GROUP BY b.book",
        *values,
    )
    cells = base.run(
        "SELECT b.book, CAST(sum(b.closed - b.missing) AS bigint), CAST(sum(b.missing) AS bigint), "
        "CAST(sum(b.wanted - b.closed) AS bigint), CAST(sum(length(b.slots)) AS bigint) "
        f"FROM sottovoce_cells b{one} GROUP BY b.book",
        *values,
    )
    spares = base.run(
        f"SELECT b.book, CAST(sum(b.stop - b.start) AS bigint) FROM sottovoce_spares b{one} GROUP BY b.book", *values
    )
    opened, closed, losses = ({number: counts for number, *counts in rows} for rows in (rounds, released, cells))
    given_back: dict[int, int] = dict(spares)
    found = {}
    for number, incarnation, clock, erased, slot_bytes in heads:
        count, with_numbers, dropped, told, missing = closed.get(number, (0, 0, 0, 0, 0))
        now_told, now_missing, left, slots = losses.get(number, (0, 0, 0, 0))
        open_rounds, overdue, reserved = opened.get(number, (0, 0, 0))
        told, missing = told + now_told, missing + now_missing
        nobodys = slots // slot_bytes - reserved + given_back.get(number, 0)  # slots that wait, and were not leased
        waiting = max(0, left - nobodys)
        found[number] = BookCounts(
            incarnation,
            clock,
            count,
            with_numbers,
            dropped,
            open_rounds,
            told,
            missing,
            waiting,
            overdue,
            max(0, count - erased),
        )
    return found
