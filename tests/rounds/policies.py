"""A policy in outline, and a book of it.

Slot i of a round plays i mod k, every seventh is not wanted, and sums come out as they are.
"""

import numpy as np

from sottovoce.privacy.grid import LossGrid
from sottovoce.rounds.book import Book
from sottovoce.rounds.round import MISSING, UNWANTED, Draft, Draw


class BareBook(Book):
    """A book that is called as those call it that are built on it."""

    @property
    def store(self):
        return self._store

    @property
    def policy(self):
        return self._policy

    def ask_one(self, stream=0):
        with self._lock: return self._ask_one(stream)  # noqa: E701  # fmt: skip

    def ask_block(self, size, streams=0):
        with self._lock: return self._ask_block(size, streams)  # noqa: E701  # fmt: skip

    def tell_one(self, one, loss):
        return self._tell_one(one, loss)

    def tell_block(self, ids, losses):
        return self._tell_block(ids, losses)


class Sums:
    """Releases exact sums, so that every loss can be looked for; notes what was learned."""

    def __init__(self, size=30, numbers=3, unwanted=7):
        self.grid = LossGrid(0.0, 1.0, bits=10)
        self.size, self.numbers, self.unwanted = size, numbers, unwanted
        self.names = []
        self.begun = {}
        self.rounds = {}  # of each stream, how many were learned from
        self.drawn = []  # rounds that noise was drawn for

    def begin(self, stream, number, position):
        self.begun[stream] = number + 1
        return Draft(self.size + stream + number % 3, {"stream": stream})

    def draw(self, one, start, count):
        slots = np.arange(start, start + count)
        return Draw(slots % self.numbers, slots % self.unwanted != self.unwanted - 1 if self.unwanted else None)

    def compute(self, one, slots):
        self.drawn.append((one.stream, one.number))
        return self.sums(slots)

    def sums(self, slots):
        counted = np.where(slots == MISSING, self.grid.missing, np.where(slots == UNWANTED, 0, slots))
        found = np.zeros(self.numbers, dtype=np.int64)
        np.add.at(found, np.arange(len(slots)) % self.numbers, counted)
        return found

    def learn(self, release):
        stream, number = release.round.stream, release.round.number
        assert number == self.rounds.get(stream, 0), "a release is learned from once, and in order"
        self.rounds[stream] = number + 1

    def join(self, stream, name):
        assert stream <= len(self.names)
        self.names[stream:] = [name]

    def start_over(self):
        self.names, self.begun, self.rounds = [], {}, {}

    def to_record(self, stream):
        return {"begun": self.begun.get(stream, 0), "learned": self.rounds.get(stream, 0)}

    def adopt(self, stream, record):
        self.begun[stream], self.rounds[stream] = record["begun"], record["learned"]

    def kind(self, round):
        return tuple

    def ready(self, lease):
        return lease.draw.actions.tolist()
