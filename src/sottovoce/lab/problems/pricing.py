"""Pricing: prices for segments of customers and products, from revenue alone."""

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import number, vector, whole
from sottovoce.domains import NuclearBall
from sottovoce.lab.problems._lists import listed
from sottovoce.lab.problems._people.customers import Baskets
from sottovoce.lab.problems._pictures.tiles import INK, font_size
from sottovoce.lab.problems._sizes import rectangle
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Kinds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Pricing", "Shoppers"]

KINDS = 1024  # different customers
MOST = 0.8  # largest price change: at most this, so that prices stay positive and demand too
SAID = 6  # prices that `explain` names
SHOWN = 0.25  # price change that has the strongest colour
SEGMENTS = ("students", "families", "business", "seniors", "visitors", "members")
PRODUCTS = ("coffee", "tea", "bread", "cake", "lunch", "juice", "wine", "gifts")


class Shoppers(FiniteEnvironment):
    """One customer after the other, of a segment drawn by lot, with highest prices around those of the segment.

    The revenue-maximising price change of a segment and product is a matrix of rank 2: how much the segment values
    quality times how exclusive the product is, and the same for a second trait. Customers scatter around it. No
    customer's highest price is below 1 + radius, so that demand is never negative at prices in the ball.
    """

    name: ClassVar[str] = "shoppers"
    library: Baskets

    def __init__(self, pricing: "Pricing") -> None:
        ball = NuclearBall(pricing.segment_names, pricing.product_names, pricing.radius)
        super().__init__(ball, pricing.seed)
        self._pricing = repr(pricing)
        rng = self._design_rng()
        self.ideal = _two_traits(rng, pricing.segments, pricing.products, pricing.preference)
        volume = rng.uniform(0.7, 1.3, pricing.products)
        segments = np.arange(KINDS) % pricing.segments
        scatter = rng.uniform(-pricing.scatter, pricing.scatter, (KINDS, pricing.products))
        highest = np.maximum(2 * (1 + self.ideal[segments]) + scatter, 1 + pricing.radius)
        self.library = Baskets(ball, segments, highest, volume)
        self.loss_range = (0.0, 1.0)
        self.lipschitz = self.library.lipschitz

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return the customer of each event, by lot."""
        return rng.integers(0, KINDS, size=size, dtype=np.uint16).astype(np.intp)

    def __repr__(self) -> str:
        return f"{self._pricing}.environment"


def _two_traits(rng: np.random.Generator, rows: int, columns: int, size: float) -> Vector:
    """Return a matrix of rank 2 (or less) whose largest entry is `size` in absolute value."""
    signs = np.where(np.arange(rows) % 2, -1.0, 1.0)  # as many segments that care as segments that do not
    first = np.outer(rng.permutation(signs) * rng.uniform(0.6, 1.0, rows), rng.uniform(0.6, 1.0, columns))
    second = np.outer(rng.uniform(0.6, 1.0, rows), rng.choice((-1.0, 1.0), columns))
    mixed = first + 0.3 * second
    ideal: Vector = size * mixed / np.abs(mixed).max()
    return ideal


class Pricing(DecisionProblem):
    """Set prices for segments of customers and products; seen is what each customer brings.

    A point is a flat matrix, segments x products, of price changes relative to the list price: 0.1 is 10% dearer. Its
    nuclear norm is bounded, which keeps prices to a few simple patterns. Losses are convex, in [0, 1]; `Baskets` states
    the formula, the range and the Lipschitz constant, and proves them.

    Parameters
    ----------
    segments, products : int
    radius : float
        Largest nuclear norm of the price changes, at most 0.8: no price changes by more.
    preference : float
        Largest price change that would be ideal for a segment and product by themselves, at most 1.
    scatter : float
        How far a customer's highest prices are from the segment's, at most, in units of the list price.
    seed : int
        Fixes the customers and their order.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.lab.problems.Pricing()
    >>> problem.domain
    NuclearBall(4, 6, radius=0.4)
    >>> best = problem.environment.comparator(10_000).point
    >>> problem.explain(best)[1]
    ('lunch for business', '-13%')
    """

    name: ClassVar[str] = "pricing"
    title: ClassVar[str] = "Set prices for segments and products"
    story: ClassVar[str] = (
        "A shop sets prices for each segment of its customers and each product, as changes to a list price that follow "
        "a few simple patterns. Each customer fills a basket, less of what is dear. Seen is only what the basket "
        "brings, and that says what the customer earns and likes."
    )
    environment: Shoppers

    def __init__(
        self,
        *,
        segments: int = 4,
        products: int = 6,
        radius: float = 0.4,
        preference: float = 0.3,
        scatter: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.segments = whole("segments", segments)
        self.products = whole("products", products)
        self.radius = number("radius", radius, above=0.0, at_most=MOST)
        self.preference = number("preference", preference, above=0.0, at_most=1.0)
        self.scatter = 0.0 if scatter == 0 else number("scatter", scatter, above=0.0, at_most=1.0)
        self.seed = whole("seed", seed, least=0)
        self.environment = Shoppers(self)

    @property
    def segment_names(self) -> tuple[str, ...]:
        """What the rows are called."""
        return _names(SEGMENTS, self.segments, "segment")

    @property
    def product_names(self) -> tuple[str, ...]:
        """What the columns are called."""
        return _names(PRODUCTS, self.products, "product")

    def draw(self, axes: "Axes", point: Vector) -> None:
        """Draw the price changes as a table: red is dearer, blue is cheaper than the list price."""
        prices = vector("point", point, self.domain.dimension).reshape(self.segments, self.products)
        axes.imshow(prices, cmap="RdBu_r", vmin=-SHOWN, vmax=SHOWN, aspect="auto")
        size = font_size(axes, 0.75 * self.products + 0.5, self.segments)
        for (row, column), change in np.ndenumerate(prices):
            colour = "white" if abs(change) > 0.65 * SHOWN else INK
            axes.text(column, row, _percent(change), ha="center", va="center", fontsize=size, color=colour)
        axes.set_xticks(range(self.products), self.product_names, rotation=30, ha="right", fontsize=size)
        axes.set_yticks(range(self.segments), self.segment_names, fontsize=size)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)

    def explain(self, point: Vector) -> list[tuple[str, str]]:
        """Return the mean revenue against that of the list prices, then the largest price changes."""
        prices = vector("point", point, self.domain.dimension)
        everyone = np.arange(len(self.environment.library))
        revenue, before = (float(self.environment.library.revenues(x, everyone).mean()) for x in (prices, 0 * prices))
        first = ("revenue per customer", f"{revenue:.2f}, {revenue / before - 1:+.1%} against list prices (simulated)")
        said = []
        for cell in np.argsort(-np.abs(prices), kind="stable").tolist():
            segment, product = divmod(cell, self.products)
            said.append((f"{self.product_names[product]} for {self.segment_names[segment]}", _percent(prices[cell])))
        return [first, *listed(said, "changed less", most=SAID)]

    @classmethod
    def sized(cls, size: int, *, seed: int = 0) -> Self:
        """Return an instance with `size` prices, or the next number that fills a rectangle."""
        segments, products = rectangle(size)
        return cls(segments=segments, products=products, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return the default, a wide one without scatter, and a single row where the ball hardly binds."""
        return [
            cls(),
            cls(segments=2, products=5, radius=0.3, scatter=0.0, seed=1),
            cls(segments=1, products=3, radius=0.8, preference=0.1, seed=2),
        ]


def _names(known: tuple[str, ...], count: int, kind: str) -> tuple[str, ...]:
    return tuple(known[i] if i < len(known) else f"{kind} {i + 1}" for i in range(count))


def _percent(change: float) -> str:
    return f"{change:+.0%}" if abs(change) >= 0.005 else "0%"
