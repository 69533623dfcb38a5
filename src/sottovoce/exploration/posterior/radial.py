"""Beliefs about convex losses: mean loss at x is level + <a, z> + q |z|^2/k, z = (x - c)/s; and how wrong that is.

A sample's best point is the projection of -k a/(2q) on the scaled set: the regularised leader of the paper, with the
strength of the regulariser learned from released numbers. n + 2 numbers are learned, whatever the loss.

Most losses are not of that form. How far a number may be off grows with the distance of its probe from the leader,
deviation tau B r^p; which (tau, p), which variance of a loss, and how long a memory: those that predicted the released
numbers best, judged one at a time. Probes keep within the distance at which the model errs as much as one number's
noise. A round that surprises ten times as much as usual means that the world has changed: all is forgotten.

Tests: tests/exploration/test_posterior_radial.py.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record, part
from sottovoce.domains import Domain
from sottovoce.exploration.posterior.belief import Belief, Certainty, Misfit, Pace, Settings, laplace_tails
from sottovoce.exploration.posterior.gaussian import ByCoefficients
from sottovoce.exploration.posterior.history import History, Numbers
from sottovoce.exploration.posterior.published import MOST_COVARIANCES, Posterior, Tried
from sottovoce.projection import Projection, project

__all__ = ["RadialBelief", "Shape"]

MISFITS = ((0.0, 1), (0.1, 2), (0.3, 2), (1.0, 2), (0.03, 1), (0.1, 1), (0.3, 1))
"""(tau, p): numbers may be off by tau B r^p."""
VARIANCES = (1 / 16, 1 / 64, 1 / 256, 1 / 1024)
"""Of one loss at one point, in B^2."""
MEMORIES = (math.inf, 0.3, 0.1, 0.03)
"""How far back is remembered, in horizons."""
_GRIDS = (len(MISFITS), len(VARIANCES), len(MEMORIES))
_HANDICAP = 6.0  # nats by which a memory that forgets must win
_FADE = 0.95  # of the evidence for a setting
_JUMP, _USUAL, _FEW, _ENOUGH = 10.0, 20, 5, 6  # a surprise against the usual one: factor, rounds, rounds, numbers
_GAP = 1e-5  # at which a projection stops, relative to the squared size of the scaled set
Setting = tuple[int, ...]


class Shape:
    """A set as the model sees it: centred, and scaled coordinate by coordinate to how far its vertices reach.

    Parameters
    ----------
    domain
        The set.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain, self.center = domain, np.asarray(domain.center)
        self.size = domain.affine_dimension  # k
        coins = np.random.default_rng(0)  # public and always the same: what follows is part of the plan
        count = min(max(512, 32 * domain.dimension), 8192)
        total = np.zeros(domain.dimension)
        for _ in range(count):
            total += (domain.extreme_point(coins.standard_normal(domain.dimension)) - self.center) ** 2
        scale = np.sqrt(total / count)
        floor = 0.25 * math.sqrt(float((scale**2).mean()))
        scale = np.maximum(scale, floor)
        even = float(scale.max()) <= 1.5 * float(scale.min())
        self.scale = np.full(domain.dimension, math.sqrt(float((scale**2).mean()))) if even else scale
        self.even = even
        gains = [self._gain(coins.standard_normal(domain.dimension)) for _ in range(64)]
        self.half = float(np.mean(gains))  # what a random linear function gains over the set

    def _gain(self, direction: Floats) -> float:
        return float(direction @ self.place(self.domain.extreme_point(-direction / self.scale)))

    def place(self, points: Floats) -> Floats:
        """Map points to z."""
        return np.asarray((points - self.center) / self.scale)

    def point(self, place: Floats) -> Floats:
        """Map z to a point."""
        return np.asarray(self.center + place * self.scale)

    def _oracle(self, cost: Floats) -> Floats:
        return self.place(self.domain.extreme_point(cost / self.scale))

    def nearest(self, place: Floats, warm: Projection | None) -> tuple[Floats, Projection | None]:
        """Return the point whose z is nearest to a place, by formula or by linear oracle."""
        if self.even:
            exact = self.domain.nearest(self.point(place))
            if exact is not None:
                return exact, None
        gap = _GAP * self.size
        result = project(self._oracle, place, warm=warm, gap=gap, max_calls=200)
        return self.point(result.point), result


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

    def __init__(self, domain: Domain, settings: Settings, *, earlier: History | None = None) -> None:
        self.shape, self.settings, self.dimension = Shape(domain), settings, domain.dimension
        self._earlier = earlier
        scores = tuple(np.zeros(size) for size in _GRIDS)
        empty = History.empty(self.dimension)
        self._known = _Known(empty, scores, (0, 0, 0), self.shape.center)
        self._fits: tuple[_Known, dict[Setting, ByCoefficients]] | None = None
        self._led: tuple[_Known, Floats, Projection | None] | None = None

    # ------------------------------------------------------------------ what is believed

    @property
    def history(self) -> History:
        """What it rests on, since all was forgotten last."""
        return self._known.history

    @property
    def resets(self) -> int:
        """How often all was forgotten."""
        return self._known.resets

    @property
    def setting(self) -> Setting:
        """Which misfit, variance and memory are in use."""
        return self._known.setting

    @property
    def pace(self) -> Pace:
        """What the lengths of rounds follow from."""
        return Pace(self._known.since, MEMORIES[self.setting[2]] * self.settings.horizon)

    def features(self, places: Floats) -> Floats:
        """Return what the mean losses at places are linear in: 1, z, and |z|^2/k."""
        return np.column_stack([np.ones(len(places)), places, (places**2).sum(axis=1) / self.shape.size])

    @cached_property
    def _prior(self) -> tuple[Floats, Floats]:
        """Precision, and precision times mean: the curvature is about B/4, the slopes and the level about 0."""
        quarter = (self.settings.width / 4) ** 2
        slope = (0.6 * self.settings.width / self.shape.half) ** 2
        precision = np.diag(1 / np.concatenate([[quarter], np.full(self.dimension, slope), [quarter]]))
        pull = np.zeros(self.dimension + 2)
        pull[-1] = self.settings.width / 4 / quarter
        return precision, pull

    def _variance(self, variance: int) -> float:
        least, _, largest = self.settings.variances
        return min(max(VARIANCES[variance] * self.settings.width**2, least), largest)

    def noise_variance(self, setting: Setting, counts: Floats) -> Floats:
        """Variance of released means, but for what the model errs by."""
        return self._variance(setting[1]) / counts + (self.settings.noise / counts) ** 2

    def number_variance(self, setting: Setting, places: Floats, counts: Floats, known: Floats | None = None) -> Floats:
        """Variance of released means: of losses and noise (unless `known`), and of what the model errs by."""
        tau, power = MISFITS[setting[0]]
        base = self.noise_variance(setting, counts) if known is None else known
        if not tau:
            return base
        return base + (tau * self.settings.width) ** 2 * self._far(places) ** power

    def _far(self, places: Floats) -> Floats:
        """Squared distances from the leader, over k."""
        return np.asarray(((places - self.shape.place(self._known.leader)) ** 2).sum(axis=1) / self.shape.size)

    def fit(self, setting: Setting) -> ByCoefficients:
        """Return the posterior under a setting."""
        if self._fits is None or self._fits[0] is not self._known:
            self._fits = self._known, {}
        fits = self._fits[1]
        if setting not in fits:
            fits[setting] = self._fitted(setting)
        return fits[setting]

    def _fitted(self, setting: Setting) -> ByCoefficients:
        precision, pull = self._prior
        for history, share in ((self.history, 1.0), (self._earlier, 0.3)):
            if history is None or not len(history) or (history is self._earlier and self.resets):
                continue
            places = self.shape.place(history.decisions)
            weights = share / self.number_variance(setting, places[history.index], history.counts, history.variances)
            if history is self.history and math.isfinite(MEMORIES[setting[2]]):
                age = history.ends - history.ends[-1]
                weights = weights * np.exp(age / (MEMORIES[setting[2]] * self.settings.horizon))
            summed, pulled = history.pooled(weights)
            rows = self.features(places)
            precision = precision + (rows * summed[:, None]).T @ rows
            pull = pull + rows.T @ pulled
        return ByCoefficients(precision, pull)

    def _neighbours(self) -> list[list[Setting]]:
        """For each of the three choices: the settings that differ in nothing else."""
        use = self.setting
        return [
            [(*use[:choice], other, *use[choice + 1 :]) for other in range(size)] for choice, size in enumerate(_GRIDS)
        ]

    # ------------------------------------------------------------------ decisions

    def _radius(self, events: float) -> float:
        """How far from the leader the model errs no more than one number's noise."""
        tau, power = MISFITS[self.setting[0]]
        if not tau:
            return math.inf
        noise = math.sqrt(float(self.noise_variance(self.setting, np.array([events]))[0]))
        return float((noise / (tau * self.settings.width)) ** (1 / power) / power)

    def _within(self, point: Floats, radius: float, leader: Floats) -> Floats:
        """Pull a point towards the leader until it is within a radius."""
        if not math.isfinite(radius):
            return point
        distance = float(np.linalg.norm((point - leader) / self.shape.scale)) / math.sqrt(self.shape.size)
        return np.asarray(leader + min(1.0, radius / max(distance, 1e-12)) * (point - leader))

    def best_point(self, coefficients: Floats, warm: Projection | None = None) -> tuple[Floats, Projection | None]:
        """Return the best point for coefficients, a projection on the scaled set, and where to start the next one."""
        curvature = max(float(coefficients[-1]), 1e-3 * self.settings.width)
        target = -self.shape.size * coefficients[1:-1] / (2 * curvature)
        return self.shape.nearest(target, warm)

    @property
    def leader(self) -> Floats:
        """The best point for the posterior mean, within the radius that the model is trusted in."""
        if self._led is None or self._led[0] is not self._known:
            since, horizon = self._known.since, self.settings.horizon
            passed = int(self.history.ends[-1]) if len(self.history) else since
            radius = self._radius(self.pace.events(self.settings, min(passed, horizon)))
            best, warm = self.best_point(self.fit(self.setting).mean)
            self._led = self._known, self._within(best, radius, self._known.leader), warm
        return self._led[1]

    def _best_points(self, coefficients: Floats) -> Floats:
        """Return the best point for each row: all projections start at the leader's, whatever came in between."""
        leader = self.leader
        assert self._led is not None
        return np.array([self.best_point(row, self._led[2])[0] for row in coefficients]).reshape(-1, len(leader))

    def draw(self, count: int, passed: int, number: int, coins: np.random.Generator) -> Floats:
        """Draw points, each the best for one sample of the posterior, within the radius that the model is trusted."""
        leader, fit = self.leader, self.fit(self.setting)
        radius = self._radius(self.pace.events(self.settings, passed))
        drawn = fit.sample(coins, count, self.settings.temper)
        return np.array([self._within(point, radius, leader) for point in self._best_points(drawn)])

    # ------------------------------------------------------------------ learning

    def learn(self, numbers: Numbers) -> None:
        """Take in what a round has released: judge the settings by it, then learn from it."""
        known, leader = self._known, self.leader
        means = numbers.means - self.settings.middle
        places, counts = self.shape.place(numbers.probes), numbers.counts
        choices, scores, setting = self._neighbours(), [], []
        told = {one: self._evidence(one, places, means, counts) for one in {one for row in choices for one in row}}
        for choice, row in enumerate(choices):
            score = _FADE * known.scores[choice] + np.array([told[one][0] for one in row])
            score = score - score.max()
            handicap = np.where(np.arange(len(row)) > 0, _HANDICAP if choice == 2 else 0.0, 0.0)
            scores.append(score)
            setting.append(int(np.argmax(score - handicap)))
        level = told[known.setting][1]
        known = replace(known, scores=tuple(scores), setting=tuple(setting), leader=leader)
        usual = max(1.0, float(np.median(known.levels))) if len(known.levels) >= _FEW else math.inf
        if len(means) >= _ENOUGH and level > _JUMP * usual:
            known = replace(
                known,
                history=History.empty(self.dimension),
                scores=tuple(np.zeros(size) for size in _GRIDS),
                setting=(0, setting[1], 0),
                since=numbers.end - round(float(counts.sum())),
                resets=known.resets + 1,
                levels=(),
            )
        else:
            known = replace(known, levels=(*known.levels, level)[-_USUAL:])
        self._known = replace(known, history=known.history.add(replace(numbers, means=means)))

    def _evidence(self, setting: Setting, places: Floats, means: Floats, counts: Floats) -> tuple[float, float]:
        """Return the log-likelihood of a round's numbers, as they were predicted, and their mean squared surprise."""
        expected, covariance = self.fit(setting).predict(self.features(places))
        covariance = covariance + np.diag(self.number_variance(setting, places, counts))
        residual = means - expected
        squares = float(residual @ np.linalg.solve(covariance, residual))
        return -(squares + float(np.linalg.slogdet(covariance)[1])) / 2, squares / len(residual)

    # ------------------------------------------------------------------ looking

    def misfit(self) -> Misfit:
        """Compare the released numbers with the model as if it were exact, and losses as noisy as they can be."""
        history, places = self.history, self.shape.place(self.history.decisions)
        variances = self.settings.variances[2] / history.counts + (self.settings.noise / history.counts) ** 2
        rows = self.features(places)
        summed, pulled = history.pooled(1 / variances)
        precision, pull = self._prior
        fit = ByCoefficients(precision + (rows * summed[:, None]).T @ rows, pull + rows.T @ pulled)
        expected, covariance = fit.predict(rows)
        tails = laplace_tails(self.settings, history.counts, variances)
        return Misfit.between_decisions(history, variances, expected, covariance, tails)

    def certainty(self, decision: Floats, draws: int = 50) -> Certainty:
        """Draw from the posterior, and see by how much another point is better."""
        fit, coins = self.fit(self.setting), np.random.default_rng(1)
        drawn = fit.sample(coins, draws)
        best = self._best_points(drawn)
        here = self.features(self.shape.place(decision[None, :]))
        there = self.features(self.shape.place(best))
        gaps = np.maximum(0.0, drawn @ here[0] - np.einsum("ij,ij->i", drawn, there))
        near = np.linalg.norm(self.shape.place(best) - self.shape.place(decision), axis=1) < 0.1 * math.sqrt(
            self.shape.size
        )
        mean, variance = fit.predict(here)
        shortfall = float(gaps.mean()), float(np.quantile(gaps, 0.95))
        loss = float(self.settings.middle + mean[0])
        return Certainty(float(near.mean()), shortfall, loss, math.sqrt(max(0.0, float(variance[0, 0]))))

    def posterior(self) -> Posterior:
        """Return what is believed, with what an earlier run knew if that still counts."""
        settings, shape, fit = self.settings, self.shape, self.fit(self.setting)
        tried = self._tried(self.history, 1.0)
        if self._earlier is not None and not self.resets:
            tried = tried.with_more(self._tried(self._earlier, 0.3))
        # From z to x: slopes are divided by the scale; and the level comes after them.
        order = np.concatenate([np.arange(1, self.dimension + 1), [0, self.dimension + 1]])
        units = np.concatenate([1 / shape.scale, [1.0, 1.0]])
        mean = fit.mean[order] * units
        covariance = np.linalg.inv(fit.precision)[np.ix_(order, order)] * np.outer(units, units)
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
            deviations=np.sqrt(np.diag(covariance)[: self.dimension]),
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
        return self._known

    def go_back(self, knowledge: Any) -> None:
        """Know no more than what `knowledge` returned."""
        self._known = knowledge

    def memory(self) -> Record:
        """Return what was learned: the released numbers, and what follows from those that are forgotten."""
        known = self._known
        kept: Integers = np.array(known.setting, dtype=np.int64)
        plain = {"setting": kept, "leader": known.leader, "since": known.since, "resets": known.resets}
        scores = {f"scores_{choice}": score for choice, score in enumerate(known.scores)}
        history = {f"history.{name}": value for name, value in known.history.record().items()}
        return plain | scores | {"levels": np.array(known.levels, dtype=np.float64)} | history

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        self._known = _Known(
            History.from_record(part(memory, "history")),
            tuple(np.array(memory[f"scores_{choice}"]) for choice in range(len(_GRIDS))),
            tuple(int(one) for one in memory["setting"]),
            np.array(memory["leader"]),
            int(memory["since"]),
            int(memory["resets"]),
            tuple(float(one) for one in memory["levels"]),
        )

    def carry_over(self, earlier: "RadialBelief", events: int) -> None:
        """Begin with what another belief knows, `events` before this one's first."""
        known = earlier._known
        self._known = replace(known, history=known.history.earlier_by(events), since=known.since - events)
