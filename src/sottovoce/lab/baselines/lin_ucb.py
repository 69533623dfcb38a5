"""LinUCB (OFUL), rarely switching."""

import math
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines._linear import Features, optimistic
from sottovoce.lab.baselines._vertices import few_vertices
from sottovoce.lab.baselines.base import Baseline
from sottovoce.lab.baselines.plans import BaselinePlan

_NUMBERS = 2**20  # of a round's actions: what bounds the memory


class LinUCB(Baseline):
    """LinUCB (OFUL), for linear losses: the vertex whose loss could be least, by a confidence ellipsoid. Not private.

    With features phi (see _linear.py) and V = lambda I + sum of phi phi^T, the least squares estimate theta has, with
    probability 1 - 1/T and at all times, ||theta - truth||_V <= width = (B/2) sqrt(2 log T + log det(V/lambda))
    + sqrt(lambda) S. The vertex with the least <theta, phi> - width ||phi||_{V^-1} is played until det V has doubled,
    which is 1/||phi||^2_{V^-1} events: so the estimate is made anew a number of times that grows as d log T, and 10^6
    events take seconds. Regret is at most 2 sqrt(2) width sqrt(2 T log det(V/lambda)), of order d sqrt(T) log T.

    Source: Abbasi-Yadkori, Pal & Szepesvari, "Improved algorithms for linear stochastic bandits" (NIPS 2011): the
    ellipsoid (Theorem 2), the regret (Theorem 3), and playing on until the determinant has grown by a factor (their
    rarely switching OFUL), which costs the root of that factor. From memory; tested in simulation.

    Proof sketch: while the ellipsoid holds, an event costs at most 2 width times ||phi|| in the norm of the V that
    chose it, at most sqrt(2) times that in the V of the moment; the squares of these add up to 2 log det(V/lambda).

    Differences: losses in place of rewards. S bounds the parameter: the Lipschitz constant times the radius, and half
    the range for the level; lambda = (B/(2S))^2. Finding the most hopeful vertex is hard in general: where the set has
    at most 1,000 vertices of zeros and ones, all are compared; elsewhere nine climbs by linear oracle, from the
    cheapest vertices of theta and of eight points drawn on the ellipsoid, and the best of their ends is taken. The
    bound holds where that is the best of all.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`. Losses must be linear in the action.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Hypersimplex(6, 2), seed=1)
    >>> learner = sv.lab.baselines.LinUCB(environment.domain, horizon=20_000, loss_range=(0.0, 1.0), seed=1)
    >>> run = sv.lab.simulate(learner, environment)
    >>> run.final_regret < run.final_no_learning / 4, learner.round < 500
    (True, True)
    """

    name: ClassVar[str] = "linucb"
    linear_only: ClassVar[bool] = True

    def _set_up(self) -> None:
        domain, problem = self.domain, self._problem
        slope = problem.lipschitz_in(problem.placement("plain")) * domain.outer_radius
        self._size = math.hypot(slope, problem.width / 2)
        self._ridge = (problem.width / 2 / self._size) ** 2
        self._features, self._vertices = Features(domain), few_vertices(domain)
        self._gram: Floats = self._ridge * np.eye(self._features.size)
        self._moment: Floats = np.zeros(self._features.size)
        self._point: Floats | None = None
        dimension = domain.affine_dimension + 1
        growth = dimension * math.log1p(2 * self.horizon / (self._ridge * dimension))
        self.plan = BaselinePlan(
            self.name,
            "Abbasi-Yadkori, Pal & Szepesvari 2011",
            self.horizon,
            2 * math.sqrt(2) * self._width(growth) * math.sqrt(2 * self.horizon * growth) + problem.width,
            "d sqrt(T) log T",
            {
                "ridge": self._ridge,
                "switch": "when det V has doubled",
                "vertices": "climbed to" if self._vertices is None else f"all {len(self._vertices)} compared",
            },
            order_only=problem.lipschitz is None,
        )

    def _width(self, growth: float) -> float:
        """Return the width of the ellipsoid, with `growth` = log det(V/lambda)."""
        deviation = self._problem.width / 2  # of a loss in its range: sub-Gaussian with this constant
        return deviation * math.sqrt(2 * math.log(self.horizon + 1) + growth) + math.sqrt(self._ridge) * self._size

    def _choose(self) -> tuple[Floats, Floats, float]:
        """Return the most hopeful vertex, its features, and their squared length in the inverse of V."""
        width = self._width(float(np.linalg.slogdet(self._gram / self._ridge)[1]))
        vertex, inverse, calls = optimistic(
            self._features, self._vertices, self._gram, self._moment, width, self._coins
        )
        self.oracle_calls += calls
        row = self._features(vertex[None])[0]
        return vertex, row, float(row @ inverse @ row)

    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        vertex, row, square = self._choose()
        self._point = vertex
        size = min(most, math.ceil(1 / square), max(1, _NUMBERS // len(vertex)))
        return np.tile(vertex, (size, 1)), row

    def _learn(self, memo: Any, losses: Floats) -> None:
        deviations = losses - self._problem.middle
        self._gram = self._gram + len(losses) * np.outer(memo, memo)
        self._moment = self._moment + deviations.sum() * memo

    @property
    def point(self) -> Floats:
        """The vertex that is played; the centre before there is one."""
        return self.domain.center if self._point is None else self._point
