"""Beliefs about convex losses: mean loss at x is level + <a, z> + q |z|^2/k, z = (x - c)/s; and how wrong that is.

A sample's best point is the projection of -k a/(2q) on the scaled set: the regularised leader of the paper, with the
strength of the regulariser learned from released numbers. n + 2 numbers are learned, whatever the loss.

Most losses are not of that form. How far a number may be off grows with the distance of its probe from the leader,
deviation tau B r^p; which (tau, p), which variance of a loss, and how long a memory: those that predicted the released
numbers best, judged one at a time. Probes keep within the distance at which the model errs as much as one number's
noise; where the leader would go farther and rounds turn out no worse than predicted, that distance is stretched. A
round that surprises ten times as much as usual means that the world has changed: all is forgotten.

Tests: tests/exploration/test_posterior_radial.py.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record, part
from sottovoce.domains import Domain
from sottovoce.exploration.posterior._grids import GRIDS, MEMORIES, MISFITS, VARIANCES, Setting, neighbours
from sottovoce.exploration.posterior._shape import Shape
from sottovoce.exploration.posterior.belief import Belief, Certainty, Misfit, Pace, Settings, laplace_tails
from sottovoce.exploration.posterior.gaussian import ByCoefficients, ByRows, by_lower, lower_root
from sottovoce.exploration.posterior.hearsay import Evidence, Prior
from sottovoce.exploration.posterior.history import History, Numbers
from sottovoce.exploration.posterior.published import MOST_COVARIANCES, Posterior, Tried
from sottovoce.projection import Projection

__all__ = ["RadialBelief"]

_HANDICAP = 6.0  # nats by which a memory that forgets must win
_FADE = 0.95  # of the evidence for a setting
_JUMP, _USUAL, _FEW, _ENOUGH = 10.0, 20, 5, 6  # a surprise against the usual one: factor, rounds, rounds, numbers
_OUTLIER = 40.0  # what a squared surprise counts at most, where Laplace noise is all there is
_LONGER, _SHORTER, _LONGEST = 1.4, 0.6, 10.0  # what the radius is multiplied by as predictions hold, or fail; at most
_HOLDS, _FAILS = 0.5, 1.0  # deviations by which a round's mean may exceed what was predicted
_MANY = 100  # coordinates from which one choice is judged a round, in turn
_DOUBT = 3.0  # nats by which knowing nothing must have predicted better than what an earlier run knew
_KEPT = 0.3  # of what an earlier run knew, as a share of its precision: the world may have moved since
_SAME = 0.1  # distance at which two points count as one, for how sure a recommendation is
_FAINT = 1e-12  # of the largest precision: what a number counts at least
_PLAIN = ("since", "resets", "stretch", "trust")  # numbers that are learned


@dataclass(frozen=True, eq=False)
class _Known:
    """What was learned: replaced as a whole."""

    history: History
    scores: tuple[Floats, ...]
    setting: Setting
    leader: Floats
    since: int = 0
    resets: int = 0
    levels: tuple[float, ...] = ()  # of surprise, of the last rounds
    stretch: float = 1.0  # of the radius, as predictions held
    trust: float = 0.0  # evidence for what an earlier run knew, against knowing nothing


@dataclass(frozen=True, eq=False)
class _Fits:
    """Posteriors that were computed of what is known."""

    known: _Known
    rows: Floats
    far: list[Floats]
    gram: Floats | None
    fits: dict[Setting, ByCoefficients | ByRows] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Led:
    """The leader of what is known: where its projection ended, and whether it would go farther than the radius."""

    known: _Known
    leader: Floats
    warm: Projection | None
    held: bool


class _Outcome(NamedTuple):
    """Of a round's numbers: log-likelihood, mean squared surprise, and by how many deviations they exceed it all."""

    likelihood: float
    surprise: float
    excess: float


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
    >>> settings = Settings(1000, 1.0, 0.5, 0.0, (1 / 1024, 1 / 16, 1 / 4), 8, 1, 0.08, 0.02, 1.0)
    >>> belief = RadialBelief(sv.domains.Box([-1.0], [1.0]), settings)
    >>> x = np.linspace(-1, 1, 8)[:, None]
    >>> belief.learn(Numbers(x, 0.2 + 0.5 * (x[:, 0] - 0.3) ** 2, np.full(8, 1000.0), 8000))
    >>> belief.leader.round(1)
    array([0.3])
    """

    model = "radial"
    known: _Known

    def __init__(self, domain: Domain, settings: Settings, *, earlier: History | None = None) -> None:
        self.shape, self.settings, self.dimension = Shape(domain), settings, domain.dimension
        self._earlier = None if earlier is None else earlier.written(many=False)
        scores = tuple(np.zeros(size) for size in GRIDS)
        empty = History.empty(self.dimension)
        self.known = _Known(empty, scores, (0, 0, 0), self.shape.center)
        self._leaned: Prior | None = None
        self._fits: _Fits | None = None
        self._led: _Led | None = None

    # ------------------------------------------------------------------ one of many segments

    def sibling(self) -> "RadialBelief":
        """Return a belief of another segment: of the same set, and knowing nothing."""
        other = copy.copy(self)
        scores = tuple(np.zeros(size) for size in GRIDS)
        other.known = _Known(History.empty(self.dimension), scores, (0, 0, 0), self.shape.center)
        other._leaned = other._fits = other._led = None
        return other

    def lean_on(self, prior: Prior, settings: Settings) -> None:
        """Begin with what other segments say of this one, in place of nothing."""
        self._fits = self._led = None  # first: what follows from the old one must not outlive it
        self._leaned, self.settings = prior, settings

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

    def evidence(self) -> Evidence:
        """Return what was released, as the setting in use counts it."""
        places = self.shape.place(self.history.decisions)
        rows, far = self.features(places), self._far(places)[self.history.index]
        weights, pulls = next(self._weighed(self.setting, [far]))
        precision = (rows * weights[:, None]).T @ rows
        scores = self.known.scores
        return Evidence(precision, rows.T @ pulls, numbers=len(self.history), era=self.resets, scores=scores)

    def coefficients(self) -> Floats:
        """Return the posterior mean of level, slopes and curvature."""
        return self.fit(self.setting).mean

    def best_for(self, coefficients: Floats) -> Floats:
        """Return the best point for a level, slopes and a curvature."""
        return self.best_point(coefficients)[0]

    def gaps(self, one: Floats, other: Floats, draws: int) -> Floats:
        """Draw from what is believed by how much one point loses more than another."""
        drawn = self.fit(self.setting).sample(np.random.default_rng(1), draws)
        there = self.features(self.shape.place(np.array([one, other])))
        return np.asarray(drawn @ (there[0] - there[1]))

    def expected_loss(self, decision: Floats) -> float:
        """Return the loss per event that is expected at a point."""
        here = self.features(self.shape.place(decision[None, :]))[0]
        return float(self.settings.middle + here @ self.fit(self.setting).mean)

    # ------------------------------------------------------------------ what is believed

    @property
    def history(self) -> History:
        """What it rests on, since all was forgotten last."""
        return self.known.history

    @property
    def resets(self) -> int:
        """How often all was forgotten."""
        return self.known.resets

    @property
    def setting(self) -> Setting:
        """Which misfit, variance and memory are in use: those that predicted best, here and in other segments."""
        if self._leaned is None or not self._leaned.scores:
            return self.known.setting
        pairs = zip(self.known.scores, self._leaned.scores, strict=True)
        return tuple(_best(choice, own + others) for choice, (own, others) in enumerate(pairs))

    @property
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""
        return Pace(self.known.since, MEMORIES[self.setting[2]] * self.settings.horizon)

    def features(self, places: Floats) -> Floats:
        """Return what the mean losses at `places` are linear in: 1, z, and |z|^2/k."""
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

    def noise_variance(self, setting: Setting, counts: Floats) -> Floats:
        """Variance of released means of `counts` losses under a `setting`, but for what the model errs by."""
        return self._variance(setting[1]) / counts + (self.settings.noise / counts) ** 2

    def number_variance(self, setting: Setting, far: Floats, counts: Floats, known: Floats | None = None) -> Floats:
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

    def fit(self, setting: Setting) -> ByCoefficients | ByRows:
        """Return the posterior under a `setting`."""
        if self._fits is None or self._fits.known is not self.known:
            self._fits = _Fits(self.known, *self._rows())
        fits = self._fits.fits
        if setting not in fits:
            fits[setting] = self._fitted(setting, self._fits)
        return fits[setting]

    @property
    def _sources(self) -> list[tuple[History, float]]:
        """What is learned from, each with what its precision is multiplied by."""
        known = self._earlier if self.remembers_earlier else None
        return [(self.history, 1.0), *([] if known is None else [(known, _KEPT)])]

    @property
    def remembers_earlier(self) -> bool:
        """Whether what an earlier run knew is in use: until all is forgotten, or what is released speaks against it."""
        return self._earlier is not None and not self.resets and self.known.trust > -_DOUBT

    def _rows(self) -> tuple[Floats, list[Floats], Floats | None]:
        """What the released means are linear in, and how far from the leader; where few, what they share of the prior.

        All of it anew each round: what was added up in another order would differ after a recovery, in the last bit.
        """
        places = [self.shape.place(history.decisions) for history, _ in self._sources]
        far = [self._far(place)[history.index] for place, (history, _) in zip(places, self._sources, strict=True)]
        rows = self.features(np.vstack(places))
        return rows, far, self._shared(rows)

    def _shared(self, rows: Floats) -> Floats | None:
        """What rows share of the prior, if there are fewer of them than of coefficients: then these are not all solved.

        No rows at all are a matrix with nothing in it, which is the same, unless there are many coordinates.
        """
        if len(rows) >= rows.shape[1] or (not len(rows) and not self.shape.many):
            return None
        scaled = rows * np.sqrt(self._prior[1])
        return np.asarray(scaled @ scaled.T)

    def _fitted(self, setting: Setting, data: _Fits) -> ByCoefficients | ByRows:
        weights, pulls = (np.concatenate(parts) for parts in zip(*self._weighed(setting, data.far), strict=True))
        return self._solved(data.rows, weights, pulls, data.gram)

    def _solved(self, rows: Floats, weights: Floats, pulls: Floats, gram: Floats | None) -> ByCoefficients | ByRows:
        """Return the posterior after measurements, in the form that is smaller."""
        center, variances = self._prior
        if self._leaned is not None:
            precision = self._leaned.precision + (rows * weights[:, None]).T @ rows
            return ByCoefficients(precision, self._leaned.pull + rows.T @ pulls)
        if gram is not None:
            weights = np.maximum(weights, _FAINT * weights.max(initial=0.0))
            return ByRows(center, variances, rows, gram, weights, pulls)
        precision = np.diag(1 / variances) + (rows * weights[:, None]).T @ rows
        return ByCoefficients(precision, center / variances + rows.T @ pulls)

    def _weighed(self, setting: Setting, far: list[Floats]) -> Iterator[tuple[Floats, Floats]]:
        """Precision of what was released of each decision, and precision times mean, source by source."""
        reach = MEMORIES[setting[2]] * self.settings.horizon
        for (history, share), distances in zip(self._sources, far, strict=True):
            weights = share / self.number_variance(setting, distances, history.counts, history.variances)
            if history is self.history and math.isfinite(reach) and len(history):
                weights = weights * np.exp((history.ends - history.ends[-1]) / reach)
            yield history.pooled(weights)

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
            passed = int(self.history.ends[-1]) if len(self.history) else known.since
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
        drawn = fit.sample(coins, count, self.settings.temper)
        return np.array([self.shape.within(point, radius, leader) for point in self._best_points(drawn)])

    # ------------------------------------------------------------------ learning

    def learn(self, numbers: Numbers) -> None:
        """Take in what a round has released: judge the settings by it, then learn from it."""
        known, leader = self.known, self.leader
        centred = replace(numbers, means=numbers.means - self.settings.middle)
        now = self.setting
        scores, setting = list(known.scores), list(now)
        places = self.shape.place(numbers.probes)
        rows, far = self.features(places), self._far(places)
        told = {now: self._evidence(now, centred, rows, far)}
        fade = _FADE if not self.settings.segments else _FADE ** (len(centred.means) / self.settings.probes)
        for choice in self._judged():
            row = neighbours(now, choice)
            told |= {one: self._evidence(one, centred, rows, far) for one in row if one not in told}
            score = fade * known.scores[choice] + np.array([told[one].likelihood for one in row])
            scores[choice] = score - score.max()
            setting[choice] = _best(choice, scores[choice])
        outcome = told[now]
        if self.remembers_earlier:
            cold = self._cold_evidence(centred, rows, far)
            known = replace(known, trust=known.trust + outcome.likelihood - cold.likelihood)
            if known.trust <= -_DOUBT:  # what it was taken for was the earlier run's fault
                scores, setting = [np.zeros(size) for size in GRIDS], [0, setting[1], 0]
        known = replace(
            known,
            scores=tuple(scores),
            setting=tuple(setting),
            leader=leader,
            stretch=self._stretched(outcome.excess),
            levels=(*known.levels, outcome.surprise)[-_USUAL:],
        )
        usual = max(1.0, float(np.median(self.known.levels))) if len(self.known.levels) >= _FEW else math.inf
        told_so = 0 if self._leaned is None else self._leaned.era
        surprised = len(centred.means) >= _ENOUGH and outcome.surprise > _JUMP * usual
        if surprised or told_so > known.resets:  # most others may have noticed what a small segment cannot
            known = replace(
                known,
                history=History.empty(self.dimension),
                scores=tuple(np.zeros(size) for size in GRIDS),
                setting=(0, setting[1], 0),
                since=numbers.end - round(float(numbers.counts.sum())),
                resets=max(told_so, known.resets + surprised),
                levels=(),
                stretch=1.0,
            )
        self.known = replace(known, history=known.history.add(centred))

    def _judged(self) -> Sequence[int]:
        """Which choices a round judges: all of them, or one in turn where each fit is a large matrix."""
        if self.dimension < _MANY:
            return range(len(GRIDS))
        return (len(np.unique(self.history.ends)) % len(GRIDS),)

    def _stretched(self, excess: float) -> float:
        """Return what the radius is multiplied by next: more if the leader would go farther and predictions hold."""
        assert self._led is not None
        stretch = self.known.stretch
        if excess > _FAILS:
            return max(1.0, _SHORTER * stretch)
        return min(_LONGEST, _LONGER * stretch) if self._led.held and excess < _HOLDS else stretch

    def _cold_evidence(self, numbers: Numbers, rows: Floats, far: Floats) -> _Outcome:
        """Compare a round's numbers with what this run alone would have predicted of them."""
        self.fit(self.setting)
        assert self._fits is not None
        weights, pulls = next(self._weighed(self.setting, self._fits.far))
        before = self._fits.rows[: len(weights)]
        cold = self._solved(before, weights, pulls, self._shared(before) if self.shape.many else None)
        return self._evidence(self.setting, numbers, rows, far, cold)

    def _evidence(
        self, setting: Setting, numbers: Numbers, rows: Floats, far: Floats, fit: ByCoefficients | ByRows | None = None
    ) -> _Outcome:
        """Compare a round's numbers with what was predicted of them, by the setting's fit or another."""
        counts = numbers.counts
        expected, covariance = (fit or self.fit(setting)).predict(rows)
        covariance = covariance + np.diag(self.number_variance(setting, far, counts))
        residual = numbers.means - expected
        root = lower_root(covariance)
        squares = by_lower(root, residual) ** 2
        likelihood = -float(squares.sum()) / 2 - float(np.log(np.diag(root)).sum())
        # Laplace noise has outliers, which are no news: one number alone does not make a surprise.
        private = float(np.mean((self.settings.noise / counts) ** 2 / np.diag(covariance)))
        most = _OUTLIER / private if private and self.settings.heavy else math.inf
        excess = float(residual.sum()) / math.sqrt(float(covariance.sum()))
        return _Outcome(likelihood, float(np.minimum(squares, most).mean()), excess)

    # ------------------------------------------------------------------ looking

    def misfit(self) -> Misfit:
        """Compare the released numbers with the model as if it were exact, and losses as noisy as they can be."""
        history, places = self.history, self.shape.place(self.history.decisions)
        variances = self.settings.variances[2] / history.counts + (self.settings.noise / history.counts) ** 2
        rows = self.features(places)
        summed, pulled = history.pooled(1 / variances)
        gram = self._shared(rows) if self.shape.many else None
        expected, covariance = self._solved(rows, summed, pulled, gram).predict(rows)
        tails = laplace_tails(self.settings, history.counts, variances)
        found = Misfit.between_decisions(history, variances, expected, covariance, tails)
        return replace(found, model=self.model)

    def certainty(self, decision: Floats, draws: int = 50) -> Certainty:
        """Draw from the posterior, and see by how much another point is better."""
        fit, coins = self.fit(self.setting), np.random.default_rng(1)
        drawn = fit.sample(coins, draws)
        best = self._best_points(drawn)
        here = self.features(self.shape.place(decision[None, :]))
        there = self.features(self.shape.place(best))
        gaps = np.maximum(0.0, drawn @ here[0] - np.einsum("ij,ij->i", drawn, there))
        near = self.shape.distance(best, decision) < _SAME
        mean, variance = fit.predict(here)
        shortfall = float(gaps.mean()), float(np.quantile(gaps, 0.95))
        loss = float(self.settings.middle + mean[0])
        return Certainty(float(near.mean()), shortfall, loss, math.sqrt(max(0.0, float(variance[0, 0]))))

    def posterior(self) -> Posterior:
        """Return what is believed, with what an earlier run knew if that still counts."""
        settings, shape, fit = self.settings, self.shape, self.fit(self.setting)
        tried = self._tried(self.history, 1.0)
        if self._earlier is not None and self.remembers_earlier:
            tried = tried.with_more(self._tried(self._earlier, _KEPT))
        # From z to x: slopes are divided by the scale; and the level comes after them.
        order = np.concatenate([np.arange(1, self.dimension + 1), [0, self.dimension + 1]])
        units = np.concatenate([1 / shape.scale, [1.0, 1.0]])
        mean = fit.mean[order] * units
        covariance: Floats | None = None
        if self.shape.many and isinstance(fit, ByRows):
            deviations = np.sqrt(np.maximum(0.0, fit.spread[order])) * units
        else:
            covariance = np.asarray(np.linalg.inv(fit.precision)[np.ix_(order, order)] * np.outer(units, units))
            deviations = np.sqrt(np.diag(covariance))
        return Posterior(
            model=self.model,
            loss_range=(settings.middle - settings.width / 2, settings.middle + settings.width / 2),
            decisions=tried.decisions,
            means=settings.middle + tried.pulls / tried.precisions,
            precisions=tried.precisions,
            events=tried.events,
            center=shape.center,
            slopes=mean[: self.dimension],
            level=float(settings.middle + mean[-2]),
            curvature=float(mean[-1]),
            deviations=deviations[: self.dimension],
            covariance=covariance if self.dimension <= MOST_COVARIANCES else None,
            scale=shape.scale,
            size=shape.size,
            rounds=len(np.unique(self.history.ends)),
            misfit=self.misfit(),
        )

    def _tried(self, history: History, share: float) -> Tried:
        """Return the decisions of a history with what was released of each, but for what the model errs by."""
        known = self.noise_variance(self.setting, history.counts) if history.variances is None else history.variances
        kept = share * np.ones(len(history))
        if history is self.history and len(history):
            kept = np.exp((history.ends - history.ends[-1]) / (MEMORIES[self.setting[2]] * self.settings.horizon))
        precisions, pulls = history.pooled(kept / known)
        return Tried(history.decisions, precisions, pulls, history.pooled(kept * history.counts)[0])

    # ------------------------------------------------------------------ keeping

    def knowledge(self) -> Any:
        """Return what was learned, as one value."""
        return self.known

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        self.known = knowledge

    def memory(self) -> Record:
        """Return what was learned: the released numbers, and what follows from those that are forgotten."""
        known = self.known
        kept: Integers = np.array(known.setting, dtype=np.int64)
        plain = {"setting": kept, "leader": known.leader} | {name: getattr(known, name) for name in _PLAIN}
        scores = {f"scores_{choice}": score for choice, score in enumerate(known.scores)}
        history = {f"history.{name}": value for name, value in known.history.record().items()}
        return plain | scores | {"levels": np.array(known.levels, dtype=np.float64)} | history

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        self.known = _Known(
            History.from_record(part(memory, "history")),
            tuple(np.array(memory[f"scores_{choice}"]) for choice in range(len(GRIDS))),
            tuple(int(one) for one in memory["setting"]),
            np.array(memory["leader"]),
            levels=tuple(float(one) for one in memory["levels"]),
            **{name: memory[name] for name in _PLAIN if name in memory},
        )

    def carry_over(self, earlier: "RadialBelief", events: int) -> None:
        """Begin with what another belief knows, `events` before this one's first."""
        known = earlier.known
        self.known = replace(known, history=known.history.earlier_by(events), since=known.since - events)


def _best(choice: int, scores: Floats) -> int:
    """Return what has predicted best; a memory that forgets must be better by far."""
    handicap = np.where(np.arange(len(scores)) > 0, _HANDICAP if choice == 2 else 0.0, 0.0)
    return int(np.argmax(scores - handicap))
