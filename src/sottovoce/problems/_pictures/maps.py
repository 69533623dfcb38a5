"""Network maps: faint links, strong decisions, names that can be read."""

from collections.abc import Iterator, Sequence
from math import cos, radians
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.problems._networks import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_map"]

INK, FAINT, ENDS = "#222222", "#d9d9d9", "#D55E00"
STRONG = (0.0, 0.447, 0.698)
_AROUND = ((1, 1), (-1, 1), (1, -1), (-1, -1))  # where a name may stand, seen from its node


def draw_map(
    axes: "Axes",
    network: Network,
    shares: Vector,
    *,
    notes: Sequence[tuple[int, str]] = (),
    ends: Sequence[int] = (),
) -> None:
    """Draw all links faintly, and over them, as wide as `shares` (0 to 1, one per link), the decision.

    `notes` are (link, text) pairs, most important first, written on the middle of the link; `ends` are nodes to stand
    out. Of notes and names, only what has room is written.
    """
    from matplotlib.collections import LineCollection

    places = np.array(network.positions)
    segments = places[np.array(network.links)]
    used = np.flatnonzero(shares > 0.005)
    _frame(axes, network, places)
    size = _font_size(axes)
    axes.add_collection(LineCollection(list(segments), colors=FAINT, linewidths=size / 7, zorder=1))
    axes.add_collection(
        LineCollection(
            list(segments[used]),
            colors=[(*STRONG, 0.25 + 0.75 * min(1.0, float(shares[link]))) for link in used],
            linewidths=size / 7 * (1.0 + 5.0 * shares[used]),
            capstyle="round",
            zorder=2,
        )
    )
    plain = [i for i in range(len(places)) if i not in ends]
    axes.scatter(
        places[plain, 0], places[plain, 1], s=size * 2, color="white", edgecolors=INK, linewidths=size / 9, zorder=3
    )
    axes.scatter(
        places[list(ends), 0],
        places[list(ends), 1],
        s=size * 6,
        color=ENDS,
        edgecolors="white",
        linewidths=size / 9,
        zorder=4,
    )
    _write(axes, network, segments, notes, ends, size)


def _frame(axes: "Axes", network: Network, places: Vector) -> None:
    axes.set_axis_off()
    low, high = places.min(axis=0), places.max(axis=0)
    room = 0.08 * np.maximum(high - low, (high - low).max() / 4)
    axes.set_xlim(low[0] - room[0], high[0] + 2 * room[0])  # names stand to the right
    axes.set_ylim(low[1] - room[1], high[1] + room[1])
    # A degree of longitude is shorter than one of latitude, by the cosine of the latitude.
    middle = float(low[1] + high[1]) / 2
    axes.set_aspect(1 / cos(radians(middle)) if network.on_the_globe else 1.0, adjustable="box")
    axes.apply_aspect()


def _font_size(axes: "Axes") -> float:
    """Return a size, in points, that suits the axes."""
    box, dpi = axes.get_window_extent(), axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    return float(np.clip(min(box.width, box.height) / dpi * 72 / 27, 4.0, 11.0))


def _write(
    axes: "Axes", network: Network, segments: Vector, notes: Sequence[tuple[int, str]], ends: Sequence[int], size: float
) -> None:
    """Write the names of the ends, then notes, then other names, each where there is room for it."""
    paper = _Paper(axes, size)
    for place in network.positions:
        paper.keep_free(place)
    town = network.name.startswith("grid")  # where names are only numbers
    for node in ends:
        paper.name(network.nodes[node], network.positions[node], 1.2 * size, always=True, color=ENDS, fontweight="bold")
    for link, text in notes:
        paper.note(text, segments[link].mean(axis=0), 0.85 * size)
    for node, name in enumerate(network.nodes):
        if node not in ends and not town:
            paper.name(name, network.positions[node], 0.9 * size, color=INK)


class _Paper:
    """Keeps track of where there is writing already."""

    def __init__(self, axes: "Axes", size: float) -> None:
        self.axes, self.size = axes, size
        self.points = 72 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
        self.taken: list[tuple[float, float, float, float]] = []

    def keep_free(self, place: Any) -> None:
        """Let nothing be written over a node."""
        x, y = self.axes.transData.transform(place) * self.points
        dot = 0.25 * self.size
        self.taken.append((x - dot, y - dot, x + dot, y + dot))

    def name(self, text: str, place: Any, size: float, *, always: bool = False, **style: Any) -> None:
        """Write beside a node, at the first of four places that is free."""
        for across, up in self._free(text, place, size):
            self._put(text, place, size, across, up, style)
            return
        if always:
            self._put(text, place, size, 1, 1, style)

    def _free(self, text: str, place: Any, size: float) -> Iterator[tuple[int, int]]:
        for across, up in _AROUND:
            box = self._box(text, place, size, across, up)
            if not any(_overlap(box, other) for other in self.taken):
                yield across, up

    def _put(self, text: str, place: Any, size: float, across: int, up: int, style: dict[str, Any]) -> None:
        self.taken.append(self._box(text, place, size, across, up))
        self.axes.annotate(
            text,
            place,
            xytext=(0.5 * self.size * across, 0.4 * self.size * up),
            textcoords="offset points",
            ha="left" if across > 0 else "right",
            va="bottom" if up > 0 else "top",
            fontsize=size,
            zorder=6,
            **style,
        )

    def note(self, text: str, place: Any, size: float) -> None:
        """Write on a link, if there is room."""
        box = self._box(text, place, size, 0, 0)
        if any(_overlap(box, other) for other in self.taken):
            return
        self.taken.append(box)
        patch = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        self.axes.annotate(text, place, ha="center", va="center", fontsize=size, color=INK, zorder=5, bbox=patch)

    def _box(self, text: str, place: Any, size: float, across: int, up: int) -> tuple[float, float, float, float]:
        """Return left, bottom, right, top in points; letters are about 0.6 of their size wide."""
        x, y = self.axes.transData.transform(place) * self.points
        wide, high = 0.6 * size * len(text), 1.1 * size
        x += across * (0.5 * self.size + wide / 2)
        y += up * (0.4 * self.size + high / 2)
        return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
