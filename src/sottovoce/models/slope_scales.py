"""How steep losses are: slopes of several prior scales, each weighed by how likely it makes what was released.

A prior whose slopes are as large as the loss range allows sends first probes to the corners, and most losses are not
that steep. So scales are halved down to one at which the best point is hardly away from the centre. Their posterior
means, averaged by marginal likelihood, shrink towards the centre what few numbers say, and no more than they should
(as James and Stein do): the leader follows that average, and probes scatter around it by the likeliest scale. Where the
horizon is short, every doubling of the scale has a price.

Tests: tests/models/test_convex.py.
"""

import math
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.models.gaussian import ByCoefficients, DiagonalPrior, by_lower
from sottovoce.models.pace import ModelSettings
from sottovoce.models.shape import Shape

_SMALLEST = 8  # halvings of the largest scale, at most
_WORTH_WHILE = 1 / 90  # deviation of the mean of all numbers, in B/sqrt(k), at which learning is just worth the while
_FIRST, _LARGEST_FIRST = 0.13, 0.6  # distance of the first probes where it is, and at most
_SLOWLY, _FASTER = 0.5, 1.5  # powers of that worth by which the distance falls below, and rises above
_HOPELESS, _STEEPLY = 0.43, 6  # worth below which what can be learned is hardly of use, and the power by which it falls
_PRICE = 0.5  # nats that each doubling of the scale must earn where it is, and less where it is more than that
_BEYOND = 2.0  # how far probes go there, over how far the best point is expected to be; and farther likewise
_BALANCE = 0.8  # squared distance of later probes, over k/sqrt(precision of all numbers), in B
_FLAT = 0.5  # curvature, in B/4, below which probes go no farther


@dataclass(frozen=True, eq=False)
class Slopes:
    """What is believed of level, slopes and curvature under all scales together.

    Attributes
    ----------
    mean
        The posterior mean, averaged over scales.
    scatter
        The same with the deviations under one scale, that of the probes.
    farthest
        How far from the leader probes may be under it.
    """

    mean: Floats
    scatter: ByCoefficients
    farthest: float


class SlopeScales:
    """The scales that slopes may have on a set, and how far from the leader the first probes are.

    Probes at distance r cost q r^2 each; what they leave unknown of k slopes falls with r^2 times their precision. So
    there is a gain below which it costs more to learn than not to, and it is the larger the shorter the horizon.

    Parameters
    ----------
    shape, settings
        The set as its model sees it, and the plan's numbers.
    """

    def __init__(self, shape: Shape, settings: ModelSettings) -> None:
        self._shape, self._width = shape, settings.width
        events = max(settings.least / 2, settings.cap * settings.horizon / settings.probes)
        precision = settings.horizon / (settings.variances[1] + settings.noise**2 / events)
        worth = _WORTH_WHILE * settings.width * math.sqrt(precision) / math.sqrt(shape.size)
        hopeless = min(1.0, worth / _HOPELESS) ** _STEEPLY
        self.first: float = min(_LARGEST_FIRST, _FIRST * hopeless * max(worth**_SLOWLY, worth**_FASTER))
        self._bold = max(1.0, worth)
        scales: Floats = np.exp2(-np.arange(_SMALLEST + 1.0))
        self.scales = scales[: max(1, int((self._reach(scales) >= min(_FIRST, self.first) / 2).sum()))]

    def _reach(self, scales: Floats) -> Floats:
        """How far from the centre the best point is expected."""
        return np.asarray(1.2 * scales * self._shape.size / self._shape.half)

    def weigh(self, prior: DiagonalPrior, precision: Floats, pull: Floats) -> Slopes:
        """Return what is believed, given numbers of this precision and pull.

        Parameters
        ----------
        prior
            Of level, slopes and curvature at the largest scale.
        precision, pull
            sum w x x^T and sum w y x over all released numbers.
        """
        means, precisions, _, likelihoods = self._fits(prior, precision, pull)
        likelihoods += _PRICE / self._bold**2 * np.arange(len(likelihoods))
        weights = np.exp(likelihoods - likelihoods.max())
        mean = weights @ means / weights.sum()
        chosen = int(np.argmax(likelihoods))
        farthest = _BEYOND * self._bold * float(self._reach(self.scales[chosen]))
        return Slopes(mean, ByCoefficients(precisions[chosen], precisions[chosen] @ mean), farthest)

    def sample(
        self, prior: DiagonalPrior, precision: Floats, pull: Floats, coins: np.random.Generator, size: int
    ) -> Floats:
        """Draw what may be true, in rows: a scale, by how likely it makes what was released, then what it has.

        Parameters
        ----------
        prior, precision, pull
            As for `weigh`.
        coins, size
            Public ones, and how many to draw.
        """
        means, _, roots, likelihoods = self._fits(prior, precision, pull)
        weights = np.exp(likelihoods - likelihoods.max())
        chosen = coins.choice(len(weights), size, p=weights / weights.sum())
        normal = coins.standard_normal((size, len(pull)))
        return np.array(
            [means[one] + by_lower(roots[one], row, trans=1) for one, row in zip(chosen, normal, strict=True)]
        )

    def _fits(self, prior: DiagonalPrior, precision: Floats, pull: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Of each scale: posterior mean, precision and its root, and the log-likelihood of what was released."""
        center, variances = prior.mean, prior.variances * np.ones((len(self.scales), 1))
        variances[:, 1:-1] *= self.scales[:, None] ** 2
        precisions: Floats = precision * np.ones((len(self.scales), 1, 1))
        precisions.reshape(len(self.scales), -1)[:, :: len(center) + 1] += 1 / variances
        roots: Floats = np.asarray(np.linalg.cholesky(precisions))
        half = np.linalg.solve(roots, (center / variances + pull)[:, :, None])
        means = np.linalg.solve(roots.transpose(0, 2, 1), half)[:, :, 0]
        likelihoods = ((half[:, :, 0] ** 2).sum(axis=1) - (center**2 / variances).sum(axis=1)) / 2
        likelihoods -= np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) + np.log(variances).sum(axis=1) / 2
        return np.asarray(means), precisions, roots, np.asarray(likelihoods)

    def least_distance(self, precision: float, curvature: float) -> float:
        """Return how far from the leader probes are at least: what they cost and what they teach are in balance.

        A probe at distance r costs q r^2, and teaches as much of each of k slopes as r^2 times its precision.

        Parameters
        ----------
        precision
            Of all released numbers together, but for what the model errs by.
        curvature
            q.
        """
        if not precision:
            return self.first
        curved = max(_FLAT, 4 * curvature / self._width)
        return min(self.first, math.sqrt(_BALANCE * self._shape.size / (math.sqrt(precision) * self._width * curved)))
