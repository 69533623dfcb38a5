"""Hanna, Girgis, Fragouli & Diggavi: private phased elimination, for linear losses on small sets."""

import math
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.domains.design import optimal_weights
from sottovoce.lab.baselines._vertices import LISTED, vertices_of
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy
from sottovoce.privacy import PureDP

_TOLERANCE = 0.01  # of designs: no leverage is above 1.01 times the dimension


class _Left(NamedTuple):
    """The phase's number, the vertices that are left, their features in as many numbers as they span, the design."""

    number: int
    active: Integers
    rows: Floats
    played: Integers  # of `active`, those with events of their own


class DesignElimination(Policy):
    """Phases of a G-optimal design over the vertices that may be the best; what is clearly worse leaves.

    In phase i, with p a design of r = the dimension of what is left, vertex a has n_a = ceil(p_a q^i) events; from the
    noisy sums, least squares gives every vertex x its mean loss up to

        B ||x|| sqrt(L/2) + max(b |w| sqrt(8L), b max|w| sqrt(8) L),    L = log(4 m i (i+1) T)

    with ||x||^2 = x' V^-1 x at most 1.01 r/q^i, V = sum of n_a a a', w_a = x' V^-1 a, b the scale of a sum's Laplace
    noise, and m the number of vertices. A vertex leaves if it is worse than another by more than both errors.
    """

    def set_up(self) -> None:
        """List the vertices."""
        self.vertices = vertices_of(self.problem.domain)
        self.horizon, self.width = self.problem.horizon, self.problem.width

    @property
    def growth(self) -> float:
        """Return q = (2T)^(1/log T), with which log T phases are enough; a little above e."""
        return math.exp(math.log(2 * self.horizon) / math.log(max(3, self.horizon)))

    def _log(self, number: int) -> float:
        return math.log(4 * len(self.vertices) * number * (number + 1) * self.horizon)

    def start(self) -> Belief:
        """Begin with all vertices."""
        return self._belief(1, np.arange(len(self.vertices)))

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Drop the vertices that are clearly worse."""
        left: _Left = belief.known
        means, errors = self.estimate(left, belief.phase.counts, sums)
        keep = means - errors <= (means + errors).min()
        return self._belief(left.number + 1, left.active[keep])

    def estimate(self, left: _Left, counts: Integers, sums: Floats) -> tuple[Floats, Floats]:
        """Return the mean loss of every vertex that is left, from the middle of the range, and how far it may err."""
        played = left.rows[left.played]
        weights = left.rows @ np.linalg.solve((played.T * counts) @ played, played.T)
        logarithm = self._log(left.number)
        own = self.width * np.sqrt(weights**2 @ counts * logarithm / 2)
        return weights @ (sums - self.problem.middle * counts), own + self.scale * self._tail(weights, logarithm)

    def _tail(self, weights: Floats, logarithm: float) -> Floats:
        """Return how far sums of noises of scale 1, weighted by rows, may be from 0."""
        spread = np.linalg.norm(weights, axis=1) * math.sqrt(8 * logarithm)
        return np.asarray(np.maximum(spread, np.abs(weights).max(axis=1) * math.sqrt(8) * logarithm))

    def _events(self, number: int, rank: int, played: int) -> float:
        """Return about how many events a phase has."""
        return self.growth**number

    def _belief(self, number: int, active: Integers) -> Belief:
        vertices = self.vertices[active]
        if len(active) == 1:  # for all that is left, unread
            done = _Left(number, active, np.ones((1, 1)), np.zeros(1, dtype=np.int64))
            return Belief(Phase(vertices, np.array([self.horizon]), reads=False), done)
        rows = _spanned(vertices)
        design = optimal_weights(rows[:, 1:], np.full(len(rows), 1 / len(rows)), _TOLERANCE)
        (played,) = np.nonzero(design)
        events = min(self._events(number, rows.shape[1], len(played)), float(self.horizon))  # more is cut anyway
        counts = np.ceil(design[played] * events).astype(np.int64)
        return Belief(Phase(vertices[played], counts), _Left(number, active, rows, played))

    def bound(self) -> float:
        """Bound the expected regret for every sequence of independent losses.

        With probability 1 - 1/T no estimate errs by more than it may, in any phase: each of 4 m events of phase i fails
        with probability 1/(4 m i (i+1) T). So the best vertex stays, and one that outlives phase i is worse by at most
        four times the largest error there, in which ||x||^2 and every |w_a| are at most 1.01 r/q^i.
        """
        rank = _spanned(self.vertices).shape[1]
        most_played = min(len(self.vertices), rank * (rank + 1) // 2)
        left, cost, number, each = float(self.horizon), self.width, 1, self.width
        while left > 0:
            events = min(left, self._events(number, rank, most_played) + most_played)
            cost, left = cost + events * min(each, self.width), left - events
            each, number = 4 * self._error(number, rank, most_played), number + 1
        return cost

    def _error(self, number: int, rank: int, played: int) -> float:
        """Return the largest error of a phase's mean losses."""
        logarithm, leverage = self._log(number), (1 + _TOLERANCE) * rank / self.growth**number
        of_noise = leverage * math.sqrt(8 * logarithm) * max(math.sqrt(played), math.sqrt(logarithm))
        return self.width * math.sqrt(leverage * logarithm / 2) + self.scale * of_noise


