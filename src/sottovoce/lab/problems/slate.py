"""Which items to show: a slate with a limit for each category."""

from typing import ClassVar, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from sottovoce._arrays import Vector
from sottovoce._checks import choice, number, vector, whole
from sottovoce.domains import Domain, MatroidBases
from sottovoce.domains.matroids import Laminar
from sottovoce.lab.problems._lists import listed
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation import Comparator, FiniteEnvironment, LinearLosses
from sottovoce.lab.simulation.loss_library import Kinds

# ----------------------------------------------------------------------
# A simulated public that clicks: few items draw most clicks, and which ones changes with the season.


SEASONS, PEOPLE = 16, 128  # seasons of a year, and different people in each
TOP_ODDS, TAIL = 4.0, 1.2  # odds of a click on the best item, and how fast they fall with rank


class Shortfall:
    """Hinge losses f(x) = max(0, 1 - <clicks, x> / wanted): the share that a person misses of what they came for.

    Parameters
    ----------
    clicks : array of shape (kinds, n)
        1 where a person would click an item, else 0.
    wanted : float
        Clicks that satisfy a person.
    slates : MatroidBases
        Of a laminar matroid: the set over which `solve` minimises.

    Examples
    --------
    >>> import numpy as np
    >>> from sottovoce.domains import MatroidBases
    >>> from sottovoce.domains.matroids import Laminar
    >>> two_of_three = MatroidBases(Laminar([{0, 1, 2}], [2]))
    >>> library = Shortfall(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2.0, two_of_three)
    >>> library.losses(np.array([1.0, 0.5, 0.5]), np.array([0, 1]))
    array([0.25, 0.75])
    """

    def __init__(self, clicks: Vector, wanted: float, slates: MatroidBases) -> None:
        self.clicks = clicks
        self.wanted = wanted
        self.slates = slates

    def __len__(self) -> int:
        return len(self.clicks)

    def losses(self, actions: Vector, kinds: Kinds) -> Vector:
        """Return what each person misses at their action."""
        if actions.ndim == 1:
            return self._missed(self.clicks @ actions).take(kinds)
        return self._missed(np.einsum("ij,ij->i", self.clicks.take(kinds, axis=0), actions))

    def _missed(self, clicks: Vector) -> Vector:
        missed: Vector = np.maximum(0.0, 1.0 - clicks / self.wanted)
        return missed

    def best(self, domain: Domain, weights: Vector) -> Vector:
        """Return a point where the weighted sum is least."""
        return self.solve(weights).point

    def gradient(self, point: Vector, weights: Vector) -> Vector:
        """Return a subgradient of the weighted sum: those who have just enough do not pull."""
        pull = np.where(self.clicks @ point < self.wanted - 1e-9, weights, 0.0)
        slope: Vector = -(pull @ self.clicks) / self.wanted
        return slope

    def solve(self, weights: Vector) -> Comparator:
        """Return where the weighted sum is least, from a linear program, with a certificate that trusts no solver.

        The program has a variable for each item and one for what each person misses. Take its multipliers, clipped to
        0 <= pull <= weights: a weighted loss is nowhere below pull (1 - <clicks, x> / wanted), so their sum is
        nowhere below the least value of a linear function, which the oracle knows.
        """
        met = np.flatnonzero(weights)
        clicks, weights = self.clicks[met], weights[met]
        matroid, (people, items) = self.slates.matroid, clicks.shape
        assert isinstance(matroid, Laminar)
        quotas = np.hstack([matroid.family, np.zeros((len(matroid.family), people))])
        solved = scipy.optimize.linprog(
            np.concatenate([np.zeros(items), weights]),
            A_ub=np.vstack([np.hstack([-clicks / self.wanted, -np.eye(people)]), quotas]),
            b_ub=np.concatenate([-np.ones(people), matroid.capacities]),
            A_eq=np.concatenate([np.ones(items), np.zeros(people)])[None],
            b_eq=[matroid.rank()],
            bounds=[(0, 1)] * items + [(0, None)] * people,
            method="highs",
        )
        if solved.x is None:
            raise RuntimeError(f"the best slate was not found: {solved.message}")
        point = np.asarray(solved.x[:items], dtype=np.float64)
        pull = np.clip(-solved.ineqlin.marginals[:people], 0.0, weights)
        slope = -(pull @ clicks) / self.wanted
        least = float(pull.sum() + slope @ self.slates.extreme_point(slope))
        return Comparator(point, max(0.0, float(weights @ self._missed(clicks @ point)) - least))


