"""Generic worlds to rehearse in: what people's losses may look like over a set, when nothing is known of them.

Linear losses are made of coordinates that cost something or nothing by lot, each with odds of its own, as items fail,
streets jam and clicks do not come. Convex ones grow with the distance from a decision that people would have wanted, or
along a slope. A world fills the range that losses are clipped to as far as its kind naturally does, or as far as a
caller knows it to (`contrast`). What is seen of a decision is one number within the range, with the mean and the
variance that the world has there. Means are in units of the range: 0 is the least that a loss can be, 1 the most.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers, Matrix, Vector
from sottovoce.domains import Domain
from sottovoce.plans.decisions import in_told_order
from sottovoce.plans.problem import Problem
from sottovoce.playing import World

_VERTICES = 32  # that say how far a set reaches
_SEASONS = 16  # of a year, in a world that has them
_YEARS = 8.0  # of a run
_MOST = 0.95  # of the range that means use, at most
_LEAST = 0.05  # of the range that there is to gain, at least: in small sets all decisions may be alike by chance
_ALIKE = 0.06  # how much coordinates of one kind differ, still
_FEATURES = 0.7  # share of what costs differ by that features explain, as plans take it
_SHARE = 0.5  # of what may count of one person, that happens on average
_SHARPNESS = 0.15  # how near to what people want, of the whole reach, losses stop to grow like a distance


@dataclass(eq=False)
class InventedWorld(World):
    """Losses over a set, in units of the range.

    Attributes
    ----------
    domain
        The feasible set.
    mean
        From actions, a row each, and how far the run has come, between 0 and 1, to the mean of each.
    variance
        From actions to the variance of what is told of each.
    least, middle
        The mean of the best fixed decision, and that of never learning.
    changes
        Whether means depend on how far the run has come.
    items
        Draws what is told of the items of actions, how far the run has come, where each has a loss of its own.
    gains
        Whether what is told are gains: numbers from the upper end of the range down.
    events, loss_range, lots
        Of a run in it: how long it is, the range that losses are in, and what is told by lot.
    lost
        What the run lost so far: on average, not as it was told.
    """

    domain: Domain
    mean: Callable[[Floats, float], Vector]
    variance: Callable[[Floats], Vector]
    least: float
    middle: float
    changes: bool = False
    items: Callable[[Floats, float, np.random.Generator], Floats] | None = None
    gains: bool = False
    events: int = 1
    loss_range: tuple[float, float] = (0.0, 1.0)
    lots: np.random.Generator = field(default_factory=np.random.default_rng)
    lost: float = field(default=0.0, init=False)

    def losses(self, start: int, actions: Floats) -> Floats:
        """Return what is told of consecutive events."""
        passed, (low, high) = start / self.events, self.loss_range
        means = self.mean(actions, passed)
        self.lost += float(means.sum())
        if self.items is not None:
            told = self.items(actions, passed, self.lots)
        else:
            told = _one_of_two(means, self.variance(actions), self.lots)
        return np.asarray(high - (high - low) * told if self.gains else low + (high - low) * told)

    def best(self, marks: Sequence[int] | Integers) -> Vector:
        """Return what the best fixed decision loses until each number of events."""
        return self.least * np.asarray(marks, dtype=np.float64)

    @property
    def contrast(self) -> float:
        """How much better the best decision is than never learning, as a share of what there can be."""
        return self.middle - self.least

    @property
    def share(self) -> float:
        """The regret of the run over that of never learning."""
        return (self.lost - float(self.best([self.events])[0])) / (self.events * self.contrast)


def _one_of_two(means: Floats, variance: Floats, rng: np.random.Generator) -> Floats:
    """Draw one of two numbers in [0, 1] for each mean, with this variance or as much as there can be."""
    variance = np.minimum(variance, means * (1 - means))
    down = np.minimum(np.sqrt(variance), means)
    up = np.divide(variance, down, out=np.zeros_like(down), where=down > 0)
    far = up > 1 - means  # then it goes up to 1, and down by less
    up = np.where(far, 1 - means, up)
    down = np.divide(variance, up, out=down, where=far)
    falls = rng.random(means.shape) * (up + down) < up
    return np.where(falls, means - down, means + up)


@dataclass(frozen=True)
class _Lots:
    """How coordinates come to their odds: how far these differ, whether by kinds, and what else varies.

    Attributes
    ----------
    spread
        Deviation of the logarithms of the odds.
    kinds
        Whether there are two kinds of coordinates, instead of a bell curve.
    levels
        Whether what costs all decisions the same is part of the range.
    swing
        How far the logarithms of the odds swing to either side with the seasons.
    """

    spread: float
    kinds: bool = False
    levels: bool = True
    swing: float = 0.0


LOTS = (  # the first few are about as hard as all of them together
    _Lots(1.4),
    _Lots(1.5, kinds=True, levels=False),
    _Lots(1.5, swing=1.0),
    _Lots(1.4, levels=False),
)


def worlds_of(
    problem: Problem, seed: int, count: int = len(LOTS), contrast: float | None = None, scatter: float | None = None
) -> list[InventedWorld]:
    """Return worlds of the losses that a problem has, over its set.

    Parameters
    ----------
    problem
        Where it has features, linear costs follow from these, for the most part.
    seed
        Fixes all of them.
    count
        How many, of these that there are.
    contrast, scatter
        How much better the best decision is than never learning, and the standard deviation of losses at one decision,
        as shares of the range (where items have losses, of what a decision's items can add up to), if they are known.
    """
    if problem.feedback == "items":
        make: Callable[..., InventedWorld] = _items
    else:
        make = _linear if problem.losses == "linear" or problem.integral else _convex
    kinds: tuple[Any, ...] = GROWTHS if make is _convex else LOTS
    coins = (np.random.default_rng([seed, number]) for number in range(count))
    return [make(problem, kind, rng, contrast, scatter) for kind, rng in zip(kinds, coins, strict=False)]


def _linear(
    problem: Problem, lots: _Lots, rng: np.random.Generator, contrast: float | None, scatter: float | None
) -> InventedWorld:
    domain = problem.domain
    middle = domain.middle
    odds = _odds(problem, lots, rng)
    shift = _worth(domain)
    spread = odds.mean(axis=0) * (1 - odds.mean(axis=0))
    width = _width(domain, odds.mean(axis=0), rng, shift, levels=lots.levels)
    odds = odds - shift
    usual = odds.mean(axis=0)
    best = domain.extreme_point(usual)
    gain = max(float(usual @ (middle - best)) / width, 1e-9)
    stretch = max(1.0, _LEAST / gain) if contrast is None else contrast / gain
    slopes = stretch * odds / width
    offsets = _placed(gain * stretch) - slopes @ middle
    centre = 0.0 if lots.levels else middle

    def mean(actions: Floats, passed: float) -> Vector:
        season = _season(passed, len(slopes))
        return np.asarray(np.clip(actions @ slopes[season] + offsets[season], 0.0, 1.0))

    def variance(actions: Floats) -> Vector:
        if scatter is not None:
            return np.full(len(actions), scatter**2)
        return np.asarray(np.square(actions - centre) @ spread / width**2)

    at = _placed(gain * stretch)
    return InventedWorld(domain, mean, variance, at - gain * stretch, at, changes=len(slopes) > 1)


def _items(
    problem: Problem, lots: _Lots, rng: np.random.Generator, contrast: float | None, scatter: float | None
) -> InventedWorld:
    """Return a world of items, of which `most` counts of one person; what is told may be gains."""
    domain, odds = problem.domain, _odds(problem, lots, rng)
    whole = float(domain.most_chosen)
    if problem.most is not None:
        whole = min(problem.most / problem.width, whole)
        odds *= min(1.0, _SHARE * whole / float(odds.mean(axis=0) @ domain.middle))
    sign = -1 if problem.most is not None and problem.loss_range[1] == 0.0 else 1
    variance = 1.0 if scatter is None else (scatter * whole) ** 2 / domain.most_chosen  # 1: clicks, there or not
    usual, unit = odds.mean(axis=0), sign / whole
    best, level = domain.extreme_point(sign * usual), float(usual.mean())
    gain = max(sign * float(usual @ (domain.middle - best)), 1e-9)
    if contrast is not None:
        odds = np.clip(level + contrast * whole / gain * (odds - level), 0.0, 1.0)
        usual = odds.mean(axis=0)
    least, middle = (unit * float(usual @ point) for point in (best, domain.middle))

    def mean(actions: Floats, passed: float) -> Vector:
        return np.asarray(unit * (actions @ odds[_season(passed, len(odds))]))

    def told(actions: Floats, passed: float, lots: np.random.Generator) -> Floats:
        """Draw what is told of the items of each action, in the order of `chosen`."""
        items = in_told_order(domain, actions)
        means = np.where(items >= 0, odds[_season(passed, len(odds))][items], 0.0)
        return _one_of_two(means, np.full(means.shape, variance), lots)

    ends = least, middle, len(odds) > 1
    return InventedWorld(domain, mean, lambda actions: np.full(len(actions), variance), *ends, told, gains=unit < 0)


def _season(passed: float, seasons: int) -> int:
    return int(passed * _YEARS * seasons) % seasons


def _odds(problem: Problem, lots: _Lots, rng: np.random.Generator) -> Floats:
    """Return the odds of each coordinate, by season."""
    dimension, features = problem.domain.dimension, None if problem.features is None else problem.features.rows
    tastes, phases = _tastes(dimension, lots, rng, features), rng.uniform(0, 2 * np.pi, dimension)
    seasons = 2 * np.pi * np.arange(_SEASONS)[:, None] / _SEASONS
    swings = lots.swing * np.cos(seasons + phases) if lots.swing else np.zeros((1, dimension))
    return np.asarray(1 / (1 + np.exp(-(lots.spread * tastes + swings))))


def _placed(gain: float) -> float:
    """Where never learning lies in the range: in its middle, or higher if the best decision is far below."""
    return max(0.5, min(_MOST, gain + (1 - _MOST)))


def _tastes(dimension: int, lots: _Lots, rng: np.random.Generator, features: Matrix | None) -> Vector:
    own: Vector = rng.standard_normal(dimension)
    if lots.kinds:
        own = np.where(own < np.median(own), -1.0, 1.0) + _ALIKE * rng.standard_normal(dimension)
    if features is None:
        return own
    explained = features @ rng.standard_normal(features.shape[1])
    explained = (explained - explained.mean()) / max(float(explained.std()), 1e-12)
    mixed: Vector = np.sqrt(_FEATURES) * explained + np.sqrt(1 - _FEATURES) * own
    return mixed


def _worth(domain: Domain) -> float:
    """What a coordinate is worth besides its costs: something, if costs alone would have nothing of any chosen."""
    return 0.5 if float(domain.extreme_point(np.ones(domain.dimension)).sum()) <= 1e-9 else 0.0


def _width(domain: Domain, odds: Vector, rng: np.random.Generator, shift: float, *, levels: bool) -> float:
    """How wide a range the total costs of decisions need, by lots that are drawn here."""
    lots = (rng.random((_VERTICES, domain.dimension)) < odds).astype(np.float64) - shift
    lows = np.array([cost @ domain.extreme_point(cost) for cost in lots])
    highs = np.array([cost @ domain.extreme_point(-cost) for cost in lots])
    return max(float(highs.max() - lows.min() if levels else (highs - lows).max()), 1e-12)


@dataclass(frozen=True)
class _Growth:
    """How losses grow from what people want: how far that is from the middle, how they grow, how they scatter."""

    depth: float
    shape: str
    scatter: float
    reach: float = 0.9


GROWTHS = (  # the first two are about as hard as all of them together
    _Growth(0.5, "distance", 0.06),
    _Growth(1.0, "slope", 0.04, reach=0.5),
    _Growth(0.7, "square", 0.08),
    _Growth(0.7, "distance", 0.02),
)


def _convex(
    problem: Problem, growth: _Growth, rng: np.random.Generator, contrast: float | None, scatter: float | None
) -> InventedWorld:
    domain = problem.domain
    middle, vertices = domain.middle, _vertices(domain, rng)
    deviation = growth.scatter if scatter is None else scatter
    if growth.shape == "slope":
        cost = rng.standard_normal(domain.dimension)
        least = float(cost @ domain.extreme_point(cost))
        reach = max(float((vertices @ cost).max()) - least, 1e-12)

        def height(actions: Floats) -> Vector:
            return np.asarray((actions @ cost - least) / reach)
    else:
        target = middle + growth.depth * (vertices[0] - middle)
        far = max(float(np.linalg.norm(vertices - target, axis=1).max()), 1e-12)

        def height(actions: Floats) -> Vector:
            apart = actions - target
            squares = np.einsum("ij,ij->i", apart, apart) / far**2
            return np.asarray(squares if growth.shape == "square" else np.sqrt(squares + _SHARPNESS**2) - _SHARPNESS)

    gain = float(height(middle[None])[0])
    scale = growth.reach if contrast is None else min(_MOST, contrast) / max(gain, 1e-12)

    def mean(actions: Floats, passed: float) -> Vector:
        return np.clip((1 - _MOST) + scale * height(actions), 0.0, 1.0)

    def variance(actions: Floats) -> Vector:
        return np.full(len(actions), deviation**2)

    return InventedWorld(domain, mean, variance, 1 - _MOST, float(mean(middle[None], 0.0)[0]))


def _vertices(domain: Domain, rng: np.random.Generator) -> Matrix:
    costs = rng.standard_normal((_VERTICES, domain.dimension))
    return np.stack([domain.extreme_point(cost) for cost in costs])
