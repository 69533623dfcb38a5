"""Posteriors of a level, slopes and a curvature: one for each setting of model error, variance and memory.

Numbers that lie farther from the leader count for less, as the model error of a setting has it. Settings are compared
by how likely they made a round's numbers before these were learned.

Tests: tests/models/test_convex.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.models.belief import BeliefState, GaussianBelief
from sottovoce.models.changes import MISFITS, REACHES, VARIANCES, Choices, Outcome, best_of, judged
from sottovoce.models.gaussian import ByCoefficients, ByRows
from sottovoce.models.measurements import Measurements, Numbers
from sottovoce.models.shape import Shape

KEPT = 0.3
"""Of what an earlier run knew, as a share of its precision: the world may have moved since."""
_OUTLIER = 40.0  # what a squared surprise counts at most, where Laplace noise is all there is
_FAINT = 1e-12  # of the largest precision: what a number counts at least
_REACHES = np.array(REACHES)[:, None]
_WIDE = 32  # coefficients from which products of pairs of them take more room than time


@dataclass(frozen=True, eq=False, kw_only=True)
class RadialState(BeliefState):
    """What was learned of convex losses.

    Attributes
    ----------
    scores
        Evidence for each choice.
    setting
        The choices in use.
    leader
        Of the round before.
    levels
        Of surprise, of the last rounds.
    stretch
        Of the radius, as predictions held.
    """

    scores: tuple[Floats, ...]
    setting: Choices
    leader: Floats
    levels: Floats
    stretch: float = 1.0


@dataclass(frozen=True, eq=False)
class _Fits:
    """Posteriors that were computed of what is known."""

    known: RadialState
    rows: Floats
    far: list[Floats]
    gram: Floats | None
    fits: dict[Choices, ByCoefficients | ByRows] = field(default_factory=dict)


class Pairs:
    """Products of the entries of rows, two and two, kept for the next time.

    Parameters
    ----------
    size
        Of a row.

    Examples
    --------
    >>> Pairs(2).summed(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 3.0]]))
    array([[[1., 2.],
            [2., 7.]]])
    """

    def __init__(self, size: int) -> None:
        self._upper = np.triu_indices(size)
        self._written = np.empty((size, size), dtype=np.int64)  # where each entry of a matrix is in its upper half
        self._written[self._upper] = self._written.T[self._upper] = np.arange(len(self._upper[0]))
        self._rows, self._products = np.empty((0, size)), np.empty((0, len(self._upper[0])))

    def summed(self, rows: Floats, weights: Floats) -> Floats:
        """Return sum_j w_j x_j x_j^T, for each row of weights.

        Parameters
        ----------
        rows
            The same as at the last time, and some more; or others, of which all is computed anew.
        weights
            One for each row, in rows.
        """
        count = len(rows)
        known = len(self._rows) if np.array_equal(rows[: len(self._rows)], self._rows) else 0
        if count > len(self._products):
            products = np.empty((2 * count, self._products.shape[1]))
            products[:known] = self._products[:known]
            self._products = products
        fresh, (left, right) = rows[known:], self._upper
        self._rows = rows[:known]  # what is cut short below is computed again
        np.multiply(fresh[:, left], fresh[:, right], out=self._products[known:count])
        self._rows = rows
        return np.asarray((weights @ self._products[:count])[:, self._written])


class RadialFits(GaussianBelief):
    """Fits of the radial model to what was released, and what they predict."""

    known: RadialState
    shape: Shape
    _fits: _Fits | None
    _pairs: Pairs | None = None

    @property
    def setting(self) -> Choices:
        """Which model error, variance and memory are in use: those that predicted best, here and in other segments."""
        if self._shared_prior is None or not self._shared_prior.scores:
            return self.known.setting
        pairs = zip(self.known.scores, self._shared_prior.scores, strict=True)
        return tuple(best_of(choice, own + others) for choice, (own, others) in enumerate(pairs))

    def features(self, decisions: Floats) -> Floats:
        """Return what the mean losses at decisions are linear in: 1, z, and |z|^2/k."""
        return self._at(self.shape.place(decisions))

    def _at(self, places: Floats) -> Floats:
        rows = np.empty((len(places), places.shape[1] + 2))
        rows[:, 0], rows[:, 1:-1], rows[:, -1] = 1.0, places, (places**2).sum(axis=1) / self.shape.size
        return rows

    @cached_property
    def _prior(self) -> tuple[Floats, Floats]:
        """Mean and variances of level, slopes and curvature: the curvature is about B/4, the others about 0."""
        quarter = (self.settings.width / 4) ** 2
        slope = (0.6 * self.settings.width / self.shape.half) ** 2
        variances = np.concatenate([[quarter], np.full(self.dimension, slope), [quarter]])
        center = np.zeros(self.dimension + 2)
        center[-1] = self.settings.width / 4
        return center, variances

    def _variance(self, variance: int) -> float:
        least, _, largest = self.settings.variances
        return min(max(VARIANCES[variance] * self.settings.width**2, least), largest)

    def noise_variance(self, setting: Choices, counts: Floats) -> Floats:
        """Variance of released means of `counts` losses under a `setting`, but for what the model errs by."""
        return self._variance(setting[1]) / counts + (self.settings.noise / counts) ** 2

    def number_variance(self, setting: Choices, far: Floats, counts: Floats, known: Floats | None = None) -> Floats:
        """Variance of released means of `counts` losses under a `setting`: theirs (unless `known`), and model error.

        `far` are squared distances from the leader.
        """
        base = self.noise_variance(setting, counts) if known is None else known
        return np.asarray(base + (MISFITS[setting[0]] * self.settings.width * far) ** 2)

    def _far(self, places: Floats) -> Floats:
        """Squared distances from the leader, over k."""
        offsets = places - self.shape.place(self.known.leader)
        return np.asarray(np.einsum("ij,ij->i", offsets, offsets) / self.shape.size)

    def fit(self, setting: Choices) -> ByCoefficients | ByRows:
        """Return the posterior under a `setting`."""
        data = self._data
        if setting not in data.fits:
            data.fits[setting] = self._solved(*self._weighed_rows(setting), data.gram)
        return data.fits[setting]

    @property
    def _data(self) -> _Fits:
        """What all fits to what is known have in common."""
        if self._fits is None or self._fits.known is not self.known:
            self._fits = _Fits(self.known, *self._rows())
        return self._fits

    @property
    def _sources(self) -> list[tuple[Measurements, float]]:
        """What is learned from, each with what its precision is multiplied by."""
        known = self._earlier if self.remembers_earlier else None
        return [(self.measurements, 1.0), *([] if known is None else [(known, KEPT)])]

    @property
    def _starts(self) -> list[tuple[Measurements, int]]:
        """What is learned from, each with how many decisions there are before its own."""
        return [
            (self.measurements, 0),
            *((measurements, len(self.measurements.decisions)) for measurements, _ in self._sources[1:]),
        ]

    def _rows(self) -> tuple[Floats, list[Floats], Floats | None]:
        """What the released means are linear in, and how far from the leader; where few, what they share of the prior.

        All of it anew each round: what was added up in another order would differ after a recovery, in the last bit.
        """
        places = [self.shape.place(measurements.decisions) for measurements, _ in self._sources]
        far = [
            self._far(place)[measurements.index] for place, (measurements, _) in zip(places, self._sources, strict=True)
        ]
        rows = self._at(np.vstack(places))
        return rows, far, self._shared(rows)

    def _shared(self, rows: Floats) -> Floats | None:
        """What rows share of the prior, if there are fewer of them than of coefficients: then these are not all solved.

        No rows at all are a matrix with nothing in it, which is the same, unless there are many coordinates.
        """
        if len(rows) >= rows.shape[1] or (not len(rows) and not self.shape.many):
            return None
        scaled = rows * np.sqrt(self._prior[1])
        return np.asarray(scaled @ scaled.T)

    def _weighed_rows(self, setting: Choices) -> tuple[Floats, Floats, Floats]:
        """What released means are linear in; the precision of each, and precision times mean."""
        weights, pulls = zip(*self._weighed(setting, self._data.far), strict=True)
        return self._data.rows, np.concatenate(weights), np.concatenate(pulls)

    def _solved(self, rows: Floats, weights: Floats, pulls: Floats, gram: Floats | None) -> ByCoefficients | ByRows:
        """Return the posterior after measurements, in the form that is smaller."""
        center, variances = self._prior
        if self._shared_prior is not None:
            precision = self._shared_prior.precision + (rows * weights[:, None]).T @ rows
            return ByCoefficients(precision, self._shared_prior.pull + rows.T @ pulls)
        if gram is not None:
            weights = np.maximum(weights, _FAINT * weights.max(initial=0.0))
            return ByRows(center, variances, rows, gram, weights, pulls)
        precision = np.diag(1 / variances) + (rows * weights[:, None]).T @ rows
        return ByCoefficients(precision, center / variances + rows.T @ pulls)

    def _weighed(self, setting: Choices, far: list[Floats]) -> Iterator[tuple[Floats, Floats]]:
        """Precision of what was released of each decision, and precision times mean, source by source."""
        reach = REACHES[setting[2]] * self.settings.horizon
        for (measurements, share), distances in zip(self._sources, far, strict=True):
            weights = share / self.number_variance(setting, distances, measurements.counts, measurements.variances)
            if measurements is self.measurements and math.isfinite(reach) and len(measurements):
                weights = weights * np.exp((measurements.ends - measurements.ends[-1]) / reach)
            yield measurements.pooled(weights)

    def _weights(self, settings: Integers, far: list[Floats]) -> tuple[Floats, Floats]:
        """Precision of each released number, a row for each setting, which are columns of choices; and the numbers."""
        parts = []
        for (measurements, share), distances in zip(self._sources, far, strict=True):
            weights = share / self._variances(settings, distances, measurements.counts, measurements.variances)
            if measurements is self.measurements and len(measurements):
                reaches = _REACHES * self.settings.horizon
                weights *= np.exp((measurements.ends - measurements.ends[-1]) / reaches)[settings[2]]
            parts.append(weights)
        return np.concatenate(parts, axis=1), np.concatenate([measurements.means for measurements, _ in self._sources])

    @cached_property
    def _grids(self) -> tuple[Floats, Floats]:
        """Model errors, in units of loss, and variances of one loss that settings choose from, in columns."""
        variances = [self._variance(one) for one in range(len(VARIANCES))]
        return np.array(MISFITS)[:, None] * self.settings.width, np.array(variances)[:, None]

    def _variances(self, settings: Integers, far: Floats, counts: Floats, known: Floats | None = None) -> Floats:
        """Return `number_variance` of each setting, in rows."""
        model_errors, own = self._grids
        errors = ((model_errors * far) ** 2)[settings[0]]
        if known is not None:
            return np.asarray(errors + known)
        errors += (own / counts + (self.settings.noise / counts) ** 2)[settings[1]]
        return np.asarray(errors)

    def _cold_evidence(self, numbers: Numbers, rows: Floats, far: Floats) -> Outcome:
        """Compare a round's numbers with what this run alone would have predicted of them."""
        weights, pulls = next(self._weighed(self.setting, self._data.far))
        before = self._data.rows[: len(weights)]
        cold = self._solved(before, weights, pulls, self._shared(before) if self.shape.many else None)
        return self._evidence(self.setting, numbers, rows, far, cold)

    def _evidences(
        self, settings: list[Choices], numbers: Numbers, rows: Floats, far: Floats
    ) -> dict[Choices, Outcome]:
        """Compare a round's numbers with what settings have predicted of them, all settings at once."""
        data = self._data
        if data.gram is not None and self._shared_prior is None:  # few numbers, or many coordinates
            return {one: self._evidence(one, numbers, rows, far) for one in settings}
        choices = np.array(settings).T
        weights, means = self._weights(choices, data.far)
        seen = np.vstack([data.rows[measurements.index + start] for measurements, start in self._starts])
        precision = self._weighed_squares(seen, weights)
        pull = (weights * means) @ seen
        center, variances = self._prior
        if self._shared_prior is None:
            precision.reshape(len(settings), -1)[:, :: len(center) + 1] += 1 / variances
            pull += center / variances
        else:
            precision += self._shared_prior.precision
            pull += self._shared_prior.pull
        count = len(rows)
        right = np.empty((len(settings), len(center), count + 1))
        right[:, :, :count], right[:, :, count] = rows.T, pull
        half = np.linalg.solve(np.linalg.cholesky(precision), right)
        across = half.transpose(0, 2, 1)[:, :count] @ half  # of what is predicted: covariance, and mean
        covariance = across[:, :, :count].copy()
        covariance.reshape(len(settings), -1)[:, :: count + 1] += self._variances(choices, far, numbers.counts)
        outcomes = self._judge(numbers.means - across[:, :, count], covariance, numbers.counts)
        return dict(zip(settings, outcomes, strict=True))

    def _weighed_squares(self, rows: Floats, weights: Floats) -> Floats:
        """Return sum_j w_j x_j x_j^T, for each row of weights: all at once, where that takes little room."""
        if rows.shape[1] > _WIDE:
            return np.array([(rows.T * one) @ rows for one in weights])
        if self._pairs is None:
            self._pairs = Pairs(rows.shape[1])
        return self._pairs.summed(rows, weights)

    def _evidence(
        self, setting: Choices, numbers: Numbers, rows: Floats, far: Floats, fit: ByCoefficients | ByRows | None = None
    ) -> Outcome:
        """Compare a round's numbers with what was predicted of them, by the setting's fit or another."""
        counts = numbers.counts
        expected, covariance = (fit or self.fit(setting)).predict(rows)
        covariance = covariance + np.diag(self.number_variance(setting, far, counts))
        return self._judge((numbers.means - expected)[None], covariance[None], counts)[0]

    def _judge(self, residuals: Floats, covariances: Floats, counts: Floats) -> list[Outcome]:
        private = None
        if self.settings.heavy and self.settings.noise:
            private = (self.settings.noise / counts) ** 2 / np.diagonal(covariances, axis1=1, axis2=2)
        return judged(residuals, covariances, private, _OUTLIER)
