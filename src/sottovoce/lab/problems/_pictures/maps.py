"""Network maps: faint links, strong decisions, names that can be read, on a phone too."""

from collections.abc import Sequence
from math import cos, radians
from typing import TYPE_CHECKING

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.lab.problems._networks import Network
from sottovoce.lab.problems._pictures._lettering import Lettering
from sottovoce.lab.problems._pictures.tiles import BLUE, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_map"]

FAINT = "#d9d9d9"
_LEAST, _MOST = 8.5, 12.0  # sizes of names, in points: smaller ones cannot be read where a map is shown small
_USED, _WIDE = 0.005, 0.05  # of the decision: a link with less is not in it, or so thin that a name may cross it


def draw_map(
    axes: "Axes",
    network: Network,
    shares: Vector,
    *,
    notes: Sequence[tuple[int, str]] = (),
    ends: Sequence[int] = (),
) -> None:
    """Draw all links faintly, and over them, as wide as `shares` (0 to 1, one per link), the decision.

    `notes` are (link, text) pairs, most important first, written on the link; `ends` are nodes to stand out. Of notes
    and names, only what has room is written, first what belongs to the decision.
    """
    from matplotlib.collections import LineCollection

    places = np.array(network.positions)
    segments = places[np.array(network.links)]
    used = np.flatnonzero(shares > _USED)
    _frame(axes, network, places)
    size = _font_size(axes, len(places))
    axes.add_collection(LineCollection(list(segments), colors=FAINT, linewidths=size / 7, zorder=1))
    axes.add_collection(
        LineCollection(
            list(segments[used]),
            colors=[(BLUE, 0.3 + 0.7 * min(1.0, float(shares[link]))) for link in used],
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
        color=INK,
        edgecolors="white",
        linewidths=size / 9,
        zorder=4,
    )
    lettering = Lettering(axes, segments, shares > _WIDE, size)
    for place in network.positions:
        lettering.keep_free(place, 0.25 * size)
    _write(lettering, network, shares, notes, ends, size)


def _frame(axes: "Axes", network: Network, places: Vector) -> None:
    """Fill the axes with the map; what is left of their width or height is room for names."""
    axes.set_axis_off()
    axes.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]  # now the axes have their place
    low, high = places.min(axis=0), places.max(axis=0)
    # A degree of longitude is shorter than one of latitude, by the cosine of the latitude.
    unit = np.array([cos(radians(float(low[1] + high[1]) / 2)) if network.on_the_globe else 1.0, 1.0])
    needed = (high - low) * unit
    needed += np.array([0.3, 0.16]) * np.maximum(needed, needed.max() / 4)
    box = axes.get_window_extent()
    filled = np.array([box.width, box.height]) * float(np.max(needed / np.array([box.width, box.height]))) / unit
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - filled[0] / 2, middle[0] + filled[0] / 2)
    axes.set_ylim(middle[1] - filled[1] / 2, middle[1] + filled[1] / 2)
    axes.set_aspect(1 / unit[0], adjustable="box")
    axes.apply_aspect()


def _font_size(axes: "Axes", nodes: int) -> float:
    """Return a size, in points, that suits the axes, and how much is to be written."""
    box, dpi = axes.get_window_extent(), axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    room = min(box.width, box.height) / dpi * 72 / 26
    return float(np.clip(room * min(1.0, (20 / nodes) ** 0.25), _LEAST, _MOST))


def _write(
    lettering: Lettering,
    network: Network,
    shares: Vector,
    notes: Sequence[tuple[int, str]],
    ends: Sequence[int],
    size: float,
) -> None:
    """Write the names of the ends, of places on the decision's way, then notes, then other names."""
    named = dict(enumerate(zip(network.nodes, network.positions, strict=True)))
    lettering.names([named.pop(node) for node in ends], 1.1 * size, always=True, color=INK, fontweight="bold")
    if network.name.startswith("grid"):  # names are only numbers
        named = {}
    on_the_way = {node for link in np.flatnonzero(shares > _USED) for node in network.links[link]}
    lettering.names([named[node] for node in named if node in on_the_way], size, color=INK)
    for link, text in notes:
        lettering.note(text, link, 0.9 * size, color=INK)
    lettering.names([named[node] for node in named if node not in on_the_way], size, color=INK)
