"""Which items to show: a slate with a limit for each category."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Vector
from sottovoce._checks import number, whole
from sottovoce.domains import MatroidBases
from sottovoce.domains.matroids import Laminar
from sottovoce.lab.problems.base import DecisionProblem, names_of
from sottovoce.lab.simulation.finite import FiniteEnvironment, Kinds, LinearLosses

# ----------------------------------------------------------------------
# A simulated public that clicks: few items draw most clicks, and which ones changes with the season.


SEASONS, PEOPLE = 16, 128  # seasons of a year, and different people in each
TOP_ODDS, TAIL = 4.0, 1.2  # odds of a click on the best item, and how fast they fall with rank


class Clicks(FiniteEnvironment):
    """People who click the items they like, from odds that are heavy-tailed over the items and drift over the year.

    The odds of a click on the item of rank r are 4 r^-1.2 on average over the year (in logarithms). In season s of 16
    they are exp(drift cos(2 pi s / 16 + phase)) times that, with a phase for each item. In each season there are 128
    different people, whose clicks are drawn once; every event is a visit of one of them.

    Parameters
    ----------
    slates : MatroidBases
        Of a laminar matroid.
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

    def __init__(self, slates: MatroidBases, *, drift: float = 0.0, year: int = 50_000, seed: int = 0) -> None:
        super().__init__(slates, seed)
        self.slots = int(slates.matroid.rank())
        self.drift = number("drift", drift, above=-1e-300, at_most=3.0)
        self.year = whole("year", year, least=SEASONS)
        self.click_rates, clicks = self._public(slates.dimension)
        self.library = LinearLosses(-clicks / self.slots, 1.0)
        self.lipschitz = float(np.linalg.norm(slates.tangent(clicks), axis=1).max()) / self.slots

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


TOPICS = ("news", "sport", "music", "film", "food", "travel", "games", "books", "science", "fashion")


class Slate(DecisionProblem):
    """Choose which items to show, with at most so many of a category.

    A slate is a base of a laminar matroid: a partition matroid (a limit for each category), cut to the number of slots.
    The loss is the share of the slots that is not clicked, and every action is a slate of whole items.

    Parameters
    ----------
    items, slots, categories, per_category : int
        So many items, in categories of nearly equal size; so many are shown, at most so many of a category.
    drift : float
        How far the logarithm of each item's odds of a click swings to either side over a year; 0 for no drift.
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
    >>> "sport 1" in problem.domain.chosen(problem.environment.comparator(20_000).point)
    True
    """

    name: ClassVar[str] = "slate"
    title: ClassVar[str] = "Which items to show"
    story: ClassVar[str] = (
        "A front page has a few slots, many items, and a limit for each category. Every visitor is shown a slate, and "
        "the only feedback is how many of its items the visitor clicked. A few items draw most clicks, and which ones "
        "changes with the season."
    )
    environment: Clicks
    losses = "linear"
    integral = True

    def __init__(
        self,
        *,
        items: int = 24,
        slots: int = 6,
        categories: int = 4,
        per_category: int = 2,
        drift: float = 0.5,
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
        self.environment = Clicks(slates, drift=drift, year=year, seed=seed)
        attraction, topics = self.environment.click_rates.mean(axis=0), names_of(TOPICS, categories, "topic")
        better = [int((attraction[groups[label]] > attraction[item]).sum()) for item, label in enumerate(self.labels)]
        names = [f"{topics[label]} {1 + rank}" for label, rank in zip(self.labels, better, strict=True)]
        self.environment.domain = slates.labelled(names)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [
            cls(items=8, slots=3, categories=3, drift=0.0),
            cls(items=8, slots=3, categories=2, drift=1.0, year=4000, seed=1),
        ]
