"""Real networks to decide on: one embedded, the rest of SNDlib from the optional package topohub.

SNDlib (Orlowski, Wessäly, Pióro, Tomaszewski, "SNDlib 1.0: Survivable Network Design Library", Networks 55, 2010) is a
collection of telecommunication networks. `nobel-germany` is copied here, with coordinates and distances as the topohub
package gives them, so that nothing needs to be installed. SNDlib's capacities are modules to be bought, not facts of
the network, and topohub leaves them out: problems that need capacities make their own.
"""

import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sottovoce._arrays import Floats, Integers, Vector
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


class Network(NamedTuple):
    """A connected network of places and links.

    Parameters
    ----------
    places : mapping
        Longitude and latitude of each place, or a place in the plane, by its name.
    links : tuple of pairs
        The names of both ends of each link; links have no direction.
    lengths : tuple of float
        Of each link: kilometres, where places are on the globe.

    Examples
    --------
    >>> germany = load_network("nobel-germany")
    >>> len(germany.places), len(germany.links), germany.links[0]
    (17, 26, ('Hannover', 'Berlin'))
    >>> round(germany.shortest()[0].max())  # kilometres along links
    790
    """

    places: Mapping[Any, tuple[float, float]]
    links: tuple[tuple[Any, Any], ...]
    lengths: tuple[float, ...]

    def shortest(self) -> tuple[Floats, Integers]:
        """Return the lengths of shortest routes between all places, and the place before the last one of each."""
        number = {name: i for i, name in enumerate(self.places)}
        ends = np.array([[number[a], number[b]] for a, b in self.links]).T
        lengths: Any = csr_array((np.array(self.lengths), (ends[0], ends[1])), shape=(len(number),) * 2)
        far, before = dijkstra(lengths, directed=False, return_predecessors=True)
        return np.asarray(far), before.astype(np.int64)

    def towards(self, source: str, target: str) -> list[tuple[str, str]]:
        """Return the ways from the source that come nearer to the target with every link: there is no cycle."""
        far = dict(zip(self.places, self.shortest()[0][list(self.places).index(target)], strict=True))
        ways = [way for a, b in self.links for way in ((a, b), (b, a)) if far[way[1]] < far[way[0]]]
        reached = {source}
        for tail, head in sorted(ways, key=lambda way: -far[way[0]]):  # farthest first
            reached |= {head} if tail in reached else set()
        return [way for way in ways if way[0] in reached]

    def loads(self, traffic: Vector) -> dict[tuple[Any, Any], Vector]:
        """Return the load of each link in each direction when all traffic takes shortest routes.

        `traffic` has shape (situations, places, places): how much each place sends to each other one.
        """
        names, (_, before) = list(self.places), self.shortest()
        found = {way: np.zeros(len(traffic)) for a, b in self.links for way in ((a, b), (b, a))}
        for source in range(len(names)):
            for target in range(len(names)):
                here = target
                while here != source:
                    last = int(before[source, here])
                    found[names[last], names[here]] += traffic[:, source, target]
                    here = last
        return found


@lru_cache(maxsize=32)
def load_network(name: str) -> Network:
    """Return a network by name.

    Parameters
    ----------
    name : str
        `nobel-germany`, which is always there, or another one of `SNDLIB`, which takes the package topohub.
    """
    if name == "nobel-germany":
        names = list(_GERMANY)
        links = tuple((names[a], names[b]) for a, b, _ in _GERMAN_LINKS)
        return Network(_GERMANY, links, tuple(length for *_, length in _GERMAN_LINKS))
    if name not in SNDLIB:
        raise ValueError(f"network must be one of {', '.join(SNDLIB)}, got {name!r}")
    topohub = load("topohub", f"network {name!r} (unlike nobel-germany)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # topohub 1.5 leaves its file to the garbage collector
        return _from_node_link(topohub.get(f"sndlib/{name}"))


def _from_node_link(found: Mapping[str, Any]) -> Network:
    names = {node["id"]: str(node["name"]) for node in found["nodes"]}
    return Network(
        {str(node["name"]): (float(node["pos"][0]), float(node["pos"][1])) for node in found["nodes"]},
        tuple((names[edge["source"]], names[edge["target"]]) for edge in found["edges"]),
        tuple(float(edge["dist"]) for edge in found["edges"]),
    )
