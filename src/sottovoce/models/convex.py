"""Beliefs about convex losses: mean loss at x is level + <a, z> + q |z|^2/k, z = (x - c)/s; and how wrong that is.

A sample's best point is the projection of -k a/(2q) on the scaled set: the regularised leader of the paper, with the
strength of the regulariser learned from released numbers. n + 2 numbers are learned, whatever the loss.

Most losses are not of that form. How far a number may be off grows with the distance of its probe from the leader,
deviation tau B r^p; which (tau, p), which variance of a loss, and how long a memory: those that predicted the released
numbers best, judged one at a time. Probes keep within the distance at which the model errs as much as one number's
noise; where the leader would go farther and rounds turn out no worse than predicted, that distance is stretched. A
round that surprises ten times as much as usual means that the world has changed: all is forgotten.

Tests: tests/models/test_convex.py.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import Record
from sottovoce.domains import Domain
from sottovoce.models.belief import Belief, BeliefState
from sottovoce.models.changes import (
    GRIDS,
    MISFITS,
    REACHES,
    USUAL,
    VARIANCES,
    Choices,
    Outcome,
    best_of,
    has_jumped,
    judged,
    neighbours,
)
from sottovoce.models.gaussian import ByCoefficients, ByRows
from sottovoce.models.measurements import Measurements, Numbers
from sottovoce.models.pace import ModelSettings, Pace
from sottovoce.models.pairs import Pairs
from sottovoce.models.published import Tried
from sottovoce.models.shape import Shape
from sottovoce.models.sufficient_statistics import SufficientStatistics
from sottovoce.projection import Projection

__all__ = ["RadialBelief"]

_FADE = 0.95  # of the evidence for a setting
_OUTLIER = 40.0  # what a squared surprise counts at most, where Laplace noise is all there is
_LONGER, _SHORTER, _LONGEST = 1.4, 0.6, 10.0  # what the radius is multiplied by as predictions hold, or fail; at most
_HOLDS, _FAILS = 0.5, 1.0  # deviations by which a round's mean may exceed what was predicted
_MANY = 100  # coordinates from which one choice is judged a round, in turn
_KEPT = 0.3  # of what an earlier run knew, as a share of its precision: the world may have moved since
_SAME = 0.1  # distance at which two points count as one, for how sure a recommendation is
_FAINT = 1e-12  # of the largest precision: what a number counts at least
_WIDE = 32  # coefficients from which products of pairs of them take more room than time


@dataclass(frozen=True, eq=False, kw_only=True)
class _RadialState(BeliefState):
    scores: tuple[Floats, ...]  # evidence for each choice
    setting: Choices
    leader: Floats
    levels: Floats  # of surprise, of the last rounds
    stretch: float = 1.0  # of the radius, as predictions held


@dataclass(frozen=True, eq=False)
class _Fits:
    """Posteriors that were computed of what is known."""

    known: _RadialState
    rows: Floats
    far: list[Floats]
    gram: Floats | None
    fits: dict[Choices, ByCoefficients | ByRows] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Led:
    """The leader of what is known: where its projection ended, and whether it would go farther than the radius."""

    known: _RadialState
    leader: Floats
    warm: Projection | None
    held: bool


class RadialBelief(Belief):
    """What is believed about convex losses.

    Parameters
    ----------
    domain
        The set.
    settings
        What is known beforehand.
    earlier
        What an earlier run has released about the same set.

    Examples
    --------
    >>> import sottovoce as sv
    >>> settings = ModelSettings(1000, 1.0, 0.5, 0.0, (1 / 1024, 1 / 16, 1 / 4), 8, 1, 0.08, 0.02, 1.0)
    >>> belief = RadialBelief(sv.domains.Box([-1.0], [1.0]), settings)
    >>> x = np.linspace(-1, 1, 8)[:, None]
    >>> belief.learn(Numbers(x, 0.2 + 0.5 * (x[:, 0] - 0.3) ** 2, np.full(8, 1000.0), 8000))
    >>> belief.leader.round(1)
    array([0.3])
    """

    model = "radial"
    known: _RadialState
    _fits: _Fits | None
    _led: _Led | None
    _pairs: Pairs | None = None

    def __init__(self, domain: Domain, settings: ModelSettings, *, earlier: Measurements | None = None) -> None:
        self.shape, self.settings, self.dimension = Shape(domain), settings, domain.dimension
        self._earlier = None if earlier is None else earlier.written(many=False)
        self.known = self._nothing()

    def _nothing(self) -> _RadialState:
        scores = tuple(np.zeros(size) for size in GRIDS)
        empty, start = Measurements.empty(self.dimension), self.shape.center
        return _RadialState(measurements=empty, scores=scores, setting=(0, 0, 0), leader=start, levels=np.empty(0))

    # ------------------------------------------------------------------ one of many segments

    def fresh_copy(self) -> Self:
        """Return a belief of another segment: of the same set, and knowing nothing."""
        other = super().fresh_copy()
        other._pairs = None
        return other

    @property
    def variance(self) -> float:
        """Variance of one loss at one point, as the setting in use has it."""
        return self._variance(self.setting[1])

    @property
    def prior_mean(self) -> Floats:
        """Of level, slopes and curvature."""
        return self._prior[0]

    @cached_property
    def prior_root(self) -> Floats:
        """Of their prior covariance."""
        return np.diag(np.sqrt(self._prior[1]))

    @property
    def level_place(self) -> int:
        """The first one."""
        return 0

    def sufficient_statistics(self) -> SufficientStatistics:
        """Return what was released, as the setting in use counts it."""
        places = self.shape.place(self.measurements.decisions)
        rows, far = self._at(places), self._far(places)[self.measurements.index]
        weights, pulls = next(self._weighed(self.setting, [far]))
        precision = (rows * weights[:, None]).T @ rows
        scores = self.known.scores
        return SufficientStatistics(
            precision, rows.T @ pulls, numbers=len(self.measurements), resets=self.resets, scores=scores
        )

    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best point for a level, slopes and a curvature."""
        return self.best_point(coefficients)[0]

    # ------------------------------------------------------------------ what is believed

    @property
    def setting(self) -> Choices:
        """Which model error, variance and memory are in use: those that predicted best, here and in other segments."""
        if self._shared_prior is None or not self._shared_prior.scores:
            return self.known.setting
        pairs = zip(self.known.scores, self._shared_prior.scores, strict=True)
        return tuple(best_of(choice, own + others) for choice, (own, others) in enumerate(pairs))

    @property
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""
        return Pace(self.known.since, REACHES[self.setting[2]] * self.settings.horizon)

    @property
    def best_fit(self) -> ByCoefficients | ByRows:
        """The posterior that is in use."""
        return self.fit(self.setting)

    def features(self, decisions: Floats) -> Floats:
        """Return what the mean losses at decisions are linear in: 1, z, and |z|^2/k."""
        return self._at(self.shape.place(decisions))

    def _at(self, places: Floats) -> Floats:
        return np.column_stack([np.ones(len(places)), places, (places**2).sum(axis=1) / self.shape.size])

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
        tau, power = MISFITS[setting[0]]
        base = self.noise_variance(setting, counts) if known is None else known
        if not tau:
            return base
        return base + (tau * self.settings.width) ** 2 * far**power

    def _far(self, places: Floats) -> Floats:
        """Squared distances from the leader, over k."""
        offsets = places - self.shape.place(self.known.leader)
        return np.asarray(np.einsum("ij,ij->i", offsets, offsets) / self.shape.size)

    def fit(self, setting: Choices) -> ByCoefficients | ByRows:
        """Return the posterior under a `setting`."""
        if self._fits is None or self._fits.known is not self.known:
            self._fits = _Fits(self.known, *self._rows())
        fits = self._fits.fits
        if setting not in fits:
            fits[setting] = self._fitted(setting, self._fits)
        return fits[setting]

    @property
    def _sources(self) -> list[tuple[Measurements, float]]:
        """What is learned from, each with what its precision is multiplied by."""
        known = self._earlier if self.remembers_earlier else None
        return [(self.measurements, 1.0), *([] if known is None else [(known, _KEPT)])]

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

    def _fitted(self, setting: Choices, data: _Fits) -> ByCoefficients | ByRows:
        weights, pulls = (np.concatenate(parts) for parts in zip(*self._weighed(setting, data.far), strict=True))
        return self._solved(data.rows, weights, pulls, data.gram)

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

    def _weights(self, settings: list[Choices], far: list[Floats]) -> tuple[Floats, Floats]:
        """Precision of each released number, a row for each setting; and the numbers."""
        parts = []
        for (measurements, share), distances in zip(self._sources, far, strict=True):
            weights = share / self._variances(settings, distances, measurements.counts, measurements.variances)
            if measurements is self.measurements and len(measurements):
                reaches = np.array(REACHES)[:, None] * self.settings.horizon
                weights *= np.exp((measurements.ends - measurements.ends[-1]) / reaches)[[one[2] for one in settings]]
            parts.append(weights)
        return np.concatenate(parts, axis=1), np.concatenate([measurements.means for measurements, _ in self._sources])

    def _variances(self, settings: list[Choices], far: Floats, counts: Floats, known: Floats | None = None) -> Floats:
        """Return `number_variance` of each setting, in rows."""
        model_errors, variances, _ = np.array(settings).T
        taus, powers = np.array(MISFITS).T[:, :, None]
        errors = ((taus * self.settings.width) ** 2 * np.where(powers == 1, far, far * far))[model_errors]
        if known is not None:
            return np.asarray(errors + known)
        own = np.array([self._variance(one) for one in range(len(VARIANCES))])[:, None]
        errors += (own / counts + (self.settings.noise / counts) ** 2)[variances]
        return np.asarray(errors)

    # ------------------------------------------------------------------ decisions

    def _radius(self, events: float) -> float:
        """How far from the leader the model errs no more than one number's noise."""
        tau, power = MISFITS[self.setting[0]]
        if not tau:
            return math.inf
        noise = math.sqrt(float(self.noise_variance(self.setting, np.array([events]))[0]))
        return float((noise / (tau * self.settings.width)) ** (1 / power) / power)

    def best_point(
        self, coefficients: Floats, warm: Projection | None = None, *, hasty: bool = False
    ) -> tuple[Floats, Projection | None]:
        """Return the best point for `coefficients`, a projection on the scaled set, and where to start the next one.

        `warm` is where the last one ended; `hasty` says that a rough answer will do.
        """
        curvature = max(float(coefficients[-1]), 1e-3 * self.settings.width)
        target = -self.shape.size * coefficients[1:-1] / (2 * curvature)
        return self.shape.nearest(target, warm, hasty=hasty)

    @property
    def leader(self) -> Floats:
        """The best point for the posterior mean, within the radius that the model is trusted in."""
        if self._led is None or self._led.known is not self.known:
            known, horizon = self.known, self.settings.horizon
            passed = int(self.measurements.ends[-1]) if len(self.measurements) else known.since
            radius = self._radius(self.pace.events(self.settings, min(passed, horizon))) * known.stretch
            best, warm = self.best_point(self.fit(self.setting).mean)
            held = float(self.shape.distance(best, known.leader)) > radius
            self._led = _Led(known, self.shape.within(best, radius, known.leader), warm, held)
        return self._led.leader

    def _best_points(self, coefficients: Floats) -> Floats:
        """Return the best point for each row: all projections start at the leader's, whatever came in between."""
        leader = self.leader
        assert self._led is not None
        best = [self.best_point(row, self._led.warm, hasty=True)[0] for row in coefficients]
        return np.array(best).reshape(-1, len(leader))

    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw points, each the best for one sample of the posterior, within the radius that the model is trusted."""
        leader, fit = self.leader, self.fit(self.setting)
        # The leader may go farther than its probes, for it rests on many numbers, and each of them on one.
        radius = self._radius(self.pace.events(self.settings, passed)) * math.sqrt(self.known.stretch)
        drawn = fit.sample(coins, count, self.settings.posterior_scale)
        return np.array([self.shape.within(point, radius, leader) for point in self._best_points(drawn)])

    # ------------------------------------------------------------------ learning

    def learn(self, numbers: Numbers) -> None:
        """Take in what a round has released: judge the settings by it, then learn from it."""
        known, leader = self.known, self.leader
        centred = replace(numbers, means=numbers.means - self.settings.middle)
        now = self.setting
        scores, setting = list(known.scores), list(now)
        places = self.shape.place(numbers.probes)
        rows, far = self._at(places), self._far(places)
        tried = {choice: neighbours(now, choice) for choice in self._judged()}
        told = self._evidences(
            list(dict.fromkeys([now, *(one for row in tried.values() for one in row)])), centred, rows, far
        )
        fade = _FADE if not self.settings.segments else _FADE ** (len(centred.means) / self.settings.probes)
        for choice, row in tried.items():
            score = fade * known.scores[choice] + np.array([told[one].likelihood for one in row])
            scores[choice] = score - score.max()
            setting[choice] = best_of(choice, scores[choice])
        outcome = told[now]
        if self.remembers_earlier:
            cold = self._cold_evidence(centred, rows, far)
            known = replace(known, prior_evidence=known.prior_evidence + outcome.likelihood - cold.likelihood)
            if not known.prior_stands:  # what it was taken for was the earlier run's fault
                scores, setting = [np.zeros(size) for size in GRIDS], [0, setting[1], 0]
        known = replace(
            known,
            scores=tuple(scores),
            setting=tuple(setting),
            leader=leader,
            stretch=self._stretched(outcome.excess),
            levels=np.append(known.levels, outcome.surprise)[-USUAL:],
        )
        surprised = has_jumped(outcome.surprise, len(centred.means), self.known.levels)
        if surprised or self.told_so > known.resets:
            known = replace(
                self._nothing(),
                setting=(0, setting[1], 0),
                leader=leader,
                since=numbers.end - round(float(numbers.counts.sum())),
                resets=max(self.told_so, known.resets + surprised),
                prior_evidence=known.prior_evidence,
            )
        self.known = replace(known, measurements=known.measurements.add(centred))

    def _judged(self) -> Sequence[int]:
        """Which choices a round judges: all of them, or one in turn where each fit is a large matrix."""
        if self.dimension < _MANY:
            return range(len(GRIDS))
        return (self.measurements.rounds % len(GRIDS),)

    def _stretched(self, excess: float) -> float:
        """Return what the radius is multiplied by next: more if the leader would go farther and predictions hold."""
        assert self._led is not None
        stretch = self.known.stretch
        if excess > _FAILS:
            return max(1.0, _SHORTER * stretch)
        return min(_LONGEST, _LONGER * stretch) if self._led.held and excess < _HOLDS else stretch

    def _cold_evidence(self, numbers: Numbers, rows: Floats, far: Floats) -> Outcome:
        """Compare a round's numbers with what this run alone would have predicted of them."""
        self.fit(self.setting)
        assert self._fits is not None
        weights, pulls = next(self._weighed(self.setting, self._fits.far))
        before = self._fits.rows[: len(weights)]
        cold = self._solved(before, weights, pulls, self._shared(before) if self.shape.many else None)
        return self._evidence(self.setting, numbers, rows, far, cold)

    def _evidences(
        self, settings: list[Choices], numbers: Numbers, rows: Floats, far: Floats
    ) -> dict[Choices, Outcome]:
        """Compare a round's numbers with what settings have predicted of them, all settings at once."""
        self.fit(settings[0])
        data = self._fits
        assert data is not None
        if data.gram is not None and self._shared_prior is None:  # few numbers, or many coordinates
            return {one: self._evidence(one, numbers, rows, far) for one in settings}
        weights, means = self._weights(settings, data.far)
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
        covariance.reshape(len(settings), -1)[:, :: count + 1] += self._variances(settings, far, numbers.counts)
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

    # ------------------------------------------------------------------ looking

    def _residuals(self) -> tuple[Floats, Floats, Floats]:
        """As if the model were exact, and losses as noisy as they can be."""
        measurements, rows = self.measurements, self.features(self.measurements.decisions)
        variances = self.settings.variances[2] / measurements.counts + (self.settings.noise / measurements.counts) ** 2
        summed, pulled = measurements.pooled(1 / variances)
        gram = self._shared(rows) if self.shape.many else None
        return variances, *self._solved(rows, summed, pulled, gram).predict(rows)

    def _against_best(self, decision: Floats, drawn: Floats) -> tuple[Floats, Any]:
        best = self._best_points(drawn)
        here, there = self.features(decision[None, :])[0], self.features(best)
        return drawn @ here - np.einsum("ij,ij->i", drawn, there), self.shape.distance(best, decision) < _SAME

    def _tried(self) -> Tried:
        """But for what the model errs by."""
        measurements, reach = self.measurements, REACHES[self.setting[2]] * self.settings.horizon
        ends = measurements.ends
        tried = self._weighed_alike(
            measurements, np.exp((ends - ends[-1]) / reach) if len(measurements) else np.ones(0)
        )
        if self._earlier is None or not self.remembers_earlier:
            return tried
        return tried.with_more(self._weighed_alike(self._earlier, _KEPT * np.ones(len(self._earlier))))

    def _weighed_alike(self, measurements: Measurements, kept: Floats) -> Tried:
        known = (
            self.noise_variance(self.setting, measurements.counts)
            if measurements.variances is None
            else measurements.variances
        )
        precisions, pulls = measurements.pooled(kept / known)
        return Tried(measurements.decisions, precisions, pulls, measurements.pooled(kept * measurements.counts)[0])

    def _in_units(self) -> tuple[Floats, Floats | None, Floats | None, dict[str, Any]]:
        """From z to x: slopes are divided by the scale; and the level comes after them."""
        shape, fit, n = self.shape, self.best_fit, self.dimension
        order = np.concatenate([np.arange(1, n + 1), [0, n + 1]])
        units = np.concatenate([1 / shape.scale, [1.0, 1.0]])
        mean = fit.mean[order] * units
        more = {"center": shape.center, "scale": shape.scale, "size": shape.size, "curvature": float(mean[-1])}
        if shape.many and isinstance(fit, ByRows):
            return mean, None, np.sqrt(np.maximum(0.0, fit.spread[order])) * units, more
        covariance = np.asarray(np.linalg.inv(fit.precision)[np.ix_(order, order)] * np.outer(units, units))
        return mean, covariance, np.sqrt(np.diag(covariance)), more

    # ------------------------------------------------------------------ keeping

    def memory(self) -> Record:
        """Return what was learned, each list of scores by itself."""
        record = super().memory()
        scores = {f"scores.{choice}": score for choice, score in enumerate(record.pop("scores"))}
        return {**record, **scores, "setting": list(self.known.setting)}

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        scores = tuple(np.array(memory[f"scores.{choice}"]) for choice in range(len(GRIDS)))
        super().remember({**memory, "scores": (), "setting": ()})
        self.known = replace(self.known, scores=scores, setting=tuple(int(one) for one in memory["setting"]))
