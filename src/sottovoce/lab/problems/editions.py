"""Which stories to show to whom: a front page for each segment of the readers."""

import math
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import choice, vector, whole
from sottovoce.domains import Hypersimplex
from sottovoce.lab.problems._lists import listed
from sottovoce.lab.problems._people.audiences import Audiences
from sottovoce.lab.problems._pictures.tiles import GREY, bar_below, font_size, tile
from sottovoce.lab.problems._sizes import rectangle
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.models import Segments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Editions"]

COUNTRIES = ("it", "de", "fr", "es", "nl", "pl", "se", "pt", "at", "be", "dk", "fi", "ie", "gr", "cz", "hu", "ro")
DEVICES = ("phone", "desktop", "tablet", "television", "watch")
TOPICS = ("news", "sport", "music", "film", "food", "travel", "games", "books", "science", "fashion")
_ROW = 1.3  # tiles, with the bar below


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
        How many; by factors, the next number that fills a table of devices and countries.
    by : str
        What is known of segments: "name", nothing but their names; "factors", device and country; "hour", the hour of
        the day, as two features, on a circle.
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
        by: str = "name",
        differ: float = 0.2,
        power: float = 1.0,
        seed: int = 0,
    ) -> None:
        items = whole("items", items, least=2)
        self.slots = whole("slots", slots, most=items - 1)
        self.segments = _declared(choice("by", by, tuple(_WAYS)), whole("segments", segments, most=4096))
        pages = Hypersimplex([_story(item) for item in range(items)], self.slots)
        self.environment = Audiences(pages, self.segments, differ=differ, power=power, seed=seed)

    def settings(self) -> dict[str, Any]:
        """Return what `PrivateBandit` needs to know of the problem, privacy and horizon apart."""
        return {**super().settings(), "segments": self.segments}

    def draw(self, axes: "Axes", point: Vector) -> None:
        """Draw a tile for each story, darker the more it is shown; the bar below is its chance to be opened, by all."""
        point = vector("point", point, self.domain.dimension)
        rates, columns = self.environment.mean_rates, math.ceil(math.sqrt(len(point)))
        rows = math.ceil(len(point) / columns)
        size = 0.7 * font_size(axes, columns, _ROW * rows)  # words are longer than percentages
        for item, share in enumerate(point.tolist()):
            row, column = divmod(item, columns)
            top = _ROW * row
            tile(axes, column, top, share, size=size, text=_story(item).replace(" ", "\n"))
            bar_below(axes, column, top, float(rates[item]), size=size)
        axes.set_xlim(0, columns)
        axes.set_ylim(_ROW * rows, -0.1)
        axes.set_axis_off()
        axes.set_title("tile: shown   bar: opened by", fontsize=max(8.0, size), color=GREY, loc="left")

    def explain(self, point: Vector) -> list[tuple[str, str]]:
        """Return the stories that are shown most, then what the page is worth on average over all segments."""
        point = vector("point", point, self.domain.dimension)
        rates = self.environment.mean_rates
        most = np.argsort(-point - 1e-9 * rates, kind="stable")[: self.slots]
        lines = [
            (_story(item), f"shown {point[item]:.0%} of the time, opened by {rates[item]:.0%} (simulated)")
            for item in most.tolist()
        ]
        opened = float(point @ rates)
        return [*listed(lines, "shown no more often", most=8), ("stories opened per visit", f"{opened:.2f}, simulated")]

    @classmethod
    def sized(cls, size: int, *, seed: int = 0) -> Self:
        """Return an instance with `size` stories, a quarter of which are shown, in four segments."""
        size = whole("size", size, least=3)
        return cls(items=size, slots=max(1, size // 4), segments=4, seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [
            cls(items=8, slots=3, segments=3),
            cls(items=6, slots=2, segments=6, by="factors", differ=1.0, power=0.0, seed=1),
            cls(items=6, slots=2, segments=6, by="hour", differ=0.5, seed=2),
        ]


def _story(item: int) -> str:
    number, topic = divmod(item, len(TOPICS))
    return f"{TOPICS[topic]} {number + 1}"


def _named(count: int) -> Segments:
    return Segments([_from(COUNTRIES, place, "country") for place in range(count)])


def _of_factors(count: int) -> Segments:
    rows, columns = rectangle(count)
    devices = [_from(DEVICES, place, "device") for place in range(rows)]
    return Segments(
        factors={"device": devices, "country": [_from(COUNTRIES, place, "country") for place in range(columns)]}
    )


def _of_hours(count: int) -> Segments:
    """Hours of the day, evenly spaced, each a point on a circle: midnight is next to eleven."""
    minutes = np.arange(count) * 1440 / count
    angles = 2 * np.pi * minutes / 1440
    features = np.column_stack([np.sin(angles), np.cos(angles)]) if count > 2 else None
    return Segments([f"{int(one) // 60:02d}:{int(one) % 60:02d}" for one in minutes], features=features)


_WAYS = {"name": _named, "factors": _of_factors, "hour": _of_hours}


def _declared(by: str, count: int) -> Segments:
    if by == "hour" and count > 1440:
        raise ValueError(f"segments must be at most 1440 by the hour, a minute each, got {count}")
    return _WAYS[by](count)


def _from(known: Any, place: int, kind: str) -> str:
    return str(known[place]) if place < len(known) else f"{kind} {place + 1}"
