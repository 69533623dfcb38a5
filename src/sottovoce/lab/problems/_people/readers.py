"""A simulated public that reads lists from the top, each person with a taste of their own."""

from typing import ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import whole
from sottovoce.domains import Birkhoff, Permutahedron
from sottovoce.lab.simulation import FiniteEnvironment, LinearLosses
from sottovoce.lab.simulation.loss_library import Kinds

__all__ = ["Readers", "discounts"]

PEOPLE = 1024  # different readers
TASTE = 0.6  # spread of the logarithm of what an item is worth, between types
TAIL = 2.0  # Pareto index of what it is worth, between people of one type: heavy tails
PATIENCE = (0.5, 2.0)  # power of the discount, for the most and the least patient type; on doubly stochastic matrices


def discounts(places: int) -> Vector:
    """Return how much attention each place gets, 1/log2(1 + place), as in discounted cumulative gain.

    Examples
    --------
    >>> discounts(3).round(3)
    array([1.   , 0.631, 0.5  ])
    """
    weights: Vector = 1.0 / np.log2(2.0 + np.arange(whole("places", places)))
    return weights


class Readers(FiniteEnvironment):
    """People of a few types, who each find an ordered list so and so good.

    What item i is worth to a person is 1/rank(i), times a factor of the person's type (log-normal), times one of their
    own (Pareto). The gain of an ordering is the sum of worth times the discount of the item's place. The loss is
    1 - gain/ideal, with the ideal ordering of that person: one number per person, in linear terms of the ordering.

    On the permutahedron of the discounts, coordinate i is the discount of the place of item i, the same for everybody.
    On doubly stochastic matrices, types also differ in patience: they see the discounts to a power, from 0.5 for those
    who read on to 2 for those who stop early. That is still linear in the matrix.

    Parameters
    ----------
    orders : Permutahedron or Birkhoff
        The first with `discounts(n)` as weights.
    types : int
        The first type is the most frequent, the second half as frequent, the third a third, ...
    seed : int
        Fixes who likes what, and who comes when.

    Examples
    --------
    >>> from sottovoce.domains import Permutahedron
    >>> public = Readers(Permutahedron(discounts(4)), types=2, seed=1)
    >>> public.loss_range[0], round(public.loss_range[1], 3)
    (0.0, 0.569)
    >>> public.comparator(5_000).point.round(3)  # discounts: item 0 first
    array([1.   , 0.5  , 0.631, 0.431])
    """

    name: ClassVar[str] = "readers"

    def __init__(self, orders: Permutahedron | Birkhoff, *, types: int = 4, seed: int = 0) -> None:
        super().__init__(orders, seed)
        self.types = whole("types", types, most=32)
        self.items = orders.n if isinstance(orders, Birkhoff) else orders.dimension
        attention = discounts(self.items)
        rng = self._design_rng()
        self.type_of = self._frequencies()
        powers = np.ones(self.types)
        if isinstance(orders, Birkhoff):
            powers = np.geomspace(*PATIENCE, self.types)[rng.permutation(self.types)]
        elif not np.allclose(orders.weights, attention):
            raise ValueError(f"orders must be Permutahedron(discounts({self.items})), got {orders!r}")
        self.worth = self._worth(rng)
        self.attention = attention ** powers[self.type_of, None]  # of each person for each place
        costs = self._costs(isinstance(orders, Birkhoff))
        self.library = LinearLosses(costs, 1.0)
        # Worst for anyone: the one thing they care for comes last. Public, whoever they are.
        self.loss_range = (0.0, 1.0 - float(attention[-1] ** powers.max()))
        self.lipschitz = float(np.linalg.norm(orders.tangent(costs), axis=1).max())

    def _frequencies(self) -> Kinds:
        """Return the type of each person."""
        shares = np.cumsum(1.0 / np.arange(1, self.types + 1))
        return np.searchsorted(shares / shares[-1], (np.arange(PEOPLE) + 0.5) / PEOPLE)

    def _worth(self, rng: np.random.Generator) -> Vector:
        """Return what each item is worth to each person; 1 for what they like best."""
        common = 1.0 / (1.0 + rng.permutation(self.items))
        of_type = common * np.exp(TASTE * rng.standard_normal((self.types, self.items)))
        worth: Vector = of_type[self.type_of] * (1.0 + rng.pareto(TAIL, size=(PEOPLE, self.items)))
        worth /= worth.max(axis=1, keepdims=True)
        return worth

    def _costs(self, matrices: bool) -> Vector:
        """Return the slopes of all losses: minus worth (times attention, for matrices) over the ideal gain."""
        ideal = np.einsum("ij,ij->i", -np.sort(-self.worth, axis=1), self.attention)
        costs: Vector = -self.worth / ideal[:, None]
        if not matrices:
            return costs
        tables: Vector = costs[:, :, None] * self.attention[:, None, :]
        return tables.reshape(PEOPLE, -1)

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return who comes at each event, by lot."""
        return rng.integers(0, PEOPLE, size=size, dtype=np.uint16).astype(np.intp)

    def __repr__(self) -> str:
        return f"Readers({self.domain!r}, types={self.types}, seed={self.seed})"

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances."""
        return [cls(Permutahedron(discounts(5))), cls(Birkhoff(4), types=2, seed=1)]
