"""Where words can stand on a map: beside their places, clear of each other, of nodes and, if it can be, of links."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import hypot
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Mask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Box", "Lettering", "crosses"]

_AROUND = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))  # seen from the node
_AWAY = (1.0, 1.6, 2.4)  # distances from the node, in its own unit
_ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)  # where on its link a note may stand
_FAINT, _FURTHER = 1.0, 0.6  # what it costs to stand on a faint link, and to stand further off


class Box(NamedTuple):
    """Left, bottom, right, top, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlaps(self, other: "Box") -> bool:
        """Say whether two boxes have points in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top

    def distance(self, x: float, y: float) -> float:
        """Return how far a point is from the box."""
        return hypot(max(self.left - x, 0.0, x - self.right), max(self.bottom - y, 0.0, y - self.top))


class Lettering:
    """Keeps track of what is written on a map, in points of its figure.

    Parameters
    ----------
    axes
        The map; its limits and its place on the figure must not change any more.
    segments : array of shape (links, 2, 2)
        The ends of the links, in data.
    strong : array of bool
        Links that no name may be written on.
    unit
        The size of usual letters.
    """

    def __init__(self, axes: "Axes", segments: Floats, strong: Mask, unit: float) -> None:
        self._axes, self._unit, self._strong = axes, unit, strong
        self._points = 72 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
        self._links = axes.transData.transform(segments.reshape(-1, 2)).reshape(-1, 2, 2) * self._points
        frame = axes.get_window_extent()
        self._frame = Box(*(edge * self._points for edge in (frame.x0, frame.y0, frame.x1, frame.y1)))
        self._taken: list[Box] = []
        self._nodes: list[tuple[float, float]] = []

    def keep_free(self, place: Any, radius: float) -> None:
        """Let nothing be written over a node."""
        x, y = self._place(place)
        self._nodes.append((x, y))
        self._taken.append(Box(x - radius, y - radius, x + radius, y + radius))

    def names(self, texts: Sequence[tuple[str, Any]], size: float, *, always: bool = False, **style: Any) -> None:
        """Write (text, place) beside their nodes, each where it costs least; those with the fewest good places first.

        What has no room is left out, unless it must be there.
        """
        found = [(text, self._place(place), self._candidates(text, self._place(place), size)) for text, place in texts]
        for text, (x, y), candidates in sorted(found, key=lambda one: sum(cost < _FAINT for cost, _ in one[2])):
            free = [(cost, box) for cost, box in candidates if not any(box.overlaps(other) for other in self._taken)]
            if free:
                self._write(text, min(free, key=lambda one: one[0])[1], size, style)
            elif always:
                wide, high = _extent(text, size)
                self._write(text, Box(x, y, x + wide, y + high), size, style)

    def _candidates(self, text: str, place: tuple[float, float], size: float) -> list[tuple[float, Box]]:
        """Return boxes around a node, each with its cost: on the map, off strong links, nearest to this node."""
        (wide, high), (x, y) = _extent(text, size), place
        found = []
        for away, (across, up) in product(_AWAY, _AROUND):
            apart = 0.5 * self._unit * away
            left = x + across * (apart + wide / 2) - wide / 2
            low = y + up * ((apart if not across else 0.7 * apart) + high / 2) - high / 2
            box = Box(left, low, left + wide, low + high)
            below = crosses(box, self._links)
            if self._inside(box) and not below[self._strong].any() and not self._mistaken(box, place):
                found.append((_FAINT * int(below.sum()) + _FURTHER * (away - 1), box))
        return found

    def note(self, text: str, link: int, size: float, **style: Any) -> None:
        """Write on a link, at the first place along it that is free of words, nodes and other links."""
        wide, high = _extent(text, size)
        start, end = self._links[link]
        for share in _ALONG:
            x, y = start + share * (end - start)
            box = Box(x - wide / 2, y - high / 2, x + wide / 2, y + high / 2)
            others = np.delete(np.arange(len(self._links)), link)
            free = self._inside(box) and not any(box.overlaps(other) for other in self._taken)
            if free and not crosses(box, self._links[others]).any():
                self._write(text, box, size, style)
                return

    def _write(self, text: str, box: Box, size: float, style: dict[str, Any]) -> None:
        from matplotlib.patheffects import withStroke

        self._taken.append(box)
        middle = np.array([box.left + box.right, box.bottom + box.top]) / 2 / self._points
        x, y = self._axes.transData.inverted().transform(middle)
        halo = [withStroke(linewidth=0.28 * size, foreground="white")]
        self._axes.text(
            x, y, text, ha="center", va="center_baseline", fontsize=size, zorder=6, path_effects=halo, **style
        )

    def _place(self, place: Any) -> tuple[float, float]:
        x, y = self._axes.transData.transform(place) * self._points
        return float(x), float(y)

    def _inside(self, box: Box) -> bool:
        frame = self._frame
        return (
            box.left >= frame.left and box.right <= frame.right and box.bottom >= frame.bottom and box.top <= frame.top
        )

    def _mistaken(self, box: Box, place: tuple[float, float]) -> bool:
        """Whether a name would seem to belong to another node."""
        own = box.distance(*place)
        return any(box.distance(x, y) <= own for x, y in self._nodes if (x, y) != place)


def crosses(box: Box, segments: Floats) -> Mask:
    """Say of each segment whether it meets a box (Liang and Barsky's clipping).

    Examples
    --------
    >>> segments = np.array([[[0.0, 0.0], [4.0, 4.0]], [[0.0, 3.0], [1.0, 4.0]], [[2.0, 0.0], [2.0, 1.5]]])
    >>> crosses(Box(1.0, 1.0, 3.0, 2.0), segments).tolist()
    [True, False, True]
    """
    start, step = segments[:, 0], segments[:, 1] - segments[:, 0]
    low, high = np.array([box.left, box.bottom]), np.array([box.right, box.top])
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - start) / step, (high - start) / step
    level = step == 0  # parallel to a side: between its two lines for ever, or never
    within = (start >= low) & (start <= high)
    enters = np.where(level, np.where(within, -np.inf, np.inf), np.minimum(one, other)).max(axis=1)
    leaves = np.where(level, np.where(within, np.inf, -np.inf), np.maximum(one, other)).min(axis=1)
    met: Mask = np.maximum(enters, 0.0) <= np.minimum(leaves, 1.0)
    return met


@lru_cache(maxsize=4096)
def _extent(text: str, size: float) -> tuple[float, float]:
    """Return how wide and high a text is, in points, with a little room around it."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=size).get_extents().width) + 0.2 * size, 1.1 * size
