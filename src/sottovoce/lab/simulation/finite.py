"""Environments made of finitely many loss functions: what happens when is random, what can happen is listed."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce._arrays import Integers, Vector
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.environment import Comparator, Environment
from sottovoce.lab.simulation.loss_library import Kinds, LossLibrary
from sottovoce.playing import BLOCK


@dataclass(frozen=True, slots=True)
class _Stretch:
    library: LossLibrary
    kinds: Kinds

    def losses(self, actions: Vector) -> Vector:
        return self.library.losses(actions, self.kinds)


class FiniteEnvironment(Environment):
    """An environment whose every event holds one of finitely many losses.

    A subclass fills `library`, `loss_range`, `lipschitz`, and may say in `schedule` which loss each event holds.

    Parameters
    ----------
    domain : Domain
    seed : int
        Fixes both the losses and their order.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3), seed=7)
    >>> whole = environment.kinds(0, 20_000)
    >>> bool((whole[8_000:9_000] == environment.kinds(8_000, 1_000)).all())
    True
    """

    library: LossLibrary

    def __init__(self, domain: Domain, seed: int) -> None:
        if not isinstance(domain, Domain):
            raise TypeError(f"domain must be a Domain such as sottovoce.domains.Ball(10), got {domain!r}")
        self.domain = domain
        self.seed = whole("seed", seed, least=0)
        self._chunk: tuple[int, Kinds] = (-1, np.empty(0, dtype=np.intp))

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return which loss each event of a chunk holds, by lot unless a subclass says otherwise.

        Parameters
        ----------
        start
            The first event of the chunk, from 0.
        size
            How many.
        rng
            Fresh for each chunk: none needs a history.
        """
        return rng.integers(0, len(self.library), size=size, dtype=np.uint16).astype(np.intp)

    def events(self, start: int, size: int) -> _Stretch:
        """Return events number `start` to `start + size - 1`, counted from 0."""
        return _Stretch(self.library, self.kinds(start, size))

    def kinds(self, start: int, size: int) -> Kinds:
        """Return the number, in the library, of the loss that each event holds.

        Parameters
        ----------
        start
            The first event, from 0.
        size
            How many.
        """
        start, size = whole("start", start, least=0), whole("size", size, least=0)
        pieces = []
        for index in range(start // BLOCK, (start + size - 1) // BLOCK + 1):
            chunk = self._kinds_of_chunk(index)
            pieces.append(chunk[max(0, start - index * BLOCK) : start + size - index * BLOCK])
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([np.empty(0, dtype=np.intp), *pieces])

    def comparator(self, horizon: int) -> Comparator:
        """Return the fixed point that is best over the first `horizon` events, from how often each loss occurs."""
        return self._comparator(self._counts(whole("horizon", horizon)) / horizon)

    def _counts(self, horizon: int) -> Integers:
        """Return how often each loss occurs in the first events."""
        counts = np.zeros(len(self.library), dtype=np.int64)
        for kinds in self._chunks_before(horizon):
            counts += np.bincount(kinds, minlength=len(counts))
        return counts

    def _comparator(self, weights: Vector) -> Comparator:
        """Return the point that is best where losses have these weights, with its Frank-Wolfe gap."""
        library: Any = self.library
        return _solved(library, self.domain, weights.tobytes())

    def cumulative_loss(self, point: Vector, marks: Sequence[int] | Integers) -> Vector:
        """Return what playing `point` for ever has cost after each number of events in `marks` (strictly ascending)."""
        return self._cumulative(self.library.losses(point, np.arange(len(self.library))), marks)

    def _cumulative(self, table: Vector, marks: Sequence[int] | Integers) -> Vector:
        """Return what was lost after each number of events, where each loss of the library is as in a table."""
        marks = np.asarray(marks, dtype=np.int64)
        between = np.zeros(len(marks) + 1)  # what was lost between each mark and the one before it
        done = 0
        for start, kinds in zip(itertools.count(0, BLOCK), self._chunks_before(int(marks[-1]) if len(marks) else 0)):
            last = int(np.searchsorted(marks, start + len(kinds), side="right"))
            cuts = np.concatenate([[0], marks[done:last] - start])
            padded = np.append(table.take(kinds), 0.0)  # a mark at the end of the chunk begins an empty piece
            between[done : last + 1] += np.add.reduceat(padded, cuts)
            done = last
        return np.cumsum(between[:-1])

    def _chunks_before(self, end: int) -> Iterator[Kinds]:
        for start in range(0, end, BLOCK):
            yield self._kinds_of_chunk(start // BLOCK)[: end - start]

    def _kinds_of_chunk(self, index: int) -> Kinds:
        if self._chunk[0] != index:
            rng = np.random.default_rng([self.seed, _SCHEDULE, index])
            kinds = self.schedule(index * BLOCK, BLOCK, rng)
            kinds.flags.writeable = False
            self._chunk = (index, kinds)
        return self._chunk[1]

    def _design_rng(self) -> np.random.Generator:
        """Return the generator that draws the losses themselves: a stream apart from their order."""
        return np.random.default_rng([self.seed, _DESIGN])


@lru_cache(maxsize=32)  # some take a while, and both their losses and their certificates are asked for
def _solved(library: LossLibrary, domain: Domain, weights: bytes) -> Comparator:
    shares = np.frombuffer(weights)
    point = library.best(domain, shares)
    slope = library.gradient(point, shares)
    gap = float(slope @ (point - domain.extreme_point(slope)))
    point.setflags(write=False)
    return Comparator(point, max(0.0, gap))


_DESIGN, _SCHEDULE = 0, 1
