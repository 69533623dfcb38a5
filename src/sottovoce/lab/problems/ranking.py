"""In which order to list items."""

from typing import ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import choice, whole
from sottovoce.domains import Birkhoff, Permutahedron
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation.finite import FiniteEnvironment, Kinds, LinearLosses

# ----------------------------------------------------------------------
# A simulated public that reads lists from the top, each person with a taste of their own.


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

    def __init__(self, *, items: int = 10, set: str = "permutahedron", types: int = 4, seed: int = 0) -> None:
        items = whole("items", items, least=2)
        matrices = choice("set", set, ("permutahedron", "birkhoff")) == "birkhoff"
        orders = Birkhoff(items) if matrices else Permutahedron(discounts(items))
        self.environment = Readers(orders, types=types, seed=seed)
        self.items, self.matrices = items, matrices
        worth = self.environment.worth.mean(axis=0)
        names = [f"item {1 + int((worth > one).sum())}" for one in worth]
        places = [f"place {place}" for place in range(1, items + 1)]
        self.environment.domain = orders.labelled((names, places) if matrices else names)
        self.losses, self.integral = "linear", True

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [cls(items=5), cls(items=4, types=2, seed=1), cls(items=3, set="birkhoff", seed=2)]
