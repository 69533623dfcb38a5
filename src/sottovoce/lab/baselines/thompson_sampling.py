"""Linear Thompson sampling, in batches that grow."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.lab.baselines._linear import Features
from sottovoce.lab.baselines.base import Baseline
from sottovoce.lab.baselines.plans import BaselinePlan

SAMPLES = 12  # of a batch
GROWTH = 0.1  # a batch, relative to what was learned before
_NUMBERS = 2**23  # of a round's actions: what bounds the memory
_DIRECTIONS = 64  # that the prior's scale is taken from


class _Variance(NamedTuple):
    """Squares within groups of events that played one vertex in one batch, and their degrees of freedom."""

    squares: float
    degrees: float

    def value(self, width: float) -> float:
        """Return the variance of a loss, within reason."""
        return min(max(self.squares / self.degrees, width**2 / 400), width**2 / 4)


class ThompsonSampling(Baseline):
    """Linear Thompson sampling: the cheapest vertices of parameters drawn from the posterior, in batches. Not private.

    A batch draws 12 parameters from the Gaussian posterior given all batches before it, and asks the linear oracle for
    the cheapest vertex of each; its events play them equally often, in random order. It has a tenth of the events
    before it, 12 at least: so 10^6 events take some 120 updates, and seconds. Regret: of order d sqrt(T log T) on
    average over the prior (Russo & Van Roy 2014); no bound with constants is known for this form, so `plan.bound` is
    NaN. Batches that grow by a constant factor keep the order (Karbasi, Mirrokni & Shadravan 2021, for arms).

    Source: Agrawal & Goyal, "Thompson sampling for contextual bandits with linear payoffs" (ICML 2013), whose posterior
    is wider by a factor of sqrt(9 d log(T)) for the sake of the proof; that factor is left out, as is usual, and helps
    this comparison. From memory; the exponent is tested in simulation.

    Differences: losses in place of rewards. Prior: every feature (see _linear.py) has an independent parameter, so
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

    name: ClassVar[str] = "thompson-sampling"
    linear_only: ClassVar[bool] = True

    def _set_up(self) -> None:
        domain = self.domain
        self._features, spread = Features(domain), self._problem.width / 4
        costs = np.random.default_rng(0).standard_normal((_DIRECTIONS, domain.dimension))
        rows = self._features(np.array([domain.extreme_point(cost) for cost in costs]))[:, :-1]
        deviation = spread / math.sqrt(float((rows**2).sum(axis=1).mean()))
        self._prior: Floats = np.append(np.full(domain.dimension, deviation**-2), spread**-2)
        self._gram: Floats = np.zeros((self._features.size, self._features.size))
        self._moment: Floats = np.zeros(self._features.size)
        self._variance = _Variance(6 * self._problem.width**2 / 8, 6.0)
        self._learned = 0
        self.plan = BaselinePlan(
            self.name,
            "Agrawal & Goyal 2013",
            self.horizon,
            order="d sqrt(T log T)",
            parameters={"batch": f"{SAMPLES} samples; a tenth of the events before it"},
        )

    def _posterior(self) -> tuple[Floats, Floats]:
        """Return the mean, and the lower triangular root of the precision matrix."""
        variance = self._variance.value(self._problem.width)
        root = np.linalg.cholesky(self._gram / variance + np.diag(self._prior))
        half = np.linalg.solve(root, self._moment / variance)
        return np.asarray(np.linalg.solve(root.T, half), dtype=np.float64), np.asarray(root, dtype=np.float64)

    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        mean, root = self._posterior()
        largest = max(SAMPLES, _NUMBERS // self.domain.dimension)
        size = min(most, max(SAMPLES, math.ceil(GROWTH * self._learned)), largest)
        samples = mean + np.linalg.solve(root.T, self._coins.standard_normal((len(mean), min(SAMPLES, size)))).T
        vertices = np.array([self.domain.extreme_point(self._features.cost(one)) for one in samples])
        self.oracle_calls += len(samples)
        played, group = np.unique(vertices, axis=0, return_inverse=True)
        index = self._coins.permutation(np.resize(np.ravel(group), size))
        return played[index], (self._features(played), index)

    def _learn(self, memo: Any, losses: Floats) -> None:
        rows, index = memo
        deviations = losses - self._problem.middle
        counts = np.bincount(index, minlength=len(rows))
        sums = np.bincount(index, deviations, minlength=len(rows))
        squares = float(deviations @ deviations) - float((sums**2 / np.maximum(counts, 1)).sum())
        freedom = float(np.maximum(counts - 1, 0).sum())
        self._variance = _Variance(self._variance.squares + squares, self._variance.degrees + freedom)
        self._gram = self._gram + (rows.T * counts) @ rows
        self._moment = self._moment + sums @ rows
        self._learned += len(losses)

    @property
    def point(self) -> Floats:
        """The best vertex of the posterior's mean; the centre before there is one."""
        if not self._learned:
            return self.domain.center
        return self.domain.extreme_point(self._features.cost(self._posterior()[0]))
