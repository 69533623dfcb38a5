"""Sets small enough to be listed: against all of their vertices, all of their inequalities, and HiGHS."""

import itertools
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import pytest
from scipy.linalg import qr
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Birkhoff, Hypersimplex, Matchings, MatroidBases, Paths, Permutahedron, SpanningTrees
from sottovoce.domains.matroids import Graphic, Laminar, Partition


@dataclass(frozen=True, eq=False)
class Listed:
    """A set {rows x <= limits, equal x = right} and its vertices; `exact` names the radii that are no mere bounds."""

    domain: object
    vertices: np.ndarray
    rows: np.ndarray
    limits: np.ndarray
    equal: np.ndarray
    right: np.ndarray
    exact: tuple = ("outer_radius", "diameter", "inner_radius")
    scale: float = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "scale", float(np.ptp(self.vertices, axis=0).max()))

    def around(self, center):
        """The same system for (x - center)/scale: solvers have absolute tolerances, and want a set of size 1."""
        limits, right = ((side - rows @ center) / self.scale for rows, side in self.system())
        return self.rows, limits, self.equal, right

    def system(self):
        return (self.rows, self.limits), (self.equal, self.right)


def listed(domain, vertices, above=(), limits=(), equal=(), right=(), *, positive=True, **known):
    """Add x >= 0, and leave out equations that follow from others."""
    n = domain.dimension
    above, equal = (np.array(rows, dtype=float).reshape(-1, n) for rows in (above, equal))
    if positive:
        above, limits = np.vstack((above, -np.eye(n))), np.append(limits, np.zeros(n))
    if len(equal):
        triangle, order = qr(equal.T, mode="r", pivoting=True)[-2:]
        kept = order[: np.count_nonzero(np.abs(np.diag(triangle)) > 1e-9)]
        equal, right = equal[kept], np.asarray(right, dtype=float)[kept]
    return Listed(domain, np.unique(vertices, axis=0), above, np.asarray(limits, dtype=float), equal, right, **known)


def subsets(n, least=0):
    return [chosen for size in range(least, n + 1) for chosen in itertools.combinations(range(n), size)]


def indicators(sets, n):
    return np.array([[float(e in chosen) for e in range(n)] for chosen in sets])


def of_matroid(matroid):
    n = matroid.ground_size
    good = [set(chosen) for chosen in subsets(n) if matroid.independent(list(chosen))]
    ranks = {chosen: max(len(one) for one in good if one <= set(chosen)) for chosen in subsets(n, 1)}
    rank = ranks[tuple(range(n))]
    exact = ("outer_radius", "inner_radius") if isinstance(matroid, Partition) else ("outer_radius",)
    bases, whole = [one for one in good if len(one) == rank], (np.ones((1, n)), [rank])
    above = (indicators(ranks, n), list(ranks.values()))
    return listed(MatroidBases(matroid), indicators(bases, n), *above, *whole, exact=exact)


def of_weights(weights):
    n, falling = len(weights), sorted(weights, reverse=True)
    sets, vertices = subsets(n, 1)[:-1], list(itertools.permutations(weights))
    limits = [sum(falling[: len(chosen)]) for chosen in sets]
    whole = (np.ones((1, n)), [sum(weights)])
    return listed(Permutahedron(weights), vertices, indicators(sets, n), limits, *whole, positive=False)


def of_assignments(n):
    vertices = [np.eye(n)[list(order)].ravel() for order in itertools.permutations(range(n))]
    lines = np.vstack((np.kron(np.eye(n), np.ones((1, n))), np.kron(np.ones((1, n)), np.eye(n))))
    return listed(Birkhoff(n), vertices, equal=lines, right=np.ones(2 * n))


def of_matchings(*case):
    domain = Matchings(*case)
    left = [[float(a == i) for a, _ in domain.pairs] for i in range(domain.left)]
    sums = np.array(left + [[float(b == j) for _, b in domain.pairs] for j in range(domain.right)])
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=domain.dimension)))
    exact = ("outer_radius", "inner_radius")
    return listed(domain, rows[(rows @ sums.T <= 1).all(axis=1)], sums, np.ones(len(sums)), exact=exact)


