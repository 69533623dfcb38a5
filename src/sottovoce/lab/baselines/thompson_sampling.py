"""Linear Thompson sampling, in batches that grow."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.lab.baselines.base import Baseline, Belief, Phase, Policy

SAMPLES = 12  # of a batch
GROWTH = 0.1  # a batch, relative to what was learned before
_DIRECTIONS = 64  # that the prior's scale is taken from


@dataclass(frozen=True, eq=False)
class Features:
    """From actions to features, and from a parameter to the cost that the linear oracle takes.

    A loss that is linear in the action is <theta, phi(x)> on average, with phi(x) = ((x - c)/R, 1), c the set's centre
    and R its outer radius: every affine function on the set, and features of length sqrt(2) at most. Directions that
    the set does not have are never learned, and never matter.

    Examples
    --------
    >>> import sottovoce as sv
    >>> features = Features(sv.domains.Ball(2, radius=4.0))
    >>> features(np.array([[4.0, 0.0]])), features.cost(np.array([8.0, 4.0, 5.0]))
    (array([[1., 0., 1.]]), array([2., 1.]))
    """

    domain: Domain

    def __call__(self, actions: Floats) -> Floats:
        """Return the features of actions, one a row."""
        places = (actions - self.domain.center) / self.domain.outer_radius
        return np.column_stack([places, np.ones(len(actions))])

    @property
    def size(self) -> int:
        """Their number."""
        return self.domain.dimension + 1

    def cost(self, theta: Floats) -> Floats:
        """Return the cost whose cheapest vertex is that of a parameter."""
        return np.asarray(theta[:-1] / self.domain.outer_radius)


class _Learned(NamedTuple):
    """Sums over events of phi phi' and (loss - middle) phi; squares around a batch's means, their degrees; events."""

    gram: Floats
    moment: Floats
    squares: float
    degrees: float
    events: int


class PosteriorSamples(Policy):
    """Batches play the cheapest vertices of parameters that are drawn from the posterior, equally often."""

    squares = True

    def set_up(self) -> None:
        """Make the prior so wide that the losses of random vertices deviate by a quarter of their range."""
        domain, spread = self.problem.domain, self.problem.width / 4
        self.features = Features(domain)
        costs = np.random.default_rng(0).standard_normal((_DIRECTIONS, domain.dimension))
        rows = self.features(np.array([domain.extreme_point(cost) for cost in costs]))[:, :-1]
        deviation = spread / math.sqrt(float((rows**2).sum(axis=1).mean()))
        self.prior: Floats = np.append(np.full(domain.dimension, deviation**-2), spread**-2)

    def start(self) -> Belief:
        """Draw from the prior."""
        size = self.features.size
        return self._drawn(_Learned(np.zeros((size, size)), np.zeros(size), 6 * self.problem.width**2 / 8, 6.0, 0))

    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Add a batch's sums, and how far losses of one vertex were from their mean."""
        assert squares is not None
        known: _Learned = belief.known
        counts, rows = belief.phase.counts, self.features(belief.phase.actions)
        sums = sums - self.problem.middle * counts
        within = self.problem.width * squares.sum() - (sums**2 / counts).sum()
        learned = _Learned(
            known.gram + (rows.T * counts) @ rows,
            known.moment + sums @ rows,
            known.squares + float(within),
            known.degrees + float((counts - 1).sum()),
            known.events + belief.phase.size,
        )
        return self._drawn(learned)

    def variance(self, known: _Learned) -> float:
        """Return the variance of a loss, within reason."""
        width = self.problem.width
        return min(max(known.squares / known.degrees, width**2 / 400), width**2 / 4)

    def posterior(self, known: _Learned) -> tuple[Floats, Floats]:
        """Return the mean, and the lower triangular root of the precision matrix."""
        variance = self.variance(known)
        root = np.linalg.cholesky(known.gram / variance + np.diag(self.prior))
        half = np.linalg.solve(root, known.moment / variance)
        return np.asarray(np.linalg.solve(root.T, half), dtype=np.float64), np.asarray(root, dtype=np.float64)

    def _drawn(self, known: _Learned) -> Belief:
        coins, domain = np.random.default_rng([self.seed, known.events]), self.problem.domain
        mean, root = self.posterior(known)
        samples = mean + np.linalg.solve(root.T, coins.standard_normal((len(mean), SAMPLES))).T
        vertices = np.array([domain.extreme_point(self.features.cost(one)) for one in samples])
        played, group = np.unique(vertices, axis=0, return_inverse=True)
        size = max(SAMPLES, math.ceil(GROWTH * known.events))
        return Belief(Phase(played, np.bincount(np.resize(np.ravel(group), size), minlength=len(played))), known)


class ThompsonSampling(Baseline):
    """Linear Thompson sampling: the cheapest vertices of parameters drawn from the posterior, in batches. Not private.

    A batch draws 12 parameters from the Gaussian posterior given all batches before it, and asks the linear oracle for
    the cheapest vertex of each; its events play them equally often, in random order. It has a tenth of the events
    before it, 12 at least: so 10^6 events take some 120 updates, and seconds. Regret: of order d sqrt(T log T) on
    average over the prior (Russo & Van Roy 2014); no bound with constants is known for this form. Batches that grow by
    a constant factor keep the order (Karbasi, Mirrokni & Shadravan 2021, for arms).

    Source: Agrawal & Goyal, "Thompson sampling for contextual bandits with linear payoffs" (ICML 2013), whose posterior
    is wider by a factor of sqrt(9 d log(T)) for the sake of the proof; that factor is left out, as is usual, and helps
    this comparison. From memory; the exponent is tested in simulation.

    Differences: losses in place of rewards. Prior: every feature (see `Features`) has an independent parameter, so
    wide that the losses of random vertices deviate by B/4; the level deviates by B/4 from the middle of the range. The
    variance of a loss is learned from events that played the same vertex in the same batch, starting at B^2/8 with the
    weight of six, and kept between B^2/400 and B^2/4.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`. Losses must be linear in the action; the Lipschitz constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Hypersimplex(20, 5), seed=1)
    >>> learner = sv.lab.baselines.ThompsonSampling(environment.domain, horizon=20_000, loss_range=(0.0, 1.0), seed=1)
    >>> run = sv.lab.simulate(learner, environment)
    >>> run.final_regret < run.final_no_learning / 10, learner.round < 100
    (True, True)
    """

    name, source, order = "thompson-sampling", "Agrawal & Goyal 2013", "d sqrt(T log T)"
    linear_only, policy = True, PosteriorSamples
