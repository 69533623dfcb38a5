"""Pricing: prices for segments of customers and products, from revenue alone."""

from typing import ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import number, whole
from sottovoce.domains import Domain, NuclearBall
from sottovoce.domains.balls.nuclear_ball import nearest_in_nuclear_ball
from sottovoce.lab.problems.base import DecisionProblem, names_of
from sottovoce.lab.simulation.finite import FiniteEnvironment, Kinds

# ----------------------------------------------------------------------
# Customers who buy less the dearer it gets: revenue that is concave in the prices.


GAP = 1e-8  # certificate that the comparator is solved to, of a loss range of 1


class Baskets:
    r"""Revenue lost on customers, each of one segment, each with a highest price for every product.

    A point is a matrix X, segments x products, of price changes relative to the list price 1. A customer of segment s
    with highest prices h buys volume_j (h_j - p_j) of product j at price p_j = 1 + X_sj, and brings the revenue
    sum over j of volume_j p_j (h_j - p_j). The gain is the revenue less what a customer of the segment brings at list
    prices on average, which the shop knows from before. With c = volume (h - 2) and x = X_s, the gain is
    k + <c, x> - sum of volume_j x_j^2, with a number k of the customer's own. The loss is minus the gain, shifted and
    scaled to lie in [0, 1].

    *Concave revenue.* It is a quadratic with a negative square; so the loss is convex.

    *In range.* A row of a matrix in the ball has norm at most its radius r, so the gain from a customer is at least
    k - ||c|| r - max(volume) r^2, and at most k + ||c|| r and k + sum of c_j^2 / (4 volume_j), its maximum without any
    bound.

    *Lipschitz.* The gradient is 2 volume x - c, of norm at most ||c|| + 2 max(volume) r. Outside the ball the square
    goes on like Huber's function, along its tangents once sum of volume_j x_j^2 exceeds max(volume) r^2, which it never
    does inside; so the bound holds everywhere.

    Parameters
    ----------
    domain : NuclearBall
    segments : array of int, shape (kinds,)
        Of each customer.
    highest : array of shape (kinds, products)
        Highest prices.
    volume : array of shape (products,)

    Examples
    --------
    >>> import sottovoce as sv
    >>> ball = sv.domains.NuclearBall(1, 1, 0.5)
    >>> library = Baskets(ball, np.array([0]), np.array([[2.4]]), np.array([1.0]))
    >>> library.revenues(np.array([0.2]), np.array([0])).round(6)  # 1.2 x (2.4 - 1.2)
    array([1.44])
    >>> library.best(ball, np.ones(1)).round(6)
    array([0.2])
    """

    def __init__(self, domain: NuclearBall, segments: Kinds, highest: Vector, volume: Vector) -> None:
        self.domain, self.segments, self.volume = domain, segments, volume
        self.slopes = volume * (highest - 2.0)
        at_list = (volume * (highest - 1.0)).sum(axis=1)
        usual = np.bincount(segments, at_list) / np.maximum(np.bincount(segments), 1)
        self.usual, constant = usual[segments], at_list - usual[segments]
        steepness, bulk = np.linalg.norm(self.slopes, axis=1), float(volume.max())
        radius = domain.radius
        self._bend = bulk * radius**2
        self.most = float(
            (constant + np.minimum(steepness * radius, (self.slopes**2 / (4 * volume)).sum(axis=1))).max()
        )
        self.least = float((constant - steepness * radius).min()) - self._bend
        self.scale = self.most - self.least
        self.lipschitz = (float(steepness.max()) + 2 * bulk * radius) / self.scale
        self._offset = (self.most - constant) / self.scale

    def __len__(self) -> int:
        return len(self.segments)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return the scaled lost revenue of the customers at the prices."""
        if actions.ndim == 1:
            rows = actions.reshape(self.domain.rows, -1)[self.segments]
            return self._scaled(rows, self.slopes, self._offset).take(kinds)
        first = np.arange(len(kinds)) * self.domain.rows + self.segments.take(kinds)
        rows = np.ascontiguousarray(actions).reshape(-1, self.domain.columns).take(first, axis=0)
        return self._scaled(rows, self.slopes.take(kinds, axis=0), self._offset.take(kinds))

    def _scaled(self, rows: Vector, slopes: Vector, offset: Vector) -> Vector:
        square: Vector = np.einsum("ij,ij,j->i", rows, rows, self.volume)
        if (square > self._bend).any():
            beyond = 2 * np.sqrt(self._bend * square) - self._bend
            square = np.where(square > self._bend, beyond, square)
        square -= np.einsum("ij,ij->i", slopes, rows)
        square /= self.scale
        square += offset
        return square

    def revenues(self, point: Vector, kinds: Kinds) -> Vector:
        """Return the revenue of customers, in units of the list price."""
        return self.usual.take(kinds) + self.most - self.scale * self.losses(point, kinds)

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return the gradient of the weighted sum, for points in the ball."""
        each, slopes = self._by_segment(weights)
        result: Vector = (2 * each[:, None] * self.volume * point.reshape(slopes.shape) - slopes) / self.scale
        return result.ravel()

    def _by_segment(self, weights: Vector) -> tuple[Vector, Vector]:
        """Return the weight of each segment, and the weighted sum of its customers' slopes."""
        slopes = np.zeros((self.domain.rows, self.domain.columns))
        np.add.at(slopes, self.segments, weights[:, None] * self.slopes)
        each: Vector = np.bincount(self.segments, weights, self.domain.rows).astype(np.float64)
        return each, slopes

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return the prices that bring the most, by projected gradients, to a Frank-Wolfe gap of 1e-8."""
        each, _ = self._by_segment(weights)
        step = self.scale / float(2 * each.max() * self.volume.max())
        x = np.zeros(domain.dimension)
        for _ in range(5000):
            slope = self.gradient(x, weights)
            if slope @ (x - domain.extreme_point(slope)) <= GAP:
                break
            ahead = (x - step * slope).reshape(self.domain.rows, -1)
            x = nearest_in_nuclear_ball(ahead, self.domain.radius).ravel()
        return x


KINDS = 1024  # different customers
MOST = 0.8  # largest price change: at most this, so that prices stay positive and demand too
SEGMENTS = ("students", "families", "business", "seniors", "visitors", "members")
PRODUCTS = ("coffee", "tea", "bread", "cake", "lunch", "juice", "wine", "gifts")


class Shoppers(FiniteEnvironment):
    """One customer after the other, of a segment drawn by lot, with highest prices around those of the segment.

    The revenue-maximising price change of a segment and product is a matrix of rank 2: how much the segment values
    quality times how exclusive the product is, and the same for a second trait. Customers scatter around it. No
    customer's highest price is below 1 + radius, so that demand is never negative at prices in the ball.
    """

    library: Baskets

    def __init__(self, prices: NuclearBall, *, preference: float = 0.3, scatter: float = 0.1, seed: int = 0) -> None:
        super().__init__(prices, seed)
        self.preference = number("preference", preference, above=0.0, at_most=1.0)
        self.scatter = number("scatter", scatter, above=-1e-300, at_most=1.0)
        rng = self._design_rng()
        self.ideal = _two_traits(rng, prices.rows, prices.columns, self.preference)
        volume = rng.uniform(0.7, 1.3, prices.columns)
        segments = np.arange(KINDS) % prices.rows
        apart = rng.uniform(-self.scatter, self.scatter, (KINDS, prices.columns))
        highest = np.maximum(2 * (1 + self.ideal[segments]) + apart, 1 + prices.radius)
        self.library = Baskets(prices, segments, highest, volume)
        self.lipschitz = self.library.lipschitz


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
    >>> round(problem.domain.chosen(best)["business", "lunch"], 2)
    -0.13
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
        rows = names_of(SEGMENTS, whole("segments", segments), "segment")
        columns = names_of(PRODUCTS, whole("products", products), "product")
        prices = NuclearBall(rows, columns, number("radius", radius, above=0.0, at_most=MOST))
        self.environment = Shoppers(prices, preference=preference, scatter=scatter, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return the default, a wide one without scatter, and a single row where the ball hardly binds."""
        return [
            cls(),
            cls(segments=2, products=5, radius=0.3, scatter=0.0, seed=1),
            cls(segments=1, products=3, radius=0.8, preference=0.1, seed=2),
        ]