def of_graph(edges):
    """Edmonds' description: x(E) = n - 1, and x(E[S]) <= |S| - 1 for every set S of two nodes or more."""
    nodes = list({node for edge in edges for node in edge})
    found = (chosen for chosen in itertools.combinations(range(len(edges)), len(nodes) - 1))
    trees = [chosen for chosen in found if nx.is_connected(graph_of(nodes, edges, chosen))]
    sets = [part for size in range(2, len(nodes)) for part in itertools.combinations(nodes, size)]
    rows = [[float(a in part and b in part) for a, b in edges] for part in sets]
    whole = (np.ones((1, len(edges))), [len(nodes) - 1.0])
    limits, exact = [len(part) - 1.0 for part in sets], ("outer_radius",)
    return listed(SpanningTrees(edges), indicators(trees, len(edges)), rows, limits, *whole, exact=exact)


def graph_of(nodes, edges, chosen):
    graph = nx.MultiGraph([edges[i] for i in chosen])
    graph.add_nodes_from(nodes)
    return graph


def of_network(seed, nodes=8):
    """Edges in random order, some parallel, some on no path from 0 to the last node; paths by plain recursion."""
    rng = np.random.default_rng(seed)
    names = [0, *(1 + rng.permutation(nodes - 2)), nodes - 1]
    pairs = [pair for pair in itertools.combinations(range(nodes), 2) if rng.random() < 0.45]
    pairs += [(0, nodes - 1), *pairs[:2]]
    rng.shuffle(pairs)
    edges, found = [(int(names[a]), int(names[b])) for a, b in pairs], []

    def walk(node, taken):
        if node == nodes - 1:
            found.append(taken)
        for i, (tail, head) in enumerate(edges):
            if tail == node:
                walk(head, {*taken, i})

    walk(0, set())
    balance = [[float(a == node) - float(b == node) for a, b in edges] for node in range(nodes)]
    right = [float(node == 0) - float(node == nodes - 1) for node in range(nodes)]
    paths, exact = Paths(edges, source=0, target=nodes - 1), ("outer_radius", "inner_radius")
    return listed(paths, indicators(found, len(edges)), equal=balance, right=right, exact=exact)


