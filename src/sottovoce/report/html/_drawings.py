"""A decision as people think of it: on its network, as a slate, a ranking, a table of pairs, or shares and amounts.

What is drawn follows from the set and from what `Domain.chosen` says: names are the user's own. The templates
(`drawings.html`) escape everything; nothing here makes markup.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.sparse.csgraph import shortest_path

from sottovoce._arrays import Floats, Vector
from sottovoce.domains import Domain, Permutahedron, Product
from sottovoce.domains.naming import in_words, label_text
from sottovoce.report._canvas import note, sized, to_svg
from sottovoce.report._charts import LETTERS_ON_AXIS
from sottovoce.report.numbers import shortened, significant

Places = Mapping[Hashable, tuple[float, float]]
"""By node: how far to the east, and to the north."""


def laid_out(
    nodes: Sequence[Hashable],
    edges: Sequence[tuple[int, int]],
    ends: tuple[int, int] | None = None,
    known: Places | None = None,
) -> Floats:
    """Return a place for each node, in [0, 1] by [0, 1]; `ends` go to the left and to the right.

    Nodes whose places are known (east and north) are drawn there. Otherwise they stand in columns, by how many hops
    they are from the first end.

    Examples
    --------
    >>> laid_out(["a", "b", "c"], [(0, 1), (1, 2)], (0, 2)).round(2).tolist()
    [[0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]
    """
    if known is not None:
        places = np.array([(east, -north) for east, north in (known[node] for node in nodes)])
    else:
        places = _in_columns(len(nodes), edges, ends)
    low, high = places.min(axis=0), places.max(axis=0)
    wide = np.where(high - low > 0.02 * max(1e-9, float((high - low).max())), high - low, 0.0)
    return np.where(wide > 0, (places - low) / np.where(wide > 0, wide, 1.0), 0.5)


def _in_columns(count: int, edges: Sequence[tuple[int, int]], ends: tuple[int, int] | None) -> Floats:
    links, (first, last) = np.zeros((count, count)), ends or (0, None)
    for one, other in edges:
        links[one, other] = 1.0
    across: Floats = shortest_path(links, directed=False, unweighted=True, indices=first)
    across = np.where(np.isfinite(across), across, across[np.isfinite(across)].max() + 1)  # what no link leads to
    if last is not None:
        across[last] = across.max() + (np.sum(across == across.max()) > 1 or across[last] < across.max())
    down = np.zeros(count)
    for column in np.unique(across):
        (mine,) = np.nonzero(across == column)
        # Every other column a little lower, so that links between others do not run through its nodes.
        down[mine] = (np.arange(len(mine)) + 0.5 + 0.2 * (column % 2) * (len(mine) > 1)) / len(mine)
    return np.column_stack([across, down])


_MOST_NODES, _MOST_EDGES = 70, 260
_MOST_NAMED = 26  # nodes whose names all have room
_MOST_TILES, _MOST_ROWS = 36, 24
_ALL_TILES = 60  # up to so many, none is left out
_WIDTH, _HEIGHT, _MARGIN = 520, 330, 46
_USED = 0.005
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Bar:
    """A name with its number: `width` is in percent of the longest bar."""

    name: str
    number: str = ""
    width: float = 0.0
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A decision, ready to be shown.

    Attributes
    ----------
    kind
        "network", "slate", "ranking", "pairs", "shares", "amounts", or "parts".
    words
        The decision in one line.
    bars, others
        What is in the decision, and what is not (of a slate).
    more
        How many others there is no room for.
    svg
        Of a network.
    parts
        Of a product: names and drawings.
    """

    kind: str
    words: str
    bars: tuple[Bar, ...] = ()
    others: tuple[str, ...] = ()
    more: int = 0
    svg: str = ""
    parts: "tuple[tuple[str, Drawing], ...]" = ()


def draw_decision(domain: Domain, x: Vector, *, places: Places | None = None) -> Drawing:
    """Return a decision as people think of it.

    Parameters
    ----------
    domain, x
        The set, and a point of it.
    places
        Where the nodes of a network are, if that is known.

    Examples
    --------
    >>> import sottovoce as sv
    >>> drawn = draw_decision(sv.domains.Hypersimplex(["tea", "coffee", "cocoa"], k=2), np.array([1.0, 0.0, 1.0]))
    >>> drawn.kind, [one.name for one in drawn.bars], drawn.others
    ('slate', ['tea', 'cocoa'], ('coffee',))
    """
    chosen = domain.chosen(x)
    words = in_words(chosen)
    if isinstance(domain, Product):
        return _product(domain, x, chosen, words)
    edges = getattr(domain, "edges", None)
    if edges is not None and len(edges) == len(x) <= _MOST_EDGES:
        network = _network(domain, edges, np.asarray(x, dtype=np.float64), words, places)
        if network is not None:
            return network
    if isinstance(chosen, Mapping):
        return _mapping(chosen, words, choices=domain.chosen_as == "choices")
    if isinstance(domain, Permutahedron):
        shown = tuple(Bar(label_text(one)) for one in chosen[:_MOST_ROWS])
        return Drawing("ranking", words, shown, more=max(0, len(chosen) - _MOST_ROWS))
    return _slate(domain, chosen, words)


def _product(domain: Product, x: Vector, chosen: Any, words: str) -> Drawing:
    names = list(chosen) if isinstance(chosen, Mapping) else [f"part {i}" for i in range(1, len(domain.domains) + 1)]
    ends = np.cumsum([one.dimension for one in domain.domains])
    parts = (
        (label_text(name), draw_decision(one, np.asarray(x)[end - one.dimension : end]))
        for name, one, end in zip(names, domain.domains, ends, strict=True)
    )
    return Drawing("parts", words, parts=tuple(parts))


def _mapping(chosen: Mapping[Hashable, Any], words: str, *, choices: bool) -> Drawing:
    """Amounts, shares, or who gets what."""
    items, more = list(chosen.items())[:_MOST_ROWS], max(0, len(chosen) - _MOST_ROWS)
    if not all(isinstance(value, float) for _, value in items):
        return Drawing(
            "pairs", words, tuple(Bar(label_text(one), label_text(other)) for one, other in items), more=more
        )
    values = [float(value) for value in chosen.values()]
    shares = choices and _are_shares(values)
    if shares:
        items = sorted(chosen.items(), key=lambda one: -one[1])[:_MOST_ROWS]
    longest = max((abs(value) for value in values), default=0.0) or 1.0
    bars = tuple(
        Bar(
            label_text(name),
            f"{value:.0%}" if shares else significant(value),
            round(100 * abs(value) / longest, 1),
            negative=value < 0,
        )
        for name, value in items
    )
    return Drawing("shares" if shares else "amounts", words, bars, more=more)


def _are_shares(values: list[float]) -> bool:
    """Say whether numbers are parts of a whole, or of several."""
    inside = all(-_ROUNDING <= value <= 1 + _ROUNDING for value in values)
    return inside and math.isclose(sum(values), round(sum(values)), abs_tol=1e-6)


def _slate(domain: Domain, chosen: list[Hashable], words: str) -> Drawing:
    """What is shown, and faintly what is not."""
    names, inside = domain.coordinate_names, set(chosen)
    most = _ALL_TILES if len(names) <= _ALL_TILES else _MOST_TILES
    room = max(0, most - len(chosen))
    others = [label_text(name) for name in names[: room + len(chosen)] if name not in inside][:room]
    bars = tuple(Bar(label_text(one)) for one in chosen[:most])
    more = (len(chosen) if len(chosen) > most else len(names) - len(others)) - len(bars)
    return Drawing("slate", words, bars, tuple(others), more)


# ---------------------------------------------------------------------- networks


def _network(domain: Domain, edges: Any, x: Floats, words: str, known: Places | None) -> Drawing | None:
    """Draw all links faintly, and over them, as wide as they are used, those of the decision."""
    nodes = list(dict.fromkeys(node for edge in edges for node in edge[:2]))
    if len(nodes) > _MOST_NODES:
        return None
    number = {node: i for i, node in enumerate(nodes)}
    links = [(number[edge[0]], number[edge[1]]) for edge in edges]
    ends = [getattr(domain, name, None) for name in ("source", "target")]
    pair = (number[ends[0]], number[ends[1]]) if all(one in number for one in ends) else None
    places = laid_out(nodes, links, pair, known)
    at = np.column_stack(
        [_MARGIN + places[:, 0] * (_WIDTH - 2 * _MARGIN), _MARGIN / 2 + places[:, 1] * (_HEIGHT - 1.4 * _MARGIN)]
    )
    largest = float(np.abs(x).max()) or 1.0
    used = np.flatnonzero(np.abs(x) > _USED * largest)
    on_the_way = {node for link in used for node in links[link]} | set(pair or ())
    axes = sized(_WIDTH, _HEIGHT, 0, 0, 0, 0)
    axes.set(xlim=(0, _WIDTH), ylim=(_HEIGHT, 0))
    axes.set_axis_off()
    for one in dict.fromkeys(tuple(sorted(one)) for one in links):
        axes.plot(*at[list(one)].T, gid=".link")
    for link in used:
        _use(axes, at[list(links[link])], float(x[link]) / largest, edges[link], directed=pair is not None)
    for node, i in number.items():
        kind = "node end" if i in (pair or ()) else "node on" if i in on_the_way else "node"
        axes.plot(*at[i][:, None], "o", markersize=12 if kind == "node end" else 8, gid=f".{kind}")
        if len(nodes) <= _MOST_NAMED or i in on_the_way:
            _name_node(axes, at[i], shortened(_node_text(node), LETTERS_ON_AXIS), kind)
    words = _route(edges, used, x, ends) or words
    drawn = to_svg(axes, f"The decision on its network: {words}", kind="chart network")
    shares = tuple(Bar(label_text(edges[link][:2]), _share(float(x[link]))) for link in used[:_MOST_ROWS])
    mixed = any(one.number for one in shares)
    return Drawing("network", words, shares if mixed else (), svg=drawn)


def _share(value: float) -> str:
    return "" if abs(value - 1) < 1e-9 else f"{value:.0%}" if 0 < value < 1 else significant(value)


def _use(axes: Axes, ends: Floats, share: float, edge: Any, *, directed: bool) -> None:
    """Draw a link that is used, as wide as it is; where links have a direction, with an arrow."""
    wide = f"{2.2 + 4.0 * min(1.0, abs(share)):.1f}"
    axes.plot(*ends.T, gid=note(axes, "way", label_text(tuple(edge)), stroke_width=wide))
    if directed:
        way = (ends[1] - ends[0]) * [1, -1] / max(1e-9, float(np.linalg.norm(ends[1] - ends[0])))  # on the screen
        side, middle = np.array([-way[1], way[0]]), (ends[0] + 1.2 * ends[1]) / 2.2
        head = np.stack([way, -0.7 * way + 0.55 * side, -0.7 * way - 0.55 * side, way])
        axes.plot(*middle[:, None], linestyle="", marker=head, markersize=24, gid=".arrow")


def _route(edges: Any, used: Any, x: Floats, ends: list[Any]) -> str:
    """Return the nodes of a path in the order of travel; nothing if the decision is not one path."""
    if ends[0] is None or not np.allclose(x[used], 1.0):
        return ""
    after = {edges[link][0]: edges[link][1] for link in used}
    stops = [ends[0]]
    while stops[-1] in after and len(stops) <= len(used):
        stops.append(after[stops[-1]])
    whole = len(after) == len(used) == len(stops) - 1 and stops[-1] == ends[1]
    return " → ".join(map(_node_text, stops)) if whole else ""


def _node_text(node: Hashable) -> str:
    """Return the name of a node; one of several parts in parentheses, since arrows lead from node to node."""
    return f"({', '.join(map(label_text, node))})" if isinstance(node, tuple) else label_text(node)


def _name_node(axes: Axes, at: Floats, name: str, kind: str) -> None:
    """Write the name of a node below it, or above where there is no room; a long one must not leave the picture."""
    up = 20 if at[1] < _HEIGHT - 24 else -11
    anchor, across = "center", 0
    if not _MARGIN + 8 < at[0] < _WIDTH - _MARGIN - 8:
        anchor, across = ("left", -8) if at[0] < _WIDTH / 2 else ("right", 8)
    axes.text(at[0] + across, at[1] + up, name, horizontalalignment=anchor, gid=f".{kind}")


# ---------------------------------------------------------------------- decisions side by side


_BEST = "Best in hindsight", "The best fixed decision, which nobody knew beforehand"


def decide(
    domain: Domain, learned: Vector, best: Vector | None, *, who: str, places: Places | None = None
) -> dict[str, Any]:
    """Draw what was learned, next to what is best in hindsight: words, and pictures with titles and captions."""
    words = f"The last decision of the run ({who})."
    pictures = [("Learned", f"Learned: {who}", draw_decision(domain, learned, places=places))]
    if best is not None:
        distance = float(np.linalg.norm(learned - best))
        words = (
            f"The last decision of the run ({who}), and the best fixed one in hindsight. They are "
            f"{significant(distance)} apart; two feasible decisions are at most {significant(domain.diameter)} apart."
        )
        pictures.append((*_BEST, draw_decision(domain, best, places=places)))
    return {"words": words, "pictures": pictures}
