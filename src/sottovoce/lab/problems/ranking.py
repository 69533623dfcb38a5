"""In which order to list items."""

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import choice, vector, whole
from sottovoce.domains import Birkhoff, Permutahedron
from sottovoce.lab.problems._lists import listed
from sottovoce.lab.problems._people.readers import Readers, discounts
from sottovoce.lab.problems._pictures.tiles import BLUE, GREY, INK, font_size, tile
from sottovoce.lab.problems.base import DecisionProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Ranking"]


class Ranking(DecisionProblem):
    """List items in the order that serves people best, judged by one number per person.

    The loss is 1 - gain/ideal gain, where the gain discounts what stands lower (normalised discounted cumulative gain).
    It is linear on both sets that can be chosen, and every action is an ordering.

    Parameters
    ----------
    items : int
        To be ordered.
    set : str
        "permutahedron": the decision is each item's attention, which is the same for everybody. "birkhoff": it is each
        item's chance of each place, and people may differ in how far down they read; n^2 numbers instead of n.
    types : int
        Types of people.
    seed : int
        Fixes the public.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Ranking(items=5)
    >>> optimizer = problem.optimizer(horizon=20_000, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    >>> run = sv.lab.simulate(optimizer, problem.environment)
    >>> bool(run.final_regret < run.final_no_learning)
    True
    >>> problem.explain(problem.environment.comparator(20_000).point)[0]
    ('item 1', 'place 1')
    """

    name: ClassVar[str] = "ranking"
    title: ClassVar[str] = "In which order to list"
    story: ClassVar[str] = (
        "A search page lists the same items for everybody who asks. People read from the top and lose patience. The "
        "only feedback is one number per person: how far the list fell short of the order that would have been ideal "
        "for them. Tastes are heavy-tailed and come in types."
    )
    environment: Readers

    def __init__(self, *, items: int = 10, set: str = "permutahedron", types: int = 4, seed: int = 0) -> None:
        items = whole("items", items, least=2)
        matrices = choice("set", set, ("permutahedron", "birkhoff")) == "birkhoff"
        orders = Birkhoff(items) if matrices else Permutahedron(discounts(items))
        self.environment = Readers(orders, types=types, seed=seed)
        self.items, self.matrices = items, matrices
        names = self._item_names()
        places = [f"place {place}" for place in range(1, items + 1)]
        self.environment.name_coordinates((names, places) if matrices else names)
        self.losses, self.integral = "linear", True

    def item_name(self, item: int) -> str:
        """Return the name of an item: a number that is small for what people value, over all types."""
        name = self.domain.coordinate_names[item * self.items if self.matrices else item]
        return str(name[0] if isinstance(name, tuple) else name)

    def _item_names(self) -> list[str]:
        names = [""] * self.items
        for place, item in enumerate(np.argsort(-self._worth(), kind="stable").tolist()):
            names[item] = f"item {1 + place}"
        return names

    def _worth(self) -> Vector:
        """Return the average worth of each item in the simulation, as a share of a person's favourite."""
        worth: Vector = self.environment.worth.mean(axis=0)
        return worth

    def attention(self, point: Vector) -> Vector:
        """Return the attention (mean discount) that each item gets.

        Parameters
        ----------
        point
            The decision.
        """
        point = vector("point", point, self.domain.dimension)
        return point.reshape(self.items, self.items) @ discounts(self.items) if self.matrices else point

    def draw(self, axes: "Axes", point: Vector) -> None:
        """Draw the items from the most to the least attention: as bars, or with their chance of each place as tiles.

        The small bars on the right are what the items are worth to people, in the simulation.
        """
        attention = self.attention(point)
        order = np.argsort(-attention, kind="stable")
        if self.matrices:
            shown, unit = "tile: chance of a place", float(self.items)
            self._draw_tiles(axes, np.asarray(point).reshape(self.items, self.items)[order])
        else:
            shown, unit = "bar: attention", 1.0
            self._draw_bars(axes, attention[order])
        size = max(5.0, font_size(axes, 6, self.items, most=11.0))
        worth = self._worth() / self._worth().max()
        for row, item in enumerate(order.tolist()):
            axes.text(-0.02 * unit, row + 0.5, self.item_name(item), ha="right", va="center", fontsize=size)
            ends = [1.04 * unit, (1.04 + 0.2 * worth[item]) * unit]
            axes.plot(ends, [row + 0.5] * 2, color=INK, linewidth=size / 2, solid_capstyle="butt")
        axes.set_xlim(-0.16 * unit, 1.26 * unit)
        axes.set_ylim(self.items, 0)
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        axes.xaxis.tick_top()
        axes.tick_params(axis="x", length=0, pad=1, labelsize=max(5.0, 0.85 * size), labelcolor=GREY)
        axes.set_xlabel(f"{shown}, places 1 to {self.items}   dark: worth to people", fontsize=size, color=GREY)

    def _draw_tiles(self, axes: "Axes", table: Vector) -> None:
        size = font_size(axes, 1.42 * self.items, self.items)
        for row, chances in enumerate(table):
            for place, chance in enumerate(chances.tolist()):
                tile(axes, place, row, chance, size=size)
        axes.set_xticks(np.arange(self.items) + 0.5, [str(1 + place) for place in range(self.items)])

    def _draw_bars(self, axes: "Axes", attention: Vector) -> None:
        places = discounts(self.items)
        axes.barh(np.arange(self.items) + 0.5, attention, height=0.72, color=BLUE, align="center")
        axes.vlines(places, 0.0, self.items, color="#c8c8c8", linewidth=0.8, zorder=0)
        named = [place for place in (1, 2, 3, 5, 10, 30, 100) if place < 0.7 * self.items]
        axes.set_xticks(places[np.array(named) - 1], [str(place) for place in named])

    def explain(self, point: Vector) -> list[tuple[str, str]]:
        """Return the items from the most to the least attention, then what the order is worth in the simulation."""
        attention = self.attention(point)
        order = np.argsort(-attention, kind="stable").tolist()
        if self.matrices:
            table = np.asarray(point).reshape(self.items, self.items)
            where = [f"place {1 + int(table[item].argmax())} for {table[item].max():.0%}" for item in order]
        else:
            places = np.interp(-attention[order], -discounts(self.items), np.arange(1.0, self.items + 1))
            where = [f"place {at:.0f}" if abs(at - round(at)) < 0.05 else f"as at place {at:.1f}" for at in places]
        loss = float(
            self.environment.library.losses(np.asarray(point), np.arange(len(self.environment.library))).mean()
        )
        value = ("gain, of the ideal", f"{1 - loss:.0%} on average over simulated readers")
        names = [(self.item_name(item), text) for item, text in zip(order, where, strict=True)]
        return [*listed(names, "further down"), value]

    @classmethod
    def sized(cls, size: int, *, seed: int = 0) -> Self:
        """Return an instance with `size` items, on the permutahedron."""
        return cls(items=size, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [cls(items=5), cls(items=4, types=2, seed=1), cls(items=3, set="birkhoff", seed=2)]
