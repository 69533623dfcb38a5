"""LinUCB (OFUL), rarely switching."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines._linear import Features, most_hopeful
from sottovoce.lab.baselines._vertices import few_vertices
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy


class _Learned(NamedTuple):
    """V, the sum over events of phi times (loss - middle), and how many phases there were."""

    gram: Floats
    moment: Floats
    number: int


class Optimism(Policy):
    """The vertex whose loss could be least is played until the determinant of V has doubled."""

    def set_up(self) -> None:
        """Bound the parameter, and list the vertices where they are few."""
        domain, problem = self.problem.domain, self.problem
        self.size = math.hypot(
            problem.lipschitz_in(problem.placement("plain")) * domain.outer_radius, problem.width / 2
        )
        self.ridge = (problem.width / 2 / self.size) ** 2
        self.features, self.vertices = Features(domain), few_vertices(domain)

    def start(self) -> Belief:
        """Know nothing."""
        size = self.features.size
        return self._chosen(_Learned(self.ridge * np.eye(size), np.zeros(size), 0))

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Add the losses of a vertex."""
        known: _Learned = belief.known
        row, count = self.features(belief.phase.actions)[0], belief.phase.size
        moment = known.moment + (float(sums[0]) - count * self.problem.middle) * row
        return self._chosen(_Learned(known.gram + count * np.outer(row, row), moment, known.number + 1))

    def _chosen(self, known: _Learned) -> Belief:
        inverse = np.linalg.inv(known.gram)
        inverse = (inverse + inverse.T) / 2
        width = self.width(float(np.linalg.slogdet(known.gram / self.ridge)[1]))
        coins = np.random.default_rng([self.seed, known.number])
        vertex = most_hopeful(self.features, self.vertices, inverse @ known.moment, inverse, width, coins)
        row = self.features(vertex[None])[0]
        events = min(math.ceil(1 / float(row @ inverse @ row)), self.problem.horizon)
        return Belief(Phase(vertex[None], np.array([events])), known)

    def width(self, growth: float) -> float:
        """Return the width of the ellipsoid, with `growth` = log det(V/lambda)."""
        deviation = self.problem.width / 2  # of a loss in its range: sub-Gaussian with this constant
        sure = 2 * math.log(self.problem.horizon + 1)
        return deviation * math.sqrt(sure + growth) + math.sqrt(self.ridge) * self.size

    @property
    def parameters(self) -> Mapping[str, object]:
        """What the plan says."""
        compared = "climbed to" if self.vertices is None else f"all {len(self.vertices)} compared"
        return {"ridge": self.ridge, "switch": "when det V has doubled", "vertices": compared}

    def bound(self) -> float:
        """Bound the expected regret, as the docstring of `LinUCB` has it."""
        horizon, dimension = self.problem.horizon, self.problem.domain.affine_dimension + 1
        growth = dimension * math.log1p(2 * horizon / (self.ridge * dimension))
        return 2 * math.sqrt(2) * self.width(growth) * math.sqrt(2 * horizon * growth) + self.problem.width


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

    name, source, order = "linucb", "Abbasi-Yadkori, Pal & Szepesvari 2011", "d sqrt(T) log T"
    linear_only, policy = True, Optimism
