"""Generic worlds to rehearse in: what people's losses may look like over a set, when nothing is known of them.

Linear losses are made of coordinates that cost something or nothing by lot, each with odds of its own, as items fail,
streets jam and clicks do not come. Convex ones grow with the distance from a decision that people would have wanted, or
along a slope. What is seen of a decision is one number within the range, with the mean and the variance that the world
has there. Means are in units of the range: 0 is the least that a loss can be, 1 the most.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sottovoce._arrays import Floats, Integers, Matrix, Vector
from sottovoce.domains import Domain
from sottovoce.plans.decisions import in_told_order
from sottovoce.plans.problem import Problem
from sottovoce.playing import World

_VERTICES = 32  # that say how far a set reaches
_MOST = 0.95  # of the range that means use, at most
_SPREAD = 1.4  # deviation of the logarithms of odds
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
        From actions, a row each, to the mean of each.
    variance
        Of what is told of an action, or of an item.
    least, middle
        The mean of the best fixed decision, and that of never learning.
    items
        Draws what is told of the items of actions, where each has a loss of its own.
    gains
        Whether what is told are gains: numbers from the upper end of the range down.
    events, loss_range, lots
        Of a run in it: how long it is, the range that losses are in, and what is told by lot.
    lost
        What the run lost so far: on average, not as it was told.
    """

    domain: Domain
    mean: Callable[[Floats], Vector]
    variance: float
    least: float
    middle: float
    items: Callable[[Floats, np.random.Generator], Floats] | None = None
    gains: bool = False
    events: int = 1
    loss_range: tuple[float, float] = (0.0, 1.0)
    lots: np.random.Generator = field(default_factory=np.random.default_rng)
    lost: float = field(default=0.0, init=False)

    def losses(self, start: int, actions: Floats) -> Floats:
        """Return what is told of consecutive events."""
        means, (low, high) = self.mean(actions), self.loss_range
        self.lost += float(means.sum())
        if self.items is not None:
            told = self.items(actions, self.lots)
        else:
            told = _one_of_two(means, self.variance, self.lots)
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


def _one_of_two(means: Floats, most: float, rng: np.random.Generator) -> Floats:
    """Draw one of two numbers in [0, 1] for each mean, with this variance or as much as there can be."""
    variance = np.minimum(most, means * (1 - means))
    down = np.minimum(np.sqrt(variance), means)
    up = np.divide(variance, down, out=np.zeros_like(down), where=down > 0)
    far = up > 1 - means  # then it goes up to 1, and down by less
    up = np.where(far, 1 - means, up)
    down = np.divide(variance, up, out=down, where=far)
    falls = rng.random(means.shape) * (up + down) < up
    return np.where(falls, means - down, means + up)


WORLDS = 4
"""Kinds of worlds that there are, of each sort of losses; the first two are about as hard as all of them together."""


