"""A block over many streams is handed out completely or not at all, at whichever line of it an exception strikes."""

import numpy as np
import pytest
from numpy.typing import NDArray

from sottovoce.rounds.book import HandedOut
from sottovoce.rounds.round import Shape
from sottovoce.rounds.stores.memory import MemoryStore

from .policies import BareBook, Sums
from .tools import cut_short, lines_of

STREAMS, SIZE = 6, 90


def whose(turn: int) -> NDArray[np.int64]:
    return np.random.default_rng(turn).integers(STREAMS, size=SIZE)


def tell(book: BareBook, ids: NDArray[np.int64]) -> None:
    book.tell_block(ids, np.full(len(ids), 0.5))


def played(turns: int) -> BareBook:
    """A book whose streams are in the middle of their rounds; some losses are missing."""
    book = BareBook(MemoryStore(Shape()), Sums(), horizon=10_000)
    for turn in range(turns):
        handed = book.ask_block(SIZE, whose(turn))
        tell(book, handed.ids[handed.wanted][:-5])
    return book


def asked(book: BareBook) -> list[int]:
    return [book.store.asked(stream) for stream in range(STREAMS)]


@pytest.mark.parametrize("turns", [0, 3])
def test_a_block_over_many_streams_is_handed_out_completely_or_not_at_all(turns: int) -> None:
    book, found = played(turns), list[HandedOut]()
    before = asked(book)
    count = lines_of(lambda: found.append(book.ask_block(SIZE, whose(turns))))
    after, handed = asked(book), found[0]
    outcomes = [cut(turns, line, before, after, handed) for line in range(0, count, 2)]
    assert outcomes.count(before) > 20


def cut(turns: int, line: int, before: list[int], after: list[int], handed: HandedOut) -> list[int]:
    """Cut the block short; return what was asked then. Whatever that is, the book goes on with no loss wrong."""
    book = played(turns)
    cut_short(lambda: book.ask_block(SIZE, whose(turns)), line)
    assert book.asked == sum(asked(book))
    outcome = asked(book)
    assert outcome in (before, after)
    if outcome == before:
        handed = book.ask_block(SIZE, whose(turns))  # its ids may be others: places that were taken stay unused
    assert asked(book) == after
    waiting = book.store.waiting(None)
    assert set(handed.ids[handed.wanted].tolist()) <= set(waiting.tolist())
    tell(book, waiting)
    assert not len(book.store.waiting(None))
    half = book.policy.grid.quantise(np.array([0.5]))[0]
    for stream in range(STREAMS):
        for release in book.store.releases(stream, 0):
            slots = np.arange(release.round.size)
            counted = slots[slots % 7 != 6] % 3
            assert release.numbers.tolist() == (half * np.bincount(counted, minlength=3)).tolist()
    return outcome
