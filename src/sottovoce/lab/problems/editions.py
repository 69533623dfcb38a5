"""Which stories to show to whom: a front page for each segment of the readers."""

from typing import Any, ClassVar, Self

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import number, whole
from sottovoce.domains import Hypersimplex
from sottovoce.lab.problems.base import DecisionProblem, names_of
from sottovoce.lab.problems.slate import TOPICS
from sottovoce.lab.simulation.finite import LinearLosses
from sottovoce.lab.simulation.segmented import SegmentedEnvironment, power_law
from sottovoce.models import Segments

# ----------------------------------------------------------------------
# Segments of a public that clicks: what they like has something in common, and something that is their own.


PEOPLE = 128  # different people in each segment
USUAL, SPREAD = -1.0, 1.0  # of the logarithms of the odds of a click: some 27% on average, few items draw most
EXPLAINED = 0.8  # of what segments differ by, what their factors or features explain


class Audiences(SegmentedEnvironment):
    """People of several segments, who click the items they like.

    The logarithm of the odds of a click on item i in segment s is -1 + sqrt(1 - differ) c_i + sqrt(differ) o_si: c is
    what all segments have in common, o what is a segment's own, standard normal both. Where segments have factors or
    features, 0.8 of the variance of o comes from these: effects of each level, or of each feature; the rest is the
    segment's alone. Each segment has 128 different people, whose clicks are drawn once, with the same luck in all
    segments: with `differ=0` segments are the same to the last person.

    Parameters
    ----------
    slates : Hypersimplex
        So many of the items are shown.
    segments : Segments
        With names.
    differ : float
        What share of the variance is a segment's own: 0 for identical segments, 1 for unrelated ones.
    power : float
        The segment of rank r has a share of 1 / r^power of all events.
    seed : int
        Fixes who likes what, and who comes when.

    Examples
    --------
    >>> public = Audiences(Hypersimplex(6, 2), Segments(["phone", "desktop"]), differ=1.0)
    >>> [one.point.astype(int).tolist() for one in public.comparators(10_000).values()]
    [[1, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1]]
    """

    def __init__(
        self, slates: Hypersimplex, segments: Segments, *, differ: float = 0.2, power: float = 1.0, seed: int = 0
    ) -> None:
        count = len(segments.names)
        self.differ = number("differ", differ, above=-1e-300, at_most=1.0)
        self.power = number("power", power, above=-1e-300, at_most=4.0)
        super().__init__(slates, segments, power_law(count, self.power), PEOPLE, seed)
        rng = self._design_rng()
        if segments.factors or segments.features is not None:  # neighbours must not be of like size
            self.shares = rng.permutation(self.shares)
        self.click_rates = self._rates(rng, slates.dimension)
        luck = rng.random((PEOPLE, slates.dimension))
        clicks = (luck < self.click_rates[:, None, :]).reshape(count * PEOPLE, -1).astype(np.float64)
        self.library = LinearLosses(-clicks / slates.k, 1.0)
        self.lipschitz = float(np.linalg.norm(slates.tangent(clicks), axis=1).max()) / slates.k

    def _rates(self, rng: np.random.Generator, items: int) -> Floats:
        """Return the chance of a click by segment and item."""
        common = rng.standard_normal(items)
        own = rng.standard_normal((len(self.segments.names), items))
        rows = np.stack([self.segments.row(name)[1:] for name in self.segments.names])
        if rows.shape[1]:
            effects = rows @ rng.standard_normal((rows.shape[1], items))
            effects /= np.sqrt((rows**2).sum(axis=1).mean())
            own = np.sqrt(EXPLAINED) * effects + np.sqrt(1 - EXPLAINED) * own
        logarithms = USUAL + SPREAD * (np.sqrt(1 - self.differ) * common + np.sqrt(self.differ) * own)
        rates: Floats = 1 / (1 + np.exp(-logarithms))
        rates.flags.writeable = False
        return rates


COUNTRIES = ("it", "de", "fr", "es", "nl", "pl", "se", "pt", "at", "be", "dk", "fi", "ie", "gr", "cz", "hu", "ro")


class Editions(DecisionProblem):
    """Choose which stories the front page shows, for each segment of the readers.

    Readers of all segments like much the same stories; by how much they differ is a setting. The best page of each
    segment is known exactly: losses are linear, so its value is that of the linear oracle on the mean of the segment's
    people, and the certificate of each comparator is 0.

    Parameters
    ----------
    items, slots : int
        So many stories, of which so many are shown.
    segments : int
        How many countries readers are from. For segments of which more is known see `Audiences`.
    differ : float
        What share of the variance of stories' odds is a segment's own: 0 for identical segments, 0.2 for such as
        differ moderately, 1 for unrelated ones.
    power : float
        The segment of rank r has a share of 1 / r^power of all events.
    seed : int
        Fixes the readers.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Editions(segments=4, items=8, slots=3)
    >>> optimizer = problem.optimizer(horizon=20_000, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    >>> run = sv.lab.simulate(optimizer, problem.environment)
    >>> bool(run.final_regret < run.final_no_learning)
    True
    >>> problem.environment.comparators(20_000)["it"].certificate < 1e-12
    True
    """

    name: ClassVar[str] = "editions"
    title: ClassVar[str] = "Which stories to show to whom"
    story: ClassVar[str] = (
        "A newspaper's front page has a few slots and many stories. Where a reader comes from is known, and may "
        "matter: readers of one country, device or hour like other stories than those of another. The only feedback is "
        "how many of the stories shown the reader opens. A few segments have most of the readers, and many are small."
    )
    environment: Audiences
    losses = "linear"
    integral = True

    def __init__(
        self,
        *,
        items: int = 20,
        slots: int = 5,
        segments: int = 20,
        differ: float = 0.2,
        power: float = 1.0,
        seed: int = 0,
    ) -> None:
        items = whole("items", items, least=2)
        self.slots = whole("slots", slots, most=items - 1)
        self.segments = Segments(names_of(COUNTRIES, whole("segments", segments, most=4096), "country"))
        stories = [f"{TOPICS[item % len(TOPICS)]} {item // len(TOPICS) + 1}" for item in range(items)]
        pages = Hypersimplex(stories, self.slots)
        self.environment = Audiences(pages, self.segments, differ=differ, power=power, seed=seed)

    def settings(self) -> dict[str, Any]:
        """Return what `PrivateBandit` needs to know of the problem, privacy and horizon apart."""
        return {**super().settings(), "segments": self.segments}

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [
            cls(items=8, slots=3, segments=3),
            cls(items=6, slots=2, segments=6, differ=1.0, power=0.0, seed=1),
        ]