def worlds_of(problem: Problem, seed: int, count: int, contrast: float, scatter: float) -> list[InventedWorld]:
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
        as shares of the range (where items have losses, of what a decision's items can add up to).
    """
    make = _items if problem.feedback == "items" else _linear if problem.linear else _convex
    coins = (np.random.default_rng([seed, number]) for number in range(min(count, WORLDS)))
    return [make(problem, number, rng, contrast, scatter) for number, rng in enumerate(coins)]


def _linear(problem: Problem, number: int, rng: np.random.Generator, contrast: float, scatter: float) -> InventedWorld:
    domain, middle = problem.domain, problem.domain.middle
    costs = _odds(problem, number, rng) - _worth(domain)
    slopes = contrast / max(float(costs @ (middle - domain.extreme_point(costs))), 1e-9) * costs
    at = max(0.5, min(_MOST, contrast + (1 - _MOST)))  # in the middle, or higher if the best decision is far below
    offset = at - slopes @ middle

    def mean(actions: Floats) -> Vector:
        return np.asarray(np.clip(actions @ slopes + offset, 0.0, 1.0))

    return InventedWorld(domain, mean, scatter**2, at - contrast, at)


def _items(problem: Problem, number: int, rng: np.random.Generator, contrast: float, scatter: float) -> InventedWorld:
    """Return a world of items, of which `most` counts of one person; what is told may be gains."""
    domain, odds = problem.domain, _odds(problem, number, rng)
    whole = float(domain.most_chosen)
    if problem.most is not None:
        whole = min(problem.most / problem.width, whole)
        odds *= min(1.0, _SHARE * whole / float(odds @ domain.middle))
    sign = -1 if problem.most is not None and problem.loss_range[1] == 0.0 else 1
    variance = (scatter * whole) ** 2 / domain.most_chosen
    unit, best, level = sign / whole, domain.extreme_point(sign * odds), float(odds.mean())
    gain = max(sign * float(odds @ (domain.middle - best)), 1e-9)
    odds = np.clip(level + contrast * whole / gain * (odds - level), 0.0, 1.0)
    least, middle = (unit * float(odds @ point) for point in (best, domain.middle))

    def mean(actions: Floats) -> Vector:
        return np.asarray(unit * (actions @ odds))

    def told(actions: Floats, lots: np.random.Generator) -> Floats:
        """Draw what is told of the items of each action, in the order of `chosen`."""
        items = in_told_order(domain, actions)
        return _one_of_two(np.where(items >= 0, odds[items], 0.0), variance, lots)

    return InventedWorld(domain, mean, variance, least, middle, told, gains=unit < 0)


def _odds(problem: Problem, number: int, rng: np.random.Generator) -> Vector:
    """Return the odds of each coordinate: along a bell curve, or of two kinds in the second world."""
    own: Vector = rng.standard_normal(problem.domain.dimension)
    if number == 1:
        own = np.where(own < np.median(own), -1.0, 1.0) + _ALIKE * rng.standard_normal(len(own))
    if problem.features is not None:
        rows: Matrix = problem.features.rows
        explained = rows @ rng.standard_normal(rows.shape[1])
        explained = (explained - explained.mean()) / max(float(explained.std()), 1e-12)
        own = np.sqrt(_FEATURES) * explained + np.sqrt(1 - _FEATURES) * own
    return np.asarray(1 / (1 + np.exp(-_SPREAD * own)))


def _worth(domain: Domain) -> float:
    """What a coordinate is worth besides its costs: something, if costs alone would have nothing of any chosen."""
    return 0.5 if float(domain.extreme_point(np.ones(domain.dimension)).sum()) <= 1e-9 else 0.0


# How losses grow from what people want, and how far that is from the middle:
_GROWTHS = (("distance", 0.5), ("slope", 1.0), ("square", 0.7), ("distance", 0.7))


def _convex(problem: Problem, number: int, rng: np.random.Generator, contrast: float, scatter: float) -> InventedWorld:
    domain, middle, (shape, depth) = problem.domain, problem.domain.middle, _GROWTHS[number]
    vertices = np.stack([domain.extreme_point(cost) for cost in rng.standard_normal((_VERTICES, domain.dimension))])
    cost = rng.standard_normal(domain.dimension)
    target = domain.extreme_point(cost) if shape == "slope" else middle + depth * (vertices[0] - middle)
    far = max(float(np.linalg.norm(vertices - target, axis=1).max()), 1e-12)

    def height(actions: Floats) -> Vector:
        apart = actions - target
        if shape == "slope":
            return np.asarray(apart @ cost)
        squares = np.einsum("ij,ij->i", apart, apart) / far**2
        return np.asarray(squares if shape == "square" else np.sqrt(squares + _SHARPNESS**2) - _SHARPNESS)

    scale = min(_MOST, contrast) / max(float(height(middle[None])[0]), 1e-12)

    def mean(actions: Floats) -> Vector:
        return np.clip((1 - _MOST) + scale * height(actions), 0.0, 1.0)

    return InventedWorld(domain, mean, scatter**2, 1 - _MOST, float(mean(middle[None])[0]))
