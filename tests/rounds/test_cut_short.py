"""Calls that are cut short at any line: all of a call or nothing, no lock left, and the same book goes on.

The exception is kept meanwhile, with its traceback, as shells and notebooks keep it: so nothing is let go of because
something was collected.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.memory import MemoryStore
from sottovoce.rounds.stores.sql import database
from sottovoce.rounds.stores.sql.store import SqlStore
from tracing import PACKAGE, cut_short, lines_of

from .policies import BareBook, Sums
from .test_together import Account
from .tools import SOAK, STREAMS, ask, close, loss_of, open_book, tell

SIZE = 12  # slots of a round
TRIES = 10**9 if SOAK else 7  # lines of each call
ROUNDS = {"where": str(Path(PACKAGE) / "rounds")}


SIZES = {"ask": 1, "a block": 20, "patience": 1}  # of calls that ask
Again = Callable[[int], BareBook]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def again(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Again:
    """Return what opens a book, by its number, once more; in memory there is but one of it."""
    if request.param == "memory":
        return functools.cache(lambda number: BareBook(MemoryStore(Shape()), Sums(SIZE), horizon=None))
    monkeypatch.setattr(database, "BUSY_SECONDS", 20.0)  # a lock that is left is found by somebody who waits for it
    url = request.getfixturevalue(f"{'postgres' if request.param == 'postgresql' else 'sqlite'}_url")
    return lambda number: open_book(url, str(number), size=SIZE, horizon=None)


def prepared(book: BareBook, account: Account) -> list[int]:
    """Ask for a round and a half, and tell all of the first but two."""
    ids = [one for stream in range(STREAMS) for one in ask(book, 20, stream)]
    account.hand_out(ids)
    told = ids[1 : 12 - 4]
    tell(book, told)
    account.told |= set(told)
    return account.waiting


CALLS: dict[str, Callable[[BareBook, list[int]], object]] = {
    "ask": lambda book, waiting: book.ask_one(1),
    "a block": lambda book, waiting: book.ask_block(20, np.arange(20) % STREAMS),
    "tell": lambda book, waiting: book.tell_one(waiting[-1], loss_of(waiting[-1])),
    "a tell that releases": lambda book, waiting: tell(book, waiting),
    "forget": lambda book, waiting: book.forget(np.array(waiting[::2])),
    "patience": lambda book, waiting: give_up(book),
    "close": lambda book, waiting: book.store.close(),
}


def give_up(book: BareBook) -> None:
    book.patience = 1
    try:
        book.ask_block(1, 2)
    finally:
        book.patience = None


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_cut_short_at_any_line_is_done_or_not(call: str, again: Again) -> None:
    book = again(-1)
    waiting = ready(book, Account(), call)
    count = len(lines_of(lambda: CALLS[call](book, waiting), **ROUNDS))
    close(book)
    lines = range(1, count + 1, max(1, count // TRIES))
    cut = [cut_short_in_a_row(call, again, part, lines[part : part + 20]) for part in range(0, len(lines), 20)]
    assert sum(cut)


def cut_short_in_a_row(call: str, again: Again, number: int, lines: range) -> int:
    """Cut a call of one book short at some of its lines, one after the other; return how often it was."""
    account, book, kept = Account(), again(number), []
    for line in lines:
        waiting = ready(book, account, call)
        before = book.asked
        kept.append(cut_short(lambda: CALLS[call](book, waiting), line, **ROUNDS))  # noqa: B023
        if call != "close":
            assert book.asked - before in (0, SIZES.get(call, 0)), "half of a block was handed out"
        account.settle(book)  # the same book goes on
        other = again(number)
        account.check(other)
        account.hand_out(ask(other, 3, 1))
        if other is not book:
            close(other)
    close(book)
    return sum(isinstance(one, KeyboardInterrupt) for one in kept)


def ready(book: BareBook, account: Account, call: str) -> list[int]:
    """Bring the book to where the call has much to do."""
    if call == "close" and isinstance(book.store, SqlStore):
        book.store._pace = 8
    waiting = prepared(book, account)
    if call == "close":
        for _ in range(12):  # then it leases ahead
            one, _, wanted = book.ask_one(0)
            account.hand_out([one] if wanted else [])
    return waiting