class Clicks(FiniteEnvironment):
    """People who click the items they like, from odds that are heavy-tailed over the items and drift over the year.

    The odds of a click on the item of rank r are 4 r^-1.2 on average over the year (in logarithms). In season s of 16
    they are exp(drift cos(2 pi s / 16 + phase)) times that, with a phase for each item. In each season there are 128
    different people, whose clicks are drawn once; every event is a visit of one of them.

    Parameters
    ----------
    slates : MatroidBases
        Of a laminar matroid.
    loss : str
        "linear": the share of the slots that is not clicked. "hinge": the share that is missing of `wanted` clicks.
    wanted : float
        Clicks that satisfy a person; for the hinge.
    drift : float
        How far the logarithm of the odds swings to either side; 0 for a public that stays as it is.
    year : int
        Events until the seasons come round again.
    seed : int
        Fixes who likes what, and who comes when.

    Examples
    --------
    >>> from sottovoce.domains import MatroidBases
    >>> from sottovoce.domains.matroids import Laminar
    >>> slates = MatroidBases(Laminar([{0, 1, 2}, {3, 4, 5}, set(range(6))], [2, 2, 3]))
    >>> public = Clicks(slates, drift=0.5)
    >>> public.comparator(10_000).point
    array([0., 1., 0., 0., 1., 1.])
    >>> public.click_rates.shape  # a row for each season
    (16, 6)
    """

    name: ClassVar[str] = "clicks"

    def __init__(
        self,
        slates: MatroidBases,
        *,
        loss: str = "linear",
        wanted: float = 2.0,
        drift: float = 0.0,
        year: int = 50_000,
        seed: int = 0,
    ) -> None:
        super().__init__(slates, seed)
        self.loss = choice("loss", loss, ("linear", "hinge"))
        self.slots = int(slates.matroid.rank())
        self.wanted = number("wanted", wanted, above=0.0, at_most=float(self.slots))
        self.drift = number("drift", drift, above=-1e-300, at_most=3.0)
        self.year = whole("year", year, least=SEASONS)
        self.click_rates, clicks = self._public(slates.dimension)
        scale = self.wanted if loss == "hinge" else float(self.slots)
        self.library: LinearLosses | Shortfall = (
            Shortfall(clicks, scale, slates) if loss == "hinge" else LinearLosses(-clicks / scale, 1.0)
        )
        self.loss_range = (0.0, 1.0)
        self.lipschitz = float(np.linalg.norm(slates.tangent(clicks), axis=1).max()) / scale

    def _public(self, items: int) -> tuple[Vector, Vector]:
        """Return the chance of a click by season and item, and the clicks of all people, season after season."""
        rng = self._design_rng()
        rank = 1.0 + rng.permutation(items)
        phase = rng.uniform(0.0, 2 * np.pi, size=items)
        season = 2 * np.pi * np.arange(SEASONS)[:, None] / SEASONS
        odds = TOP_ODDS * rank**-TAIL * np.exp(self.drift * np.cos(season + phase))
        rates = odds / (1.0 + odds)
        clicks = rng.random((SEASONS, PEOPLE, items)) < rates[:, None, :]
        rates.flags.writeable = False
        return rates, clicks.reshape(SEASONS * PEOPLE, items).astype(np.float64)

    def schedule(self, start: int, size: int, rng: np.random.Generator) -> Kinds:
        """Return who comes at each event: the season by position, the person by lot."""
        return self.season_of(start, size) * PEOPLE + rng.integers(0, PEOPLE, size=size, dtype=np.uint16)

    def season_of(self, start: int, size: int) -> Kinds:
        """Return the season, from 0, of each event."""
        return np.arange(start, start + size) % self.year * SEASONS // self.year

    def comparator(self, horizon: int) -> Comparator:
        """Return the fixed slate that is best over the first `horizon` events."""
        if not isinstance(self.library, Shortfall):
            return super().comparator(horizon)
        horizon = whole("horizon", horizon)
        counts = sum(np.bincount(kinds, minlength=len(self.library)) for kinds in self._chunks_before(horizon))
        return self.library.solve(np.asarray(counts) / horizon)

    def __repr__(self) -> str:
        hinge = f", loss='hinge', wanted={self.wanted:g}" if self.loss == "hinge" else ""
        return f"Clicks({self.domain!r}{hinge}, drift={self.drift:g}, year={self.year}, seed={self.seed})"

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances."""
        slates = MatroidBases(Laminar([{0, 1, 2}, {3, 4, 5}, set(range(6))], [2, 2, 3]))
        return [cls(slates), cls(slates, loss="hinge", drift=1.0, year=700, seed=1)]


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
