"""Real networks to decide on: one embedded, the rest of SNDlib from the optional package topohub.

SNDlib (Orlowski, Wessäly, Pióro, Tomaszewski, "SNDlib 1.0: Survivable Network Design Library", Networks 55, 2010) is a
collection of telecommunication networks. `nobel-germany` is copied here, with coordinates and distances as the topohub
package gives them, so that nothing needs to be installed. SNDlib's capacities are modules to be bought, not facts of
the network, and topohub leaves them out: problems that need capacities make their own.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from sottovoce._arrays import Floats, Vector
from sottovoce._extras import load

SNDLIB = (
    "abilene", "atlanta", "brain", "cost266", "dfn-bwin", "dfn-gwin", "di-yuan", "france", "geant", "germany50",
    "giul39", "india35", "janos-us", "janos-us-ca", "newyork", "nobel-eu", "nobel-germany", "nobel-us", "norway", "pdh",
    "pioro40", "polska", "sun", "ta1", "ta2", "zib54",
)  # fmt: skip
"""The networks that topohub holds of SNDlib; `nobel-germany` is there without it."""

_GERMANY = {
    "Hannover": (9.8, 52.39), "Frankfurt": (8.66, 50.14), "Hamburg": (10.08, 53.55), "Norden": (7.21, 53.6),
    "Bremen": (8.8, 53.08), "Berlin": (13.48, 52.52), "Muenchen": (11.55, 48.15), "Ulm": (9.99, 48.4),
    "Nuernberg": (11.08, 49.45), "Stuttgart": (9.12, 48.73), "Karlsruhe": (8.41, 49.01), "Mannheim": (8.49, 49.49),
    "Essen": (7.0, 51.44), "Dortmund": (7.48, 51.51), "Duesseldorf": (6.78, 51.22), "Koeln": (7.01, 50.92),
    "Leipzig": (12.38, 51.34),
}  # fmt: skip
_GERMAN_LINKS = (
    (0, 5, 249.82), (0, 4, 102.1), (0, 13, 186.74), (0, 1, 262.53), (0, 2, 130.38), (0, 16, 212.21), (1, 15, 145.38),
    (1, 16, 293.85), (1, 11, 73.32), (1, 8, 189.94), (2, 5, 254.6), (2, 4, 99.83), (3, 4, 120.39), (3, 13, 233.18),
    (5, 16, 151.38), (6, 8, 148.64), (6, 7, 118.78), (7, 9, 73.81), (8, 16, 229.53), (8, 9, 163.68), (9, 10, 60.56),
    (10, 11, 53.7), (12, 13, 34.15), (12, 14, 28.85), (13, 15, 73.34), (14, 15, 37.04),
)  # fmt: skip


class Directed(NamedTuple):
    """Links given a direction, for an s-t pair: arc i runs along link `links[i]`; arcs are in topological order."""

    arcs: tuple[tuple[int, int], ...]
    links: tuple[int, ...]


@dataclass(frozen=True)
class Network:
    """A network of places and links.

    Parameters
    ----------
    name : str
    nodes : tuple of str
        Names of the places.
    positions : tuple of pairs
        Longitude and latitude of each, or a place in the plane.
    links : tuple of pairs
        Both ends of each link, by number; links have no direction.
    lengths : tuple of float
        Of each link: kilometres, where positions are on the globe.

    Examples
    --------
    >>> from sottovoce.lab.problems._networks import load_network
    >>> germany = load_network("nobel-germany")
    >>> len(germany.nodes), len(germany.links)
    (17, 26)
    >>> germany.edges[0]
    ('Hannover', 'Berlin')
    >>> round(germany.distances().max())  # kilometres along links
    790
    """

    name: str
    nodes: tuple[str, ...]
    positions: tuple[tuple[float, float], ...]
    links: tuple[tuple[int, int], ...]
    lengths: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(set(self.nodes)) < len(self.nodes) or len(self.positions) != len(self.nodes):
            raise ValueError(f"network {self.name!r} must have a name of its own and a position for every node")
        if len(self.lengths) != len(self.links) or not all(length > 0 for length in self.lengths):
            raise ValueError(f"network {self.name!r} must have a positive length for every link")
        if connected_components(self._adjacency(), directed=False)[0] != 1:
            raise ValueError(f"network {self.name!r} must be connected")

    def __repr__(self) -> str:
        return f"Network({self.name!r}, {len(self.nodes)} nodes, {len(self.links)} links)"

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Names of both ends of every link: what `sottovoce.domains.SpanningTrees` takes."""
        return tuple((self.nodes[a], self.nodes[b]) for a, b in self.links)

    def number(self, argument: str, node: Any) -> int:
        """Return the number of a node by its name, or list the names."""
        if node not in self.nodes:
            raise ValueError(f"{argument} must be a node of {self.name} ({', '.join(self.nodes)}), got {node!r}")
        return self.nodes.index(node)

    def distances(self) -> Floats:
        """Return the lengths of shortest routes between all nodes."""
        return np.asarray(dijkstra(self._adjacency(), directed=False), dtype=np.float64)

    def routes(self) -> dict[tuple[int, int], list[int]]:
        """Return the nodes of a shortest route for every ordered pair of nodes."""
        before = dijkstra(self._adjacency(), directed=False, return_predecessors=True)[1]
        return {
            (source, target): _walk_back(before[source], source, target)
            for source in range(len(self.nodes))
            for target in range(len(self.nodes))
            if source != target
        }

    def loads(self, arcs: tuple[tuple[int, int], ...], traffic: Vector) -> Vector:
        """Return the load of each arc when all traffic takes shortest routes.

        `traffic` has shape (situations, nodes, nodes): how much each node sends to each other one.
        """
        number = {arc: i for i, arc in enumerate(arcs)}
        result = np.zeros((len(traffic), len(arcs)))
        for (source, target), route in self.routes().items():
            for arc in pairwise(route):
                if arc in number:
                    result[:, number[arc]] += traffic[:, source, target]
        return result

    def towards(self, source: int, target: int) -> Directed:
        """Direct the links so that traffic from source comes nearer to target with every hop; drop the others.

        Nearer is by shortest distance (equals by number), so there is no cycle: `sottovoce.domains.Paths` takes it.
        """
        far = self.distances()[target]
        rank = np.lexsort((np.arange(len(self.nodes)), far)).argsort()
        reached, kept = {source}, {}
        for node in np.argsort(-rank).tolist():  # farthest first: who sends to a node has been seen before it
            for link, (a, b) in enumerate(self.links):
                if node in (a, b) and node in reached and rank[other := a + b - node] < rank[node]:
                    reached.add(other)
                    kept[link] = (node, other)
        return Directed(tuple(kept.values()), tuple(kept))

    def _adjacency(self) -> Any:
        ends = np.array(self.links, dtype=np.intp).T
        return csr_array((np.array(self.lengths), (ends[0], ends[1])), shape=(len(self.nodes),) * 2)


