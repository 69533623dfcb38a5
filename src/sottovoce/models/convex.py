"""Beliefs about convex losses: mean loss at x is level + <a, z> + q |z|^2/k, z = (x - c)/s; and how wrong that is.

A sample's best point is the projection of -k a/(2q) on the scaled set: the regularised leader of the paper, with the
strength of the regulariser learned from released numbers. n + 2 numbers are learned, whatever the loss.

Most losses are not of that form. How far a number may be off grows with the distance of its probe from the leader,
deviation tau B r^2; which tau, which variance of a loss, and how long a memory: those that predicted the released
numbers best, judged one at a time. Leader and probes keep within the distance at which the model errs as much as one
number's noise. A round that surprises ten times as much as usual means that the world has changed: all is forgotten.

How steep losses are is learned, too (slope_scales.py): first probes are near the centre, as near as the horizon is
short, and go farther as released numbers say. None is so near to the leader that it could teach nothing, and they
come nearer as fewer events are left that could make use of what they teach.

No model tells whether probes pay. So one or two decisions of a round are the centre itself, which costs nothing against
never learning: as long as what was played has lost as much as that, released numbers against released numbers, and
where it plainly lost more, probes come nearer to the leader.

Tests: tests/models/test_convex.py.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import Record
from sottovoce.domains import Domain
from sottovoce.models.changes import GRIDS, MISFITS, REACHES, USUAL, best_of, has_jumped, neighbours
from sottovoce.models.fit_check import Certainty
from sottovoce.models.gaussian import ByCoefficients, ByMeasurements, DiagonalPrior, Fitted
from sottovoce.models.measurements import Measurements, Numbers, Tried
from sottovoce.models.pace import ModelSettings, Pace
from sottovoce.models.radial_fits import KEPT, RadialFits, RadialState
from sottovoce.models.shape import Shape
from sottovoce.models.slope_scales import Slopes, SlopeScales
from sottovoce.models.sufficient_statistics import SufficientStatistics
from sottovoce.projection import Projection

_FADE = 0.95  # of the evidence for a setting
_EARLY = 4  # power of the cooling by which the least distance falls: what is learned early is of use for longer
_SURE = 1.45  # what a shortfall is multiplied by, as it is drawn from what is believed;
_MISSED = 4.8  # and what may be gained that the model has missed;
_UNSURE = 6.5  # and the deviation of the loss at the decision, by how likely it is that the model errs;
_WRONG = 4.0  # and what the model in use may err by as far away as the best point
_UNKNOWN = 0.15  # a shortfall, in B, from which it is not multiplied
_NEWEST, _NEAREST = 0.2, 0.9  # of events, and of their numbers, those by which the loss of a decision is judged
_CURVED = 1.75  # of what the model's curvature adds to those numbers: how far off that may be
_PLAINLY = 1.0  # standard errors by which more was lost than at the centre, from which probes come nearer
_CENTERED = (-0.5, 0.5)  # and those from which a first and a second decision of a round are the centre
_OTHERS = 4  # decisions that a round has at least, if one of them is the centre
_SAME = 0.1  # distance at which two points count as one, for how sure a recommendation is


class RadialBelief(RadialFits):
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

    def __init__(self, domain: Domain, settings: ModelSettings, *, earlier: Tried | None = None) -> None:
        self.shape, self.settings, self.dimension = Shape(domain), settings, domain.dimension
        self.prior = self._first_prior()
        self._earlier = None if earlier is None else earlier.written(many=False)
        self.known = self._nothing()

    def _nothing(self) -> RadialState:
        scores = tuple(np.zeros(size) for size in GRIDS)
        empty, start = Measurements.empty(self.dimension), self.shape.center
        return RadialState(measurements=empty, scores=scores, setting=(0, 0, 0), leader=start, levels=np.empty(0))

    # ------------------------------------------------------------------ one of many segments

    @property
    def variance(self) -> float:
        """Variance of one loss at one point, as the setting in use has it."""
        return self._variance(self.setting[1])

    def sufficient_statistics(self) -> SufficientStatistics:
        """Return what was released, as the setting in use counts it."""
        precision, pull = self._summed(self.setting, self._gathered(earlier=False))
        numbers, scores = len(self.measurements), self.known.scores
        return SufficientStatistics(precision, pull, numbers=numbers, resets=self.resets, scores=scores)

    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best point for a level, slopes and a curvature."""
        return self.shape.nearest(self._targets(coefficients))[0]

    # ------------------------------------------------------------------ what is believed

    @property
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""
        return Pace(self.known.since, REACHES[self.setting[2]] * self.settings.horizon)

    @property
    def best_fit(self) -> Fitted:
        """The posterior in use: the mean over all scales of slopes, as far off as it may be under the largest."""
        fit, slopes = self.fit(self.setting), self.slopes
        if slopes is None or not isinstance(fit, ByCoefficients):
            return fit
        return ByCoefficients(fit.precision, fit.precision @ slopes.mean)

    def coefficients(self) -> Floats:
        """Return the posterior mean of level, slopes and curvature."""
        return super().coefficients() if self.slopes is None else self.slopes.mean

    @cached_property
    def _scales(self) -> SlopeScales:
        return SlopeScales(self.shape, self.settings)

    @property
    def slopes(self) -> Slopes | None:
        """What is believed under all scales of slopes; None where other segments say how steep losses are.

        Among many coordinates it would take long.
        """
        if self.settings.segments or self.shape.many:
            return None
        return self._computed("slopes", lambda: self._scales.weigh(self.prior, *self._summed(self.setting, self._seen)))

    # ------------------------------------------------------------------ decisions

    def _radius(self, events: float) -> float:
        """How far from the leader the model errs no more than one number's noise."""
        tau = MISFITS[self.setting[0]]
        if not tau:
            return math.inf
        noise = math.sqrt(float(self.noise_variance(self.setting, np.array([events]))[0]))
        return math.sqrt(noise / (tau * self.settings.width)) / 2

    def _targets(self, coefficients: Floats) -> Floats:
        """Return what is projected on the scaled set for the best point, of coefficients or of rows of them."""
        curvatures = np.maximum(coefficients[..., -1:], 1e-3 * self.settings.width)
        return np.asarray(-self.shape.size * coefficients[..., 1:-1] / (2 * curvatures))

    @property
    def leader(self) -> Floats:
        """The best point for the posterior mean, within the radius that the model is trusted in."""
        return self._led[0]

    @property
    def _led(self) -> tuple[Floats, Projection | None]:
        """The leader, and where its projection ended."""
        return self._computed("leader", self._lead)

    def _lead(self) -> tuple[Floats, Projection | None]:
        known, horizon = self.known, self.settings.horizon
        passed = int(self.measurements.ends[-1]) if len(self.measurements) else known.since
        radius = self._radius(self.pace.events(self.settings, min(passed, horizon)))
        best, warm = self.shape.nearest(self._targets(self.coefficients()))
        return self.shape.within(best, radius, known.leader), warm

    def _best_points(self, coefficients: Floats) -> Floats:
        """Return the best point for each row: all projections start at the leader's, whatever came in between."""
        leader, warm = self._led
        best = [self.shape.nearest(row, warm, hasty=True)[0] for row in self._targets(coefficients)]
        return np.array(best).reshape(-1, len(leader))

    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw `count` points for round `number`, after `passed` events, each the best for one sample of the posterior.

        They lie within the radius in which the model is trusted.
        """
        leader, slopes = self.leader, self.slopes
        radius = self._radius(self.pace.events(self.settings, passed))
        if slopes is None:
            drawn, least = self.best_fit.sample(coins, count, self.settings.posterior_scale), 0.0
        else:
            cooling = self._cooling(passed)
            drawn = slopes.scatter.sample(coins, count, cooling * self.settings.posterior_scale)
            precision, curvature = float(self._tried().precisions.sum()), float(slopes.mean[-1])
            least = cooling**_EARLY * self._scales.least_distance(precision, curvature)
            radius = max(least, min(radius, slopes.farthest))
        points = self.shape.within(self._best_points(drawn), radius, leader)
        if slopes is None:
            return points
        losing = self._losing()
        points = self.shape.apart(points, least, leader, coins) if least else points
        points = leader + (points - leader) / (1 + max(0.0, losing - _PLAINLY))
        if count > _OTHERS:
            points[: sum(losing > limit for limit in _CENTERED)] = self.shape.center
        return points

    def _losing(self) -> float:
        """By how many standard errors what was played has lost more than the centre: the newer, the more it counts."""
        measurements = self.measurements
        rows = (measurements.decisions == self.shape.center).all(axis=1)[measurements.index]
        if not rows.any() or rows.all():
            return 0.0
        variances, means = self.noise_variance(self.setting, measurements.counts), measurements.means
        precision = float((1 / variances[rows]).sum())
        center = float((means[rows] / variances[rows]).sum()) / precision
        events = (measurements.counts * measurements.ends / measurements.ends[-1])[~rows]
        variance = float(events**2 @ variances[~rows]) + float(events.sum()) ** 2 / precision
        return float(events @ (means[~rows] - center)) / math.sqrt(variance)

    def _cooling(self, passed: int) -> float:
        """What probes scatter by, as fewer events are left than were learned from: of sqrt(1 - t/T)."""
        left = max(0, self.settings.horizon - passed)
        return math.sqrt(left / max(1, left + passed - self.known.since))

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
        settings = list(dict.fromkeys([now, *(one for row in tried.values() for one in row)]))
        told = dict(zip(settings, self._evidences(settings, centred, rows, far), strict=True))
        fade = _FADE if not self.settings.segments else _FADE ** (len(centred.means) / self.settings.probes)
        for choice, row in tried.items():
            score = fade * known.scores[choice] + np.array([told[one].likelihood for one in row])
            scores[choice] = score - score.max()
            setting[choice] = best_of(choice, scores[choice])
        outcome = told[now]
        if self.remembers_earlier:
            (cold,) = self._evidences([now], centred, rows, far, self._gathered(earlier=False))
            known = replace(known, prior_evidence=known.prior_evidence + outcome.likelihood - cold.likelihood)
            if not known.prior_stands:  # what it was taken for was the earlier run's fault
                scores, setting = [np.zeros(size) for size in GRIDS], [0, setting[1], 0]
        known = replace(
            known,
            scores=tuple(scores),
            setting=tuple(setting),
            leader=leader,
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
        if not self.shape.many:
            return range(len(GRIDS))
        return (self.measurements.rounds % len(GRIDS),)

    # ------------------------------------------------------------------ looking

    def _residuals(self) -> tuple[Floats, Floats, Floats]:
        """As if the model were exact, and losses as noisy as they can be."""
        measurements, rows = self.measurements, self.features(self.measurements.decisions)
        variances = self.settings.number_variance(self.settings.variances[2], measurements.counts)
        return variances, *self._solved(rows, *measurements.pooled(1 / variances)).predict(rows)

    def _from_best(self, decision: Floats, drawn: Floats) -> tuple[Floats, Floats]:
        """By how much a decision is worse than the best for each row of coefficients, and how far away that is."""
        best = self._best_points(drawn)
        here, there = self.features(decision[None, :])[0], self.features(best)
        return drawn @ here - np.einsum("ij,ij->i", drawn, there), self.shape.distance(best, decision)

    def certainty(self, decision: Floats, draws: int = 200) -> Certainty:
        """Say how sure it is that a decision is the best, by a model that is trusted less than probes trust it.

        What the model errs by is not independent between numbers, so that its own posterior is too sure, by a factor
        that was measured. So numbers near the decision are asked what slope the model has missed there: that is lost
        for as far as the best point is away. And where released numbers show that the model errs, what is not known of
        the loss at the decision itself may hide a gain, and so may what the model errs by around it. All of this adds
        up. The loss is judged by the newest numbers near the decision, and by what the model had expected of them.
        """
        worse, far = self._from_best(decision, self._may_be(draws))
        mean, variance = self.best_fit.predict(self.features(decision[None, :]))
        known = math.sqrt(max(0.0, float(variance[0, 0])))
        shift, off = self._off(decision)
        loss, deviation = float(mean[0]) + shift, math.sqrt(known**2 + off)
        usual, likely = float(np.maximum(0.0, worse).mean()), _quantile(worse)
        away = float(np.median(far))
        wrong = MISFITS[self.setting[0]] * self.settings.width * away**2
        stated = _SURE * likely + _MISSED * self._missed(decision, loss, _quantile(far), away)
        stated += _UNSURE * math.sqrt(self._err) * known + _WRONG * wrong
        # No loss is less than all; and of what is hardly known at all nobody is too sure.
        stated = min(stated, max(likely, _UNKNOWN * self.settings.width))
        stated = min(stated, max(0.0, loss + 2 * deviation + self.settings.width / 2))
        shortfall = stated * (usual / likely if likely else 0.5), stated
        return Certainty(float((far < _SAME).mean()), shortfall, self.settings.middle + loss, deviation)

    def _may_be(self, draws: int) -> Floats:
        """Draw coefficients that may be true, whatever the scale of slopes."""
        coins = np.random.default_rng(1)
        if self.slopes is None:
            return self.best_fit.sample(coins, draws)
        return self._scales.sample(self.prior, *self._summed(self.setting, self._seen), coins, draws)

    def _slope_around(self, decision: Floats, loss: float) -> float:
        """By how much released numbers differ from the loss of a decision on the whole, per distance from it."""
        tried = self._tried()
        far = self.shape.distance(tried.decisions, decision)
        squares = float(tried.precisions @ far**2)
        return abs(float((tried.pulls - tried.precisions * loss) @ far)) / squares if squares else 0.0

    def _off(self, decision: Floats) -> tuple[float, float]:
        """By how much the newest numbers near a decision exceed what the model has there, and the variance of that."""
        measurements = self.measurements
        if not len(measurements):
            return 0.0, 0.0
        far = (self.shape.distance(measurements.decisions, decision) ** 2)[measurements.index]
        recent = measurements.ends >= (1 - _NEWEST) * measurements.ends[-1]
        recent &= far <= np.quantile(far[recent], _NEAREST)
        coefficients = self.coefficients()
        expected = self.features(measurements.decisions[measurements.index[recent]]) @ coefficients
        weights = 1 / self.noise_variance(self.setting, measurements.counts[recent])
        total, residuals = float(weights.sum()), measurements.means[recent] - expected
        shift = float(weights @ residuals) / total
        scatter = max(1.0, float((weights * (residuals - shift) ** 2).mean()))
        curved = abs(float(coefficients[-1])) * float(weights @ far[recent]) / total
        return shift, scatter / total + (_CURVED * curved) ** 2 + shift**2

    def _missed(self, decision: Floats, loss: float, near: float, away: float) -> float:
        """What is gained by going down a slope that the model has not, as far `away` as the set goes that way.

        Numbers as near as `near` show it, as far as they can tell: what they do not is taken to be no steeper than
        losses are around the decision. Where the set ends, it has to outdo what the model loses along the border.
        """
        measurements, steep = self.measurements, self._slope_around(decision, loss)
        if not steep or not near:
            return 0.0
        tried, index, place = measurements.decisions, measurements.index, self.shape.place(decision)
        rows = np.column_stack([np.ones(len(tried)), self.shape.place(tried) - place])[index]
        weights = np.exp(-((self.shape.distance(tried, decision) / near) ** 2) / 2)[index]
        weights /= self.noise_variance(self.setting, measurements.counts)
        coefficients = self.coefficients()
        residuals = measurements.means - (self.features(tried) @ coefficients)[index]
        slopes = np.full(self.dimension, (steep / self.shape.size) ** 2)
        prior = DiagonalPrior(np.zeros(self.dimension + 1), np.append(self.settings.width**2, slopes))
        missed = self._solved(rows, weights, weights * residuals, prior=prior).mean[1:]
        down = -away * math.sqrt(self.shape.size) * missed / max(float(np.linalg.norm(missed)), 1e-12)
        moved = self.shape.place(self.shape.nearest(place + down, hasty=True)[0]) - place
        slope = missed + coefficients[1:-1] + 2 * coefficients[-1] / self.shape.size * place
        return max(0.0, -float(slope @ moved))

    def _tried(self) -> Tried:
        """But for what the model errs by."""
        measurements, reach = self.measurements, REACHES[self.setting[2]] * self.settings.horizon
        kept = np.exp((measurements.ends - measurements.ends[-1:].sum()) / reach)
        known = self.noise_variance(self.setting, measurements.counts)
        tried = measurements.tried(kept / known, kept * measurements.counts)
        if self._earlier is None or not self.remembers_earlier:
            return tried
        return tried.with_more(self._earlier.times(KEPT))

    def _in_units(self) -> tuple[Floats, Floats | None, Floats | None, dict[str, Any]]:
        """From z to x: slopes are divided by the scale; and the level comes after them."""
        shape, fit, n = self.shape, self.best_fit, self.dimension
        order = np.concatenate([np.arange(1, n + 1), [0, n + 1]])
        units = np.concatenate([1 / shape.scale, [1.0, 1.0]])
        mean = fit.mean[order] * units
        more = {"center": shape.center, "scale": shape.scale, "size": shape.size, "curvature": float(mean[-1])}
        if isinstance(fit, ByMeasurements):
            return mean, None, np.sqrt(np.maximum(0.0, fit.variances[order])) * units, more
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


def _quantile(gaps: Floats) -> float:
    """What 95% stay below, and no less than 0."""
    return max(0.0, float(np.quantile(gaps, 0.95)))
