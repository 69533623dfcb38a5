"""A policy in outline, and a book of it.

Slot i of a round plays i mod k, every seventh is not wanted, and sums come out as they are.
"""

from typing import Any

import numpy as np

from sottovoce._records import Record
from sottovoce.privacy.grid import LossGrid
from sottovoce.rounds.book import Book, HandedOut, Recorded
from sottovoce.rounds.lease import Lease
from sottovoce.rounds.round import MISSING, UNWANTED, Draft, Draw, Release, Round


class BareBook(Book):
    """A book that is called as those call it that are built on it."""

    @property
    def store(self) -> Any:
        return self._store

    @property
    def policy(self) -> Any:
        return self._policy

    def ask_one(self, stream: int = 0) -> Any:
        with self._lock: return self._ask_one(stream)  # noqa: E701  # fmt: skip

    def ask_block(self, size: int, streams: Any = 0) -> HandedOut:
        with self._lock: return self._ask_block(size, streams)  # noqa: E701  # fmt: skip

    def tell_one(self, one: int, loss: Any) -> Recorded:
        return self._tell_one(one, loss)

    def tell_block(self, ids: Any, losses: Any) -> Recorded:
        return self._tell_block(ids, losses)


class Sums:
    """Releases exact sums, so that every loss can be looked for; notes what was learned."""

    def __init__(self, size: int = 30, numbers: int = 3, unwanted: int = 7) -> None:
        self.grid = LossGrid(0.0, 1.0, bits=10)
        self.size, self.numbers, self.unwanted = size, numbers, unwanted
        self.names: list[str] = []
        self.begun: dict[int, int] = {}
        self.rounds: dict[int, int] = {}  # of each stream, how many were learned from
        self.drawn: list[tuple[int, int]] = []  # rounds that noise was drawn for

    def begin(self, stream: int, number: int, position: int) -> Draft:
        self.begun[stream] = number + 1
        return Draft(self.size + stream + number % 3, {"stream": stream})

    def draw(self, one: Round, start: int, count: int) -> Draw:
        slots = np.arange(start, start + count)
        return Draw(slots % self.numbers, slots % self.unwanted != self.unwanted - 1 if self.unwanted else None)

    def compute(self, one: Round, slots: Any) -> Any:
        self.drawn.append((one.stream, one.number))
        return self.sums(slots)

    def sums(self, slots: Any) -> Any:
        counted = np.where(slots == MISSING, self.grid.missing, np.where(slots == UNWANTED, 0, slots))
        found = np.zeros(self.numbers, dtype=np.int64)
        np.add.at(found, np.arange(len(slots)) % self.numbers, counted)
        return found

    def learn(self, release: Release) -> None:
        stream, number = release.round.stream, release.round.number
        assert number == self.rounds.get(stream, 0), "a release is learned from once, and in order"
        self.rounds[stream] = number + 1

    def join(self, stream: int, name: str) -> None:
        assert stream <= len(self.names)
        self.names[stream:] = [name]

    def start_over(self) -> None:
        self.names, self.begun, self.rounds = [], {}, {}

    def to_record(self, stream: int) -> Record:
        return {"begun": self.begun.get(stream, 0), "learned": self.rounds.get(stream, 0)}

    def adopt(self, stream: int, record: Record) -> None:
        self.begun[stream], self.rounds[stream] = record["begun"], record["learned"]

    def kind(self, round):
        return tuple

    def ready(self, lease: Lease) -> list[Any]:
        return lease.draw.actions.tolist()
