"""Posteriors of a level, slopes and a curvature: one for each setting of model error, variance and memory.

Numbers that lie farther from the leader count for less, as the model error of a setting has it. Settings are compared
by how likely they made a round's numbers before these were learned.

Tests: tests/models/test_convex.py.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.models.belief import BeliefState, GaussianBelief
from sottovoce.models.changes import MISFITS, REACHES, VARIANCES, Choices, Outcome, best_of, judged
from sottovoce.models.gaussian import ByCoefficients, ByMeasurements, DiagonalPrior, Fitted
from sottovoce.models.measurements import Numbers
from sottovoce.models.shape import Shape

KEPT = 0.3
"""Of what an earlier run knew, as a share of its precision: the world may have moved since."""
_OUTLIER = 40.0  # what a squared surprise counts at most, where Laplace noise is all there is
_FAINT = 1e-12  # of the largest precision: what a number counts at least


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
    """

    scores: tuple[Floats, ...]
    setting: Choices
    leader: Floats
    levels: Floats


class _Seen(NamedTuple):
    """Numbers that are learned from: of this run, then of an earlier one.

    What each is linear in, how far it is from the leader (squared), itself, the events behind it, its variance where
    that is known, the share that it counts for, and its age, in events, below 0.
    """

    rows: Floats
    far: Floats
    means: Floats
    counts: Floats
    known: Floats
    share: Floats
    ages: Floats