def _spanned(vertices: Floats) -> Floats:
    """Return features, one a row: a 1, and coordinates in the affine hull of these vertices."""
    inside = vertices - vertices.mean(axis=0)
    left, sizes, _ = np.linalg.svd(inside, full_matrices=False)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    return np.column_stack([np.ones(len(vertices)), math.sqrt(len(vertices)) * left[:, :rank]])


class PhasedElimination(Baseline):
    """Private phased elimination (Hanna and others), for linear losses on small sets: a G-optimal design per phase.

    For sets with at most 1,000 vertices (an arm each, but all are learned from each other's losses). See
    `DesignElimination` for the phases. Regret grows as sqrt(d T log(m T)) + (d^2/epsilon) log(m T) log T: privacy is
    almost free, since its term does not grow as a root of T.

    Source: "Differentially private stochastic linear bandits: (almost) for free" (2022; IEEE JSAIT 2024), in the
    central model. Verified: the order sqrt(T) + 1/epsilon against its abstract. Phases of length q^i with
    q = (2T)^(1/log T), a core set from an optimal design, and Laplace noise on the sums of its actions are from memory.
    Errors are not their formula but the one of `DesignElimination`, computed from each phase's own design, vertex by
    vertex; its proof stands there, and it drops vertices no later.

    Privacy: pure. A loss is in the sum of one vertex in one phase, and each sum has Laplace noise of scale B/epsilon.

    Proof sketch of the errors: least squares errs by sum of w_a times what the sum of vertex a errs by. Losses within a
    range of B make the first part sub-Gaussian with variance B^2 ||x||^2/4. For Laplace noise the logarithm of the
    moment generating function at s is at most 2 s^2 b^2 |w|^2 up to s = 1/(sqrt(2) b max|w|); Chernoff's bound is the
    maximum of the two terms.

    Differences: losses in place of rewards; features have a level of their own; the design is optimal to 1%, and may
    have up to r (r+1)/2 vertices, where theirs is smaller and less exact; the order within a phase is random; when one
    vertex is left, nothing more is read.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`; `privacy` must be `PureDP`, losses must be linear in the action, and the Lipschitz
        constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.PhasedElimination(
    ...     sv.domains.Birkhoff(3), horizon=10_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.ask_round().x.shape
    (6, 9)
    """

    name, source = "phased-elimination", "Hanna, Girgis, Fragouli & Diggavi 2022"
    order = "sqrt(d T log T) + d^2 log(T)^2/epsilon"
    promises, linear_only, policy, sets = (PureDP,), True, DesignElimination, LISTED