LOOSE = [(0, 1), (1, 2), (2, 0), (0, 1), (2, 3), (3, 3), (3, 4)]  # parallel edges, a bridge, a loop, another bridge
MATROIDS = [
    Partition([1, 0, 0, 1, 1, 2, 3], [1, 2, 1, 0]),
    Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}, {5, 6}], [2, 3, 1], ground_size=8),
    Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}], [1, 3]),  # the outer set is full whenever the inner one is
    Graphic(LOOSE),
]
WEIGHTS = [
    [1.0, 2.0, 3.0, 4.0],
    [0.0, 0.0, 1.0, 1.0, 5.0],  # ties
    [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0],  # its nearest facets are those of half of the items
    [1e6, 1e6 + 1.0, 1e6 + 3.0],
    [1e-6, 2e-6, 5e-6, 5e-6],
    [0.0, 1.0],
]
PAIRS = [
    (2, 3),
    (1, 1),
    (1, 4),
    (3, 3, [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]),
    (4, 3, [(3, 2), (0, 2), (3, 0), (0, 0), (2, 0)]),
]
GRAPHS = [
    list(itertools.combinations(range(5), 2)),
    [(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 0)],
    [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6), (6, 3), (6, 7)],
    [(0, i) for i in range(1, 6)] + [(i, i % 5 + 1) for i in range(1, 6)],
    [("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("a", "c")],
]
MAKERS = [
    *(lambda one=one: of_matroid(one) for one in MATROIDS),
    *(lambda weights=weights: of_weights(weights) for weights in WEIGHTS),
    *(lambda n=n: of_assignments(n) for n in (2, 3, 4)),
    *(lambda case=case: of_matchings(*case) for case in PAIRS),
    *(lambda edges=edges: of_graph(edges) for edges in GRAPHS),
    *(lambda seed=seed: of_network(seed) for seed in range(1, 6)),
    lambda: listed(
        Hypersimplex(6, 4), indicators(itertools.combinations(range(6), 4), 6), np.eye(6), np.ones(6), np.ones(6), [4.0]
    ),
]
every_set = every("make", MAKERS)


def costs(n):
    rng = np.random.default_rng(0)
    yield from rng.standard_normal((12, n))
    yield from rng.integers(-1, 2, (12, n)).astype(float)  # ties and zeros
    yield from (np.zeros(n), np.ones(n), -np.ones(n), 1e-300 * np.arange(n))


def is_listed(one, points):
    """Whether points are vertices, up to rounding."""
    apart = np.abs(np.unique(points, axis=0)[:, None] - one.vertices).max(axis=2).min(axis=1)
    return apart.max() <= 1e-9 * one.scale + 1e-14 * np.abs(one.vertices).max()


@every_set
def test_the_oracle_finds_the_best_of_all_vertices_and_what_highs_finds(make):
    one = make()
    domain, middle = one.domain, one.domain.center
    for cost in costs(domain.dimension):
        answer = domain.extreme_point(cost)
        assert is_listed(one, answer[None])
        slack = 1e-9 * one.scale * max(np.abs(cost).max(), 1e-300) * len(cost)
        assert cost @ (answer - middle) == pytest.approx(((one.vertices - middle) @ cost).min(), abs=slack)
        solved = linprog(cost, *one.around(middle), bounds=(None, None)).fun
        assert cost @ (answer - middle) / one.scale == pytest.approx(solved, rel=1e-7, abs=1e-7)


@every_set
def test_radii_and_dimensions_are_those_of_all_vertices_and_facets(make):
    one = make()
    domain, vertices = one.domain, one.vertices
    assert domain.affine_dimension == np.linalg.matrix_rank((vertices - vertices[0]) / one.scale, tol=1e-9)
    found = {
        "outer_radius": np.linalg.norm(vertices - domain.center, axis=1).max(),
        "diameter": np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max(),
    }
    for name, value in found.items():
        assert value <= getattr(domain, name) * (1 + 1e-9), name
        assert name not in one.exact or value == pytest.approx(getattr(domain, name)), name
    # Rows that are constant on the affine hull are no facets; the others bound a ball around a centre within it.
    lengths = np.linalg.norm(domain.tangent(one.rows), axis=1)
    facet = lengths > 1e-6
    rows, limits, _, _ = one.around(domain.center)
    room = (limits[facet] / lengths[facet]).min()
    assert domain.inner_radius / one.scale <= room * (1 + 1e-6)
    if "inner_radius" not in one.exact:
        assert domain.inner_radius > 0.1 * room * one.scale
        return
    n, flat = domain.dimension, np.eye(domain.dimension) - domain.tangent(np.eye(domain.dimension))
    best = linprog(
        np.append(np.zeros(n), -1.0),
        np.column_stack((rows, lengths))[facet],
        limits[facet],
        np.column_stack((flat, np.zeros(n))),
        np.zeros(n),
        bounds=(None, None),
    )
    assert domain.inner_radius / one.scale == pytest.approx(-best.fun, rel=1e-6)


@every_set
def test_contains_is_all_inequalities(make):
    one = make()
    domain, rng, seen = one.domain, np.random.default_rng(4), set()
    for _ in range(30):
        point = rng.dirichlet(np.full(len(one.vertices), 0.3)) @ one.vertices
        point = domain.center + rng.choice([0.9, 1.0, 1.3, 3.0]) * (point - domain.center)
        inside = bool((one.around(point)[1] >= -1e-8).all())
        assert domain.contains(point, tolerance=1e-7 * one.scale) == inside
        seen.add(inside)
        beside = point + 1e-2 * one.scale
        assert (
            not len(one.equal)
            or not np.abs(one.equal.sum(axis=1)).any()
            or not domain.contains(beside, 1e-5 * one.scale)
        )
    assert True in seen
    assert False in seen or domain.affine_dimension == 0


@every_set
def test_rounding_draws_vertices_with_the_right_mean(make):
    """Hoeffding: fewer than 1000 coordinates in all, each off by more with probability 1e-9 at most."""
    one = make()
    domain, rng, draws = one.domain, np.random.default_rng(6), 4000
    slack = np.ptp(one.vertices, axis=0) * np.sqrt(np.log(2e9) / (2 * draws)) + 1e-5 * one.scale
    for x in (rng.dirichlet(np.full(len(one.vertices), 0.3)) @ one.vertices, domain.center, one.vertices[0]):
        drawn = domain.round(x, rng, size=draws)
        assert is_listed(one, drawn)
        assert (np.abs(drawn.mean(axis=0) - x) <= slack).all()