class RadialFits(GaussianBelief):
    """Fits of the radial model to what was released, and what they predict."""

    known: RadialState
    shape: Shape
    prior: DiagonalPrior

    @property
    def setting(self) -> Choices:
        """Which model error, variance and memory are in use: those that predicted best, here and in other segments."""
        if self._shared_prior is None or not self._shared_prior.scores:
            return self.known.setting
        return tuple(best_of(choice, scores) for choice, scores in enumerate(self._scores))

    @property
    def _scores(self) -> tuple[Floats, ...]:
        """The evidence for each choice, here and in other segments."""
        if self._shared_prior is None or not self._shared_prior.scores:
            return self.known.scores
        pairs = zip(self.known.scores, self._shared_prior.scores, strict=True)
        return tuple(own + others for own, others in pairs)

    @property
    def _err(self) -> float:
        """How likely it is that the model errs at all."""
        scores = self._scores[0]
        likely = np.exp(scores - scores.max())
        return 1 - float(likely[MISFITS.index(0.0)] / likely.sum())

    def features(self, decisions: Floats) -> Floats:
        """Return what the mean losses at decisions are linear in: 1, z, and |z|^2/k."""
        return self._at(self.shape.place(decisions))

    def _at(self, places: Floats) -> Floats:
        rows = np.empty((len(places), places.shape[1] + 2))
        rows[:, 0], rows[:, 1:-1], rows[:, -1] = 1.0, places, (places**2).sum(axis=1) / self.shape.size
        return rows

    def _far(self, places: Floats) -> Floats:
        """Squared distances from the leader, over k."""
        offsets = places - self.shape.place(self.known.leader)
        return np.asarray(np.einsum("ij,ij->i", offsets, offsets) / self.shape.size)

    def _first_prior(self) -> DiagonalPrior:
        """Of level, slopes and curvature: the curvature is about B/4, the others about 0."""
        quarter = (self.settings.width / 4) ** 2
        slope = (0.6 * self.settings.width / self.shape.half) ** 2
        variances = np.concatenate([[quarter], np.full(self.dimension, slope), [quarter]])
        center = np.zeros(self.dimension + 2)
        center[-1] = self.settings.width / 4
        return DiagonalPrior(center, variances)

    def _variance(self, variance: int) -> float:
        least, _, largest = self.settings.variances
        return min(max(VARIANCES[variance] * self.settings.width**2, least), largest)

    def noise_variance(self, setting: Choices, counts: Floats) -> Floats:
        """Variance of released means of `counts` losses under a `setting`, but for what the model errs by."""
        return self.settings.number_variance(self._variance(setting[1]), counts)

    def _variances(self, settings: Sequence[Choices], far: Floats, counts: Floats, known: Any = math.nan) -> Floats:
        """Variance of released means under each setting, in rows: theirs (unless it is known), and model error."""
        error, own, _ = np.array(settings).T
        errors = np.array(MISFITS)[error][:, None] * self.settings.width * far
        usual = self.settings.number_variance(np.array([[self._variance(one)] for one in own.tolist()]), counts)
        return np.asarray(np.where(np.isnan(known), usual, known) + errors**2)

    # ------------------------------------------------------------------ what was released

    def _gathered(self, *, earlier: bool) -> _Seen:
        """Return the numbers that are learned from, with what an earlier run knew or without.

        All of it anew each round: what was added up in another order would differ after a recovery, in the last bit.
        """
        measurements, before = self.measurements, self._earlier if earlier and self.remembers_earlier else None
        places, index = self.shape.place(measurements.decisions), measurements.index
        ages, none = measurements.ends - measurements.ends[-1:].sum(), np.ones(len(index))
        seen = _Seen(
            self._at(places)[index],
            self._far(places)[index],
            measurements.means,
            measurements.counts,
            math.nan * none,
            none,
            ages,
        )
        if before is None:
            return seen
        places, precisions = self.shape.place(before.decisions), before.precisions
        more = self._at(places), self._far(places), before.pulls / precisions, before.events, 1 / precisions
        kept = np.full(len(precisions), KEPT)
        return _Seen(*map(np.concatenate, zip(seen, (*more, kept, 0 * kept), strict=True)))

    def _weights(self, settings: Sequence[Choices], seen: _Seen) -> Floats:
        """Precision of each number under each setting, in rows."""
        reaches = np.array(REACHES)[[reach for *_, reach in settings], None] * self.settings.horizon
        weights = seen.share / self._variances(settings, seen.far, seen.counts, seen.known)
        return np.asarray(weights * np.exp(seen.ages / reaches))

    def _summed(self, setting: Choices, seen: _Seen) -> tuple[Floats, Floats]:
        """Return what numbers say under a setting: of the coefficients, a precision and a pull."""
        (weights,) = self._weights([setting], seen)
        return (seen.rows.T * weights) @ seen.rows, seen.rows.T @ (weights * seen.means)

    # ------------------------------------------------------------------ fits

    def fit(self, setting: Choices) -> Fitted:
        """Return the posterior under a `setting`."""
        rows, gram = self._seen.rows, None
        if self._large:
            gram = self._computed("gram", lambda: self.prior.gram(rows, rows))  # once for all settings
        return self._computed(setting, lambda: self._fitted(setting, self._seen, gram))

    @property
    def _seen(self) -> _Seen:
        """What all fits to what is known rest on."""
        return self._computed("seen", lambda: self._gathered(earlier=True))

    @property
    def _large(self) -> bool:
        """Whether there are so many coefficients that measurements are fewer; other segments' priors are matrices."""
        return self.shape.many and self._shared_prior is None

    def _fitted(self, setting: Choices, seen: _Seen, gram: Floats | None = None) -> Fitted:
        (weights,) = self._weights([setting], seen)
        return self._solved(seen.rows, weights, weights * seen.means, gram)

    def _solved(
        self,
        rows: Floats,
        weights: Floats,
        pulls: Floats,
        gram: Floats | None = None,
        prior: DiagonalPrior | None = None,
    ) -> Fitted:
        """Return the posterior after measurements, in the form that is smaller; `prior` is of other coefficients."""
        if self._large:
            weights = np.maximum(weights, _FAINT * weights.max(initial=0.0))
            return ByMeasurements(self.prior if prior is None else prior, rows, weights, pulls, gram)
        precision, pull = self._before if prior is None else _precision_and_pull(prior)
        return ByCoefficients(precision + (rows.T * weights) @ rows, pull + rows.T @ pulls)

    @property
    def _before(self) -> tuple[Floats, Floats]:
        """What is believed before any number: of the coefficients, a precision and a pull."""
        if self._shared_prior is not None:
            return self._shared_prior.precision, self._shared_prior.pull
        return _precision_and_pull(self.prior)

    # ------------------------------------------------------------------ what they predict

    def _evidences(
        self, settings: Sequence[Choices], numbers: Numbers, rows: Floats, far: Floats, seen: _Seen | None = None
    ) -> list[Outcome]:
        """Compare a round's numbers with what settings have predicted of them, by all that was seen or by less."""
        if self._large:
            fits = [self.fit(one) if seen is None else self._fitted(one, seen) for one in settings]
            expected, covariance = map(np.array, zip(*(fit.predict(rows) for fit in fits), strict=True))
        else:
            expected, covariance = self._predicted(settings, rows, self._seen if seen is None else seen)
        variances = self._variances(settings, far, numbers.counts)
        covariance.reshape(len(settings), -1)[:, :: len(rows) + 1] += variances
        private = None
        if self.settings.heavy and self.settings.noise:
            private = (self.settings.noise / numbers.counts) ** 2 / np.diagonal(covariance, axis1=1, axis2=2)
        return judged(numbers.means - expected, covariance, private, _OUTLIER)

    def _predicted(self, settings: Sequence[Choices], rows: Floats, seen: _Seen) -> tuple[Floats, Floats]:
        """Return means and covariances of what rows measure, under all settings at once."""
        weights, (precision, pull) = self._weights(settings, seen), self._before
        count = len(rows)
        right = np.empty((len(settings), len(pull), count + 1))
        right[:, :, :count], right[:, :, count] = rows.T, pull + (weights * seen.means) @ seen.rows
        precisions = precision + np.array([(seen.rows.T * one) @ seen.rows for one in weights])
        half = np.linalg.solve(np.linalg.cholesky(precisions), right)
        across = half.transpose(0, 2, 1)[:, :count] @ half
        return across[:, :, count], across[:, :, :count].copy()


def _precision_and_pull(prior: DiagonalPrior) -> tuple[Floats, Floats]:
    return np.diag(1 / prior.variances), prior.mean / prior.variances
