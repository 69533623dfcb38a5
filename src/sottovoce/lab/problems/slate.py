"""Which items to show: a slate with a limit for each category."""

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Vector
from sottovoce._checks import vector, whole
from sottovoce.domains import MatroidBases
from sottovoce.domains.matroids import Laminar
from sottovoce.lab.problems._lists import listed
from sottovoce.lab.problems._people.clicks import Clicks
from sottovoce.lab.problems._pictures.tiles import GREY, bar_below, font_size, tile
from sottovoce.lab.problems.base import DecisionProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Slate"]

TOPICS = ("news", "sport", "music", "film", "food", "travel", "games", "books", "science", "fashion")


class Slate(DecisionProblem):
    """Choose which items to show, with at most so many of a category.

    A slate is a base of a laminar matroid: a partition matroid (a limit for each category), cut to the number of slots.
    With `loss="linear"` the loss is the share of the slots that is not clicked, and every action is a slate of whole
    items. With `loss="hinge"` it is the share that is missing of `wanted` clicks. A hinge is convex, not linear: slates
    drawn by lot around a point cost more, on average, than the point itself. So items share slots over a session, and
    an action says for how large a part of it each item is shown (`integral` is False).

    Parameters
    ----------
    items, slots, categories, per_category : int
        So many items, in categories of nearly equal size; so many are shown, at most so many of a category.
    drift : float
        How far the logarithm of each item's odds of a click swings to either side over a year; 0 for no drift.
    loss : str
        "linear" or "hinge".
    wanted : float
        Clicks that satisfy a person; for the hinge.
    year : int
        Events until the seasons come round again.
    seed : int
        Fixes the public.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Slate(items=8, slots=3, categories=2, per_category=2)
    >>> optimizer = problem.optimizer(horizon=20_000, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    >>> run = sv.lab.simulate(optimizer, problem.environment)
    >>> bool(run.final_regret < run.final_no_learning)
    True
    >>> problem.explain(problem.environment.comparator(20_000).point)[0]
    ('sport 1', 'always shown, clicked by 79% in a simulated year')
    """

    name: ClassVar[str] = "slate"
    title: ClassVar[str] = "Which items to show"
    story: ClassVar[str] = (
        "A front page has a few slots, many items, and a limit for each category. Every visitor is shown a slate, and "
        "the only feedback is how many of its items the visitor clicked. A few items draw most clicks, and which ones "
        "changes with the season."
    )
    environment: Clicks

    def __init__(
        self,
        *,
        items: int = 24,
        slots: int = 6,
        categories: int = 4,
        per_category: int = 2,
        drift: float = 0.5,
        loss: str = "linear",
        wanted: float = 2.0,
        year: int = 50_000,
        seed: int = 0,
    ) -> None:
        items = whole("items", items, least=2)
        categories = whole("categories", categories, most=items)
        self.per_category = whole("per_category", per_category)
        self.labels: NDArray[np.intp] = np.arange(items) * categories // items
        groups = [np.flatnonzero(self.labels == number).tolist() for number in range(categories)]
        room = sum(min(len(group), self.per_category) for group in groups)
        self.slots = whole("slots", slots, most=items - 1)
        if self.slots > room:
            raise ValueError(
                f"slots must be at most {room}, what {categories} categories with per_category={per_category} allow, "
                f"got {slots}"
            )
        quotas = [self.per_category] * categories + [self.slots]
        slates = MatroidBases(Laminar([*groups, list(range(items))], quotas))
        self.environment = Clicks(slates, loss=loss, wanted=wanted, drift=drift, year=year, seed=seed)
        self.environment.name_coordinates(self._item_names())
        self.losses = "linear" if loss == "linear" else "convex"
        self.integral = loss == "linear"

    @property
    def attraction(self) -> Vector:
        """Chance of a click for each item, over a year of the simulation."""
        rates: Vector = self.environment.click_rates.mean(axis=0)
        return rates

    def item_name(self, item: int) -> str:
        """Return the name of an item: its category, and a number that is small for attractive items.

        Parameters
        ----------
        item
            Its number, from 0.
        """
        return str(self.domain.coordinate_names[item])

    def _item_names(self) -> list[str]:
        names = [""] * len(self.labels)
        for category in range(int(self.labels[-1]) + 1):
            for place, item in enumerate(self._by_attraction(category).tolist()):
                names[item] = f"{_topic(category)} {1 + place}"
        return names

    def _by_attraction(self, category: int) -> NDArray[np.intp]:
        members = np.flatnonzero(self.labels == category)
        return members[np.argsort(-self.attraction[members], kind="stable")]

    def draw(self, axes: "Axes", point: Vector) -> None:
        """Draw a row of tiles for each category, the most attractive items first.

        The darker a tile, the more the item is shown; the bar below it is its chance of a click.
        """
        point = vector("point", point, self.domain.dimension)
        attraction = self.attraction
        groups = [self._by_attraction(category) for category in range(int(self.labels[-1]) + 1)]
        columns = max(map(len, groups))
        size = font_size(axes, columns + 1.6, 1.3 * len(groups))
        for row, group in enumerate(groups):
            self._name_row(axes, row, float(point[group].sum()), size)
            for column, item in enumerate(group.tolist()):
                tile(axes, column, 1.3 * row, float(point[item]), size=size)
                bar_below(axes, column, 1.3 * row, float(attraction[item]), size=size)
        axes.set_xlim(-1.6, columns)
        axes.set_ylim(1.3 * len(groups), -0.1)
        axes.set_axis_off()
        shown = "chance to be shown" if self.integral else "share of the session"
        axes.set_title(f"tile: {shown}   bar: chance of a click", fontsize=max(8.5, size), color=GREY, loc="left")

    def _name_row(self, axes: "Axes", row: int, total: float, size: float) -> None:
        axes.text(-0.1, 1.3 * row + 0.36, _topic(row), ha="right", va="center", fontsize=max(9.0, size), color="black")
        used = f"{total:.1f} of {self.per_category}"
        axes.text(-0.1, 1.3 * row + 0.74, used, ha="right", va="center", fontsize=max(8.0, 0.8 * size), color=GREY)

    def explain(self, point: Vector) -> list[tuple[str, str]]:
        """Return the items that are shown most, then what the slate is worth on average over a simulated year."""
        point = vector("point", point, self.domain.dimension)
        attraction = self.attraction
        most = np.argsort(-point - 1e-9 * attraction, kind="stable")[: self.slots]
        lines = [
            (self.item_name(item), f"{_often(point[item])}, clicked by {attraction[item]:.0%} in a simulated year")
            for item in most.tolist()
        ]
        return [
            *listed(lines, "shown no more often"),
            ("clicks on a slate", f"{float(point @ attraction):.2f} of {self.slots}, on average"),
        ]

    @classmethod
    def sized(cls, size: int, *, seed: int = 0) -> Self:
        """Return an instance with `size` items, a sixth as many categories, and a quarter as many slots."""
        size = whole("size", size, least=4)
        categories = max(2, size // 6)
        return cls(items=size, slots=3 * categories // 2, categories=categories, per_category=2, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [
            cls(items=8, slots=3, categories=3, drift=0.0),
            cls(items=8, slots=3, categories=2, drift=1.0, year=4000, seed=1),
            cls(items=8, slots=3, categories=2, loss="hinge", wanted=1.5, seed=2),
        ]


def _topic(category: int) -> str:
    return TOPICS[category] if category < len(TOPICS) else f"topic {category + 1}"


def _often(share: float) -> str:
    if share > 0.995:
        return "always shown"
    return f"shown {share:.0%} of the time" if share >= 0.005 else "hardly ever shown"
