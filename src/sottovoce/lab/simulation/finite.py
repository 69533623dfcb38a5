"""Environments made of finitely many loss functions: what happens when is random, what can happen is listed.

Each event picks one loss of a library. That makes a simulation exact and cheap: the sum of all losses of a run is a
weighted sum over the library, so the best fixed point in hindsight follows from counts, in memory that does not depend
on the horizon.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers, Vector
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.lab.simulation.environment import Comparator, Environment
from sottovoce.playing import BLOCK

Kinds = NDArray[np.intp]
_DESIGN, _SCHEDULE = 0, 1


class LossLibrary(Protocol):
    """A collection of convex loss functions, numbered from 0."""

    def __len__(self) -> int:
        """Return how many loss functions there are."""

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return loss `kinds[i]` at row i of `actions`, or all at one point.

        Parameters
        ----------
        actions
            Rows, or one point.
        kinds
            The number of each loss in the library.
        """

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return a feasible point where the weighted sum of the losses is (nearly) least.

        Parameters
        ----------
        domain
            The set.
        weights
            Of each loss in the library.
        """

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return a subgradient of the weighted sum, one that is as short as possible.

        Parameters
        ----------
        point
            Where.
        weights
            Of each loss in the library.
        """


class FiniteEnvironment(Environment):
    """An environment whose every event holds one of finitely many losses.

    A subclass fills `library`, `lipschitz`, and `loss_range` if that is another; it may say in `schedule` which loss
    each event holds.

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
    loss_range = (0.0, 1.0)

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

    def losses(self, start: int, actions: Vector) -> Vector:
        """Return the losses of consecutive events, from number `start`, a row of `actions` for each."""
        return self.library.losses(actions, self.kinds(start, len(actions)))

    def kinds(self, start: int, size: int) -> Kinds:
        """Return the number, in the library, of the loss that each of `size` events from number `start` holds."""
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


class Distances:
    """Distances to targets, f(x) = ||x - target||, for targets in the domain.

    Parameters
    ----------
    targets : array of shape (kinds, n)

    Examples
    --------
    >>> import sottovoce as sv
    >>> library = sv.lab.Distances(np.array([[0.0, 0.0], [1.0, 0.0]]))
    >>> library.losses(np.array([0.0, 0.0]), np.array([0, 1, 1]))
    array([0., 1., 1.])
    """

    def __init__(self, targets: Vector) -> None:
        self.targets = targets

    def __len__(self) -> int:
        return len(self.targets)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return the distances between actions and targets."""
        gaps = actions - self.targets.take(kinds, axis=0)
        return np.asarray(
            np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
        )  # much faster than numpy.linalg.norm on thin arrays

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return the weighted geometric median.

        It lies in the convex hull of the targets, hence in the domain: no projection is needed. Weiszfeld's fixed-point
        iteration stays in that hull too.
        """
        weights, everything = weights / weights.sum(), np.arange(len(self))
        point: Vector = weights @ self.targets
        for _ in range(500):
            if np.linalg.norm(self.gradient(point, weights)) < 1e-9:
                break
            pull = weights / np.maximum(self.losses(point, everything), 1e-12)
            point = (pull / pull.sum()) @ self.targets
        # A median may sit on a target, which the iteration only approaches.
        nearest = self.targets[int(np.argmin(np.where(weights > 0, self.losses(point, everything), np.inf)))]
        better: Vector = min(point, nearest, key=lambda x: float(weights @ self.losses(x, everything)))
        return better.copy()

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the shortest subgradient: targets at the point itself may pull in any direction."""
        distances = self.losses(point, np.arange(len(self)))
        here = distances < 1e-12
        pull = np.where(here, 0.0, weights / np.where(here, 1.0, distances))
        rest: Vector = pull.sum() * point - pull @ self.targets
        length, slack = float(np.linalg.norm(rest)), float(weights[here].sum())
        return rest * (1.0 - slack / length) if length > slack else np.zeros_like(rest)


class LinearLosses:
    """Linear losses f(x) = <cost, x> + offset.

    Parameters
    ----------
    costs : array of shape (kinds, n)
    offset : float
        The same for all kinds.

    Examples
    --------
    >>> import sottovoce as sv
    >>> library = sv.lab.LinearLosses(np.eye(2), 0.5)
    >>> library.losses(np.array([0.25, 1.0]), np.array([0, 1, 1]))
    array([0.75, 1.5 , 1.5 ])
    """

    def __init__(self, costs: Vector, offset: float) -> None:
        self.costs = costs
        self.offset = offset

    def __len__(self) -> int:
        return len(self.costs)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return the linear losses of the actions."""
        if actions.ndim == 1:
            return (self.costs @ actions + self.offset).take(kinds)
        result: Vector = np.einsum("ij,ij->i", self.costs.take(kinds, axis=0), actions)
        result += self.offset
        return result

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return the extreme point of the total cost: one call of the oracle."""
        return domain.extreme_point(self.gradient(domain.center, weights))

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the total cost."""
        total: Vector = weights @ self.costs
        return total
