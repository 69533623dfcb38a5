"""Where the nodes of a network are drawn, if nobody says: as far apart as they are by hops, the same every time."""

from collections.abc import Hashable, Sequence
from numbers import Real

import numpy as np
from scipy.sparse.csgraph import shortest_path

from sottovoce._arrays import Floats

__all__ = ["laid_out"]

_SWEEPS = 150
_APART = 0.5  # hops that parts of a network without a link between them keep beyond its width


def laid_out(
    nodes: Sequence[Hashable], edges: Sequence[tuple[int, int]], ends: tuple[int, int] | None = None
) -> Floats:
    """Return a place for each node, in [0, 1] by [0, 1]; `ends` go to the left and to the right.

    Nodes whose names are pairs of numbers are drawn there. Otherwise the stress of the drawing is made small: the sum
    of (distance - hops)^2/hops^2 over all pairs, by majorisation (Gansner, Koren and North), from the principal
    coordinates of the hops.

    Examples
    --------
    >>> laid_out(["a", "b", "c"], [(0, 1), (1, 2)], (0, 2)).round(2).tolist()
    [[0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]
    """
    places = _named_places(nodes)
    if places is None:
        places = _turned(_relaxed(_hops(len(nodes), edges)), ends)
    low, high = places.min(axis=0), places.max(axis=0)
    wide = np.where(high - low > 0.02 * max(1e-9, float((high - low).max())), high - low, 0.0)
    return np.where(wide > 0, (places - low) / np.where(wide > 0, wide, 1.0), 0.5)


def _named_places(nodes: Sequence[Hashable]) -> Floats | None:
    pairs = [one for one in nodes if isinstance(one, tuple) and len(one) == 2 and all(isinstance(x, Real) for x in one)]
    if len(pairs) < len(nodes):
        return None
    rows = np.array([[float(column), float(row)] for row, column in pairs])
    return rows if np.isfinite(rows).all() else None


def _hops(count: int, edges: Sequence[tuple[int, int]]) -> Floats:
    links = np.zeros((count, count))
    for one, other in edges:
        links[one, other] = 1.0
    found: Floats = shortest_path(links, directed=False, unweighted=True)
    finite = np.isfinite(found)
    return np.where(finite, found, found[finite].max() + 1 + _APART)


def _relaxed(hops: Floats) -> Floats:
    count = len(hops)
    if count < 3:
        return np.column_stack([np.arange(count, dtype=np.float64), np.zeros(count)])
    places = _principal(hops)
    weights = 1 / np.maximum(hops, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_SWEEPS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = -weights * hops / np.maximum(apart, 1e-6)
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        places = inverse @ (pull @ places)
    return np.asarray(places)


def _principal(hops: Floats) -> Floats:
    centred = hops**2 - (hops**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-(centred - centred.mean(axis=1, keepdims=True)) / 2)
    axes = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(values[-1:-3:-1], 1e-3))
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # a vector's sign is the machine's business
    twist = 1e-3 * np.column_stack([np.arange(len(hops)) % 3, np.arange(len(hops)) % 5])  # nodes in the same place part
    return np.asarray(axes * np.where(signs == 0, 1.0, signs) + twist)


def _turned(places: Floats, ends: tuple[int, int] | None) -> Floats:
    """Turn a drawing so that its ends lie on a level; without any, its longest side."""
    if ends is not None:
        way = places[ends[1]] - places[ends[0]]
    else:
        way = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)[2][0]
        way = way * (1.0 if way[np.abs(way).argmax()] > 0 else -1.0)
    size = float(np.linalg.norm(way))
    if size < 1e-9:
        return places
    cos, sin = way / size
    return np.asarray(places @ np.array([[cos, -sin], [sin, cos]]))
