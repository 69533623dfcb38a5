"""In which order to list items."""

from typing import ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import whole
from sottovoce.domains import Permutahedron
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation.finite import FiniteEnvironment, Kinds, LinearLosses

# ----------------------------------------------------------------------
# A simulated public that reads lists from the top, each person with a taste of their own.


PEOPLE = 1024  # different readers
TASTE = 0.6  # spread of the logarithm of what an item is worth, between types
TAIL = 2.0  # Pareto index of what it is worth, between people of one type: heavy tails


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

    On the permutahedron of the discounts, coordinate i is the discount of the place of item i.

    Parameters
    ----------
    orders : Permutahedron
        With `discounts(n)` as weights.
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

    def __init__(self, orders: Permutahedron, *, types: int = 4, seed: int = 0) -> None:
        super().__init__(orders, seed)
        self.types = whole("types", types, most=32)
        attention, rng = discounts(orders.dimension), self._design_rng()
        if not np.allclose(orders.weights, attention):
            raise ValueError(f"orders must be Permutahedron(discounts({orders.dimension})), got {orders!r}")
        self.type_of = self._frequencies()
        self.worth = self._worth(rng)
        costs = -self.worth / (-np.sort(-self.worth, axis=1) @ attention)[:, None]  # over the ideal gain
        self.library = LinearLosses(costs, 1.0)
        # Worst for anyone: the one thing they care for comes last. Public, whoever they are.
        self.loss_range = (0.0, 1.0 - float(attention[-1]))
        self.lipschitz = float(np.linalg.norm(orders.tangent(costs), axis=1).max())

    def _frequencies(self) -> Kinds:
        """Return the type of each person."""
        shares = np.cumsum(1.0 / np.arange(1, self.types + 1))
        return np.searchsorted(shares / shares[-1], (np.arange(PEOPLE) + 0.5) / PEOPLE)

    def _worth(self, rng: np.random.Generator) -> Vector:
        """Return what each item is worth to each person; 1 for what they like best."""
        common = 1.0 / (1.0 + rng.permutation(self.domain.dimension))
        of_type = common * np.exp(TASTE * rng.standard_normal((self.types, self.domain.dimension)))
        worth: Vector = of_type[self.type_of] * (1.0 + rng.pareto(TAIL, size=(PEOPLE, self.domain.dimension)))
        worth /= worth.max(axis=1, keepdims=True)
        return worth


class Ranking(DecisionProblem):
    """List items in the order that serves people best, judged by one number per person.

    The loss is 1 - gain/ideal gain, where the gain discounts what stands lower (normalised discounted cumulative gain).
    It is linear in each item's attention, and every action is an ordering.

    Parameters
    ----------
    items : int
        To be ordered.
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
    >>> problem.domain.chosen(problem.environment.comparator(20_000).point)[0]
    'item 1'
    """

    name: ClassVar[str] = "ranking"
    title: ClassVar[str] = "In which order to list"
    story: ClassVar[str] = (
        "A search page lists the same items for everybody who asks. People read from the top and lose patience. The "
        "only feedback is one number per person: how far the list fell short of the order that would have been ideal "
        "for them. Tastes are heavy-tailed and come in types."
    )
    environment: Readers

    def __init__(self, *, items: int = 10, types: int = 4, seed: int = 0) -> None:
        orders = Permutahedron(discounts(whole("items", items, least=2)))
        self.environment = Readers(orders, types=types, seed=seed)
        worth = self.environment.worth.mean(axis=0)
        self.environment.domain = orders.labelled([f"item {1 + int((worth > one).sum())}" for one in worth])
        self.losses, self.integral = "linear", True

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [cls(items=5), cls(items=4, types=2, seed=1)]