def _walk_back(before: NDArray[np.int32], source: int, target: int) -> list[int]:
    route = [target]
    while route[-1] != source:
        route.append(int(before[route[-1]]))
    return route[::-1]


@lru_cache(maxsize=32)
def load_network(name: str) -> Network:
    """Return a network by name.

    Parameters
    ----------
    name : str
        `nobel-germany`, which is always there, or another one of `SNDLIB`, which takes the package topohub.

    Examples
    --------
    >>> load_network("nobel-germany")
    Network('nobel-germany', 17 nodes, 26 links)
    """
    if name == "nobel-germany":
        ends, lengths = tuple((a, b) for a, b, _ in _GERMAN_LINKS), tuple(length for *_, length in _GERMAN_LINKS)
        return Network(name, tuple(_GERMANY), tuple(_GERMANY.values()), ends, lengths)
    if name not in SNDLIB:
        raise ValueError(f"network must be one of {', '.join(SNDLIB)}, got {name!r}")
    topohub = load("topohub", f"network {name!r} (unlike nobel-germany)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # topohub 1.5 leaves its file to the garbage collector
        found = topohub.get(f"sndlib/{name}")
    return _from_node_link(name, found)


def _from_node_link(name: str, found: Mapping[str, Any]) -> Network:
    number = {node["id"]: i for i, node in enumerate(found["nodes"])}
    return Network(
        name,
        tuple(str(node["name"]) for node in found["nodes"]),
        tuple((float(node["pos"][0]), float(node["pos"][1])) for node in found["nodes"]),
        tuple((number[edge["source"]], number[edge["target"]]) for edge in found["edges"]),
        tuple(float(edge["dist"]) for edge in found["edges"]),
    )
