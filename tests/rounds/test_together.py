"""Several processes on one book: whoever asks, tells, forgets, closes in order or dies, every loss counts once.

What was released is compared with a plain account of what was told, slot by slot; nobody's leases are known to it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sottovoce.errors import HorizonReached
from sottovoce.rounds.book import Book
from sottovoce.rounds.round import Release
from sottovoce.rounds.store import LATE, TOLD, WAITING

from .tools import HORIZON, SOAK, STREAMS, close, loss_of, open_book, opened, rows, tell

Calls = list[tuple[str, int, int, int]]

calls = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "block", "blocks", "tell", "tell", "one by one", "forget", "reopen", "kill"]),
        st.integers(0, 1),
        st.integers(0, STREAMS - 1),
        st.integers(0, 60),
    ),
    max_size=40,
)


class Account:
    """What was handed out, told and forgotten, in plain dictionaries."""

    def __init__(self) -> None:
        self.handed: set[int] = set()
        self.told: set[int] = set()
        self.gone: set[int] = set()

    def hand_out(self, ids: list[int]) -> None:
        assert not self.handed & set(ids), "an id twice"
        self.handed |= set(ids)

    @property
    def waiting(self) -> list[int]:
        return sorted(self.handed - self.told - self.gone)

    def check(self, book: Book) -> None:
        """Compare all that was released with what was told: a loss counts once, and a missing one as the middle."""
        seen = set(book.store.waiting(None).tolist())
        assert set(self.waiting) - self.late(book) <= seen
        assert not seen & (self.told | self.gone)
        for stream in range(STREAMS):
            releases = book.store.releases(stream, 0)
            assert [one.round.number for one in releases] == list(range(len(releases)))
            for release in releases:
                assert release.numbers.tolist() == self.sums(book.policy, release).tolist()

    def settle(self, book: Book) -> None:
        """Ask the book what became of a call that was cut short: what it has handed out, told and closed."""
        states = book.store.look(np.array(sorted(self.handed), dtype=np.int64))
        for one, state in zip(sorted(self.handed), states.tolist(), strict=True):
            assert state in (WAITING, TOLD, LATE)
            assert state != WAITING or one not in self.told | self.gone
            if state == TOLD:
                self.told.add(one)
            elif state == LATE:
                self.gone.add(one)
        self.handed |= set(book.store.waiting(None).tolist())  # an ask that is on record counts as asked

    def late(self, book: Book) -> set[int]:
        """What patience has closed since: it is among the missing of a release, or of an open round."""
        waiting = np.array(self.waiting, dtype=np.int64)
        return set(waiting[book.store.look(waiting) != WAITING].tolist())

    def sums(self, policy: Any, release: Release) -> Any:
        one, sums = release.round, np.zeros(policy.numbers, dtype=np.int64)
        wanted = policy.draw(one, 0, one.size).wanted
        for slot in np.flatnonzero(wanted).tolist():
            told = policy.grid.quantiser()(loss_of(one.first + slot)) if one.first + slot in self.told else None
            sums[slot % policy.numbers] += policy.grid.middle if told is None else told
        return sums


def play(books: list[Book], account: Account, history: Calls, again: Callable[[], Book]) -> None:
    for what, which, stream, number in history:
        book = books[which]
        if what in ("reopen", "kill"):
            if what == "reopen":
                close(book)  # what was leased is to be had again
            else:
                book.store._base.close()  # what was leased is nobody's, until patience gives up on it
            books[which] = again()
        elif what in ("ask", "block", "blocks"):
            try:
                ask_for(book, account, what, stream, number)
            except HorizonReached:
                assert book.remaining is not None
        elif what == "forget":
            gone = account.waiting[number % 3 :: 3]
            book.forget(np.array(gone, dtype=np.int64))
            account.gone |= set(gone)
        else:
            late = account.late(book)
            told = [one for one in account.waiting[number % 4 :: 2] if one not in late]
            if what == "tell":
                tell(book, told)
            else:
                for one in told:
                    book.tell_one(one, loss_of(one))
            account.told |= set(told)
        account.check(books[1 - which])


def ask_for(book: Book, account: Account, what: str, stream: int, number: int) -> None:
    if what == "ask":
        for _ in range(1 + number % 12):  # often enough to lease ahead
            one, _, wanted = book.ask_one(stream)
            account.hand_out([one] if wanted else [])
        return
    size = number + 1
    handed = book.ask_block(size, np.arange(size) % STREAMS if what == "blocks" else stream)
    account.hand_out(handed.ids[handed.wanted].tolist())


@given(history=calls, patience=st.sampled_from([None, 40]))
@settings(
    deadline=None,
    max_examples=400 if SOAK else 25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_processes_that_come_and_go_lose_nothing(url: str, history: Calls, patience: int | None) -> None:
    for name in ("chunks", "releases", "rounds", "streams", "books"):
        if rows_exist(url):
            rows(url, f"DELETE FROM sottovoce_{name}")
    books = [open_book(url, patience=patience) for _ in range(2)]
    account = Account()
    try:
        play(books, account, history, lambda: open_book(url, patience=patience))
        for book in books:
            close(book)
        with opened(url) as (last,):
            left = last.store.waiting(None)
            last.forget(left)
            account.gone |= set(left.tolist())
            account.check(last)
            assert last.asked <= HORIZON
            assert len(account.handed) <= last.asked
    finally:
        for book in books:
            book.store._base.close()


def rows_exist(url: str) -> bool:
    try:
        rows(url, "SELECT 1 FROM sottovoce_books")
    except Exception:
        return False
    return True
