"""Each family's own facts: sets that are another one in disguise, closed forms, and what constructors refuse."""

import math

import networkx as nx
import numpy as np
import pytest

from sampling import every
from sottovoce.domains import (
    Ball,
    Birkhoff,
    Box,
    ConvexHull,
    Custom,
    Flows,
    Hypersimplex,
    Matchings,
    MatroidBases,
    NuclearBall,
    Paths,
    Permutahedron,
    Polytope,
    Product,
    Rounded,
    Simplex,
    SpanningTrees,
    check_domain,
)
from sottovoce.domains.matroids import Graphic, Laminar, Partition
from sottovoce.errors import DomainError

RING = [(i, (i + 1) % 5) for i in range(5)]
ALIKE = [
    (Simplex(5), Hypersimplex(5, 1)),
    (NuclearBall(1, 4, 3.0), Ball(4, 3.0)),
    (SpanningTrees(RING), Hypersimplex(5, 4)),
    (Matchings(3, 3, [(0, 2), (1, 0), (2, 1)]), Box(0, 1, 3)),
    (Product([Box([0.0], [2.0]), Box([-1.0, 5.0], [1.0, 9.0])]), Box([0.0, -1.0, 5.0], [2.0, 1.0, 9.0])),
    (
        Paths(np.array([[3, 5], [5, 9], [3, 9]]), source=3, target=9),
        Paths([("a", "b"), ("b", "c"), ("a", "c")], source="a", target="c"),
    ),
]


@every("one, other", ALIKE)
def test_sets_that_are_another_in_disguise(one, other):
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name
    np.testing.assert_allclose(one.center, other.center, atol=1e-12)
    for cost in np.random.default_rng(0).standard_normal((20, one.dimension)):
        np.testing.assert_allclose(one.extreme_point(cost), other.extreme_point(cost), atol=1e-12)


POINTS = [
    (Box([1.0, 2.0], [1.0, 2.0]), [1.0, 2.0]),
    (Custom(lambda cost: np.array([1.0, 2.0]), 2), [1.0, 2.0]),
    (Polytope(A_eq=[[1.0, 1.0], [1.0, -1.0]], b_eq=[2.0, 0.0]), [1.0, 1.0]),
    (Paths([(0, 1), (1, 2), (1, 3)], source=0, target=2), [1, 1, 0]),
    (Paths([(0, 1), (5, 6), (6, 5), (1, 5), (1, 2)], source=0, target=2), [1, 0, 0, 0, 1]),  # cycles off the way
    (SpanningTrees([("a", "b"), ("b", "c")]), [1.0, 1.0]),
    (Flows([(0, 1), (0, 1), (1, 2)], source=0, target=2, value=5, capacities=[2, 3, 9]), [2, 3, 5]),
]


@every("domain, point", POINTS)
def test_a_single_point_is_a_set_without_room(domain, point):
    assert (domain.affine_dimension, domain.inner_radius) == (0, 0.0)
    assert domain.outer_radius == pytest.approx(0.0, abs=1e-7)
    assert domain.diameter == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(domain.center, point, atol=1e-9)
    np.testing.assert_allclose(domain.tangent(np.ones((3, len(point)))), 0.0, atol=1e-9)
    np.testing.assert_allclose(domain.round(point, np.random.default_rng(0), 2), [point] * 2, atol=1e-9)
    assert domain.contains(point)
    assert not domain.contains(np.add(point, np.eye(len(point))[-1] / 10))


def random_dag(seed, nodes=8, chance=0.45):
    """Edges in random order, some of them parallel, some of them on no path from 0 to the last node."""
    rng = np.random.default_rng(seed)
    names = [0, *(1 + rng.permutation(nodes - 2)), nodes - 1]
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes) if rng.random() < chance]
    pairs += [(0, nodes - 1), *pairs[:2]]
    rng.shuffle(pairs)
    return [(int(names[a]), int(names[b])) for a, b in pairs]


FORK = Paths([(0, 1), (0, 1), (1, 2), (1, 3), (3, 2)], source=0, target=2)
TINY = 1e-9


@every(
    "domain, good, bad",
    [
        (Hypersimplex(3, 1), [[1.0 + TINY, -TINY, 0.0]], [[1.0 + 1e-3, -1e-3, 0.0]]),
        (Birkhoff(2), [[1 + TINY, -TINY, 0.0, 1.0]], [[0.6, 0.5, 0.4, 0.5], [1.1, -0.1, -0.1, 1.1]]),
        (Permutahedron(3), [[1 - TINY, 3 + TINY, 2.0], [2.0, 2.0, 2 + TINY]], [[0.9, 3.0, 2.1], [1.0, 3.01, 1.99]]),
        (FORK, [[0.5 + TINY, 0.5 - 2e-9, 1 + TINY, -TINY, 1e-12]], [[0.6, 0.5, 1, 0, 0], [0.5, 0.5, 0.5, 0.4, 0.4]]),
        (NuclearBall(2, 2), [[0.6, 0.0, 0.0, 0.4 + TINY]], [[0.6, 0.0, 0.0, 0.5]]),
        (Ball(3), [[0.0, 0.0, 1.0 + TINY]], [[0.0, 0.0, 1.0 + 1e-3]]),
        (Product([Box([7.0], [7.0]), Box([0.0], [4.0])]), [[7.0 + 1e-15, 1.0]], [[7.1, 1.0]]),
    ],
)
def test_rounding_forgives_rounding_errors_and_nothing_else(domain, good, bad):
    rng = np.random.default_rng(0)
    for x in good:
        assert all(domain.contains(one, 1e-8) for one in domain.round(x, rng, size=100))
    for x in bad:
        for method in (lambda x: domain.round(x, rng), domain.decompose):
            with pytest.raises(DomainError, match="away: project it first"):
                method(x)


def test_box_accepts_numbers_arrays_and_both_and_keeps_no_hold_on_them():
    for box in (Box(0, 1, dimension=3), Box([0, 0, 0], 1), Box(0.0, np.ones(3)), Box([0, 0, 0], [1, 1, 1], 3)):
        np.testing.assert_array_equal(box.extreme_point([1, -1, 1]), [0.0, 1.0, 0.0])
    low = np.zeros(2)
    box = Box(low, [1.0, 1.0])
    low[0] = 0.5
    assert box.low[0] == 0.0


# ---------------------------------------------------------------------- products


def test_parts_of_a_product_add_up_by_pythagoras_leave_room_to_each_other_and_are_rounded_independently():
    """Correlation of 10000 pairs of fair coins: beyond 0.06 with probability below 2 exp(-18)."""
    product, x = Product([Ball(2), Ball(2)]), np.array([1.3, 0.0, 0.0, 1.4])  # 0.3 and 0.4 away: 0.5 in all
    assert product.contains(x, 0.51 / 0.75)
    assert not product.contains(x, 0.49)
    assert not product.contains(x, 0.41)
    with_a_point = Product([Box([7.0], [7.0]), Box([0.0], [4.0])])
    assert (with_a_point.affine_dimension, with_a_point.inner_radius) == (1, 2.0)
    drawn = Product([Simplex(2), Simplex(2)]).round([0.5] * 4, np.random.default_rng(0), size=10_000)
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1]) < 0.06


# ---------------------------------------------------------------------- norm balls


def hard_matrices(rows, columns, rng):
    """Random ones, and such with ties, of low rank, with tiny gaps, zeros and widely spread singular values."""
    short = min(rows, columns)
    left, right = (np.linalg.qr(rng.standard_normal((size, short)))[0] for size in (rows, columns))
    spectra = [
        *(np.ones(short), np.r_[1.0, np.zeros(short - 1)], np.logspace(0, -200, short)),
        np.r_[1.0, 1.0 - 1e-9, np.full(short - 2, 0.5)],
    ]
    made = [(left * spectrum) @ right.T for spectrum in spectra]
    return [rng.standard_normal((rows, columns)), np.zeros((rows, columns)), np.eye(rows, columns), *made]


@every("shape", [(3, 5), (6, 2), (60, 45)])
def test_the_nuclear_oracle_finds_the_largest_singular_value(shape):
    domain = NuclearBall(*shape, radius=2.0)
    for matrix in hard_matrices(*shape, np.random.default_rng(0)):
        vertex = domain.extreme_point(matrix.ravel())
        largest = np.linalg.svd(matrix, compute_uv=False)[0]
        assert matrix.ravel() @ vertex == pytest.approx(-2.0 * largest, rel=1e-9, abs=1e-300)
        values = np.linalg.svd(vertex.reshape(shape), compute_uv=False)
        assert values[0] == pytest.approx(2.0)
        assert (values[1:] < 1e-12).all()


# ---------------------------------------------------------------------- paths and trees


def test_costs_whose_sums_overflow_still_get_a_path():
    domain = Paths(random_dag(2), source=0, target=7)
    for cost in np.random.default_rng(0).choice([-1.7e308, 1.7e308], size=(20, domain.dimension)):
        path = domain.extreme_point(cost)
        assert set(path) == {0.0, 1.0}
        assert domain.contains(path)
    chain = Paths([(0, 1), (1, 2), (2, 3), (3, 4)], source=0, target=4)
    np.testing.assert_array_equal(chain.extreme_point(np.full(4, 1.7e308)), np.ones(4))


def test_a_large_grid_has_its_geometry_in_reach():
    """60 x 60 nodes. Every flow crosses each antidiagonal, so some edge carries at most 1/118 of it."""
    side = 60
    graph = nx.grid_2d_graph(side, side, create_using=nx.DiGraph)
    graph.remove_edges_from([(a, b) for a, b in graph.edges if a > b])
    domain = Paths(graph, source=(0, 0), target=(side - 1, side - 1))
    assert domain.affine_dimension == (side - 1) ** 2
    assert 0.99 / 118 < domain.inner_radius <= 1 / 118 * 1.5
    assert domain.contains(domain.center)
    assert domain.diameter == pytest.approx(math.sqrt(2 * 2 * (side - 1)))
    direction = domain.tangent(np.random.default_rng(0).standard_normal(domain.dimension))
    assert domain.contains(domain.center + domain.inner_radius * direction / np.linalg.norm(direction))
    steps = domain.round(domain.center, np.random.default_rng(0), size=10).sum(axis=1)
    np.testing.assert_array_equal(steps, 2 * (side - 1))


# ---------------------------------------------------------------------- what constructors refuse

CYCLE = [("s", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "t")]
LINE, LOOP = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 1)]
NAN = math.nan
NO_WEIGHTS = [[1.0], 1, [2.0, 2.0], [], [[1.0, 2.0]], [1.0, NAN], ["a", 1.0]]
NO_GRAPHS = [3, None, [1, 2], [(1, 2, 3)], np.ones(4), [([1], [2])], "ab"]
ISOLATED = [nx.Graph, nx.MultiGraph]


def alone(kind):
    """A graph with a node that no edge joins: it counts too."""
    graph = kind([(0, 1)])
    graph.add_node(7)
    return graph


WRONG = [
    (lambda: Box([0.0, 2.0], [1.0, 1.0]), "empty: low 2 is above high 1 at coordinate 1"),
    (lambda: Box(0.0, 1.0), "dimension must be given"),
    (lambda: Hypersimplex(5, 5), "k must be at least 1 and at most 4"),
    (lambda: Custom([1.0, 2.0], 2), "oracle must be a function"),
    (lambda: Product([]), "at least one domain"),
    (lambda: Product([Simplex(2), 3]), r"domains\[1\] must be a Domain, got 3"),
    (lambda: Rounded(Box([1.0, 2.0], [1.0, 2.0])), "a single point"),
    (lambda: Rounded(lambda cost: cost), "domain must be a Domain"),
    (lambda: check_domain(lambda cost: cost), "domain must be a Domain"),
    *((lambda weights=weights: Permutahedron(weights), "weights|string") for weights in NO_WEIGHTS),
    *((lambda bad=bad: ConvexHull(bad), "points must") for bad in ([1.0, 2.0], [], [[NAN, 1.0]], np.zeros((2, 2, 2)))),
    # names
    (lambda: Hypersimplex("tea", 1), "n must be a whole number or a list of names"),
    (lambda: Hypersimplex(["tea"], 1), "at least 2"),
    (lambda: Box(0.0, [1.0, 2.0], ["tea", "milk", "juice"]), "low|high"),
    (lambda: Birkhoff(["ann", "bob"], ["early"]), "columns"),
    (lambda: Birkhoff(2, labels=["ann", "bob", "eve"]), "two lists of names"),
    (lambda: Product({"": Ball(2)}), "names of domains"),
    (lambda: Laminar([{"tee"}], [1], ["tea"]), "'tee' is none"),
    (lambda: Rounded(Ball(2)).labelled(["a", "b"]), "name what it is made of"),
    (lambda: Ball(2).chosen_at([2]), "from 0 to 1"),
    # rankings
    (lambda: Matchings(2, 2, [(0, 0), (0, 2)]), r"pairs must be \(0 to 1, 0 to 1\), got \(0, 2\)"),
    (lambda: Matchings(2, 2, [(0, 0), (1, 1), (0, 0)]), r"distinct, but \(0, 0\) is there twice"),
    (lambda: Matchings(2, 2, []), "whole numbers of shape"),
    # matroids and set functions
    (lambda: Partition([], 1), "number of elements in groups must be at least 1"),
    (lambda: Partition([0, 1], [1]), "capacities must be one number or 2"),
    (lambda: Partition([0, 1], {0: 1}), "exactly the groups"),
    (lambda: Laminar([{0, 1}, {1, 2}], [1, 1]), r"\[1, 2\] and \[0, 1\] are neither"),
    (lambda: Laminar([{0, 1}], [1, 1]), "capacities must be 1 numbers"),
    (lambda: Laminar([{0, 5}], [1], ground_size=3), "family must hold elements of the ground set, and 5 is none"),
    (lambda: Graphic(nx.DiGraph([(0, 1)])), "undirected"),
    (lambda: Partition([0, 0, 0], 1).independent([3]), "elements from 0 to 2, got 3"),
    (lambda: MatroidBases(lambda mask: True), "matroid must come from"),
    # graphs
    (lambda: Paths(CYCLE, source="s", target="t"), "no directed cycle here, but has 'a' -> 'b' -> 'c' -> 'a'"),
    (lambda: Paths([(0, 1), (1, 1), (1, 2)], source=0, target=2), "no directed cycle here, but has 1 -> 1"),
    (lambda: Paths(CYCLE, source="q", target="t"), r"source must be a node of the graph \('s', 'a'.*, got 'q'"),
    (lambda: Paths(CYCLE, source="s", target="s"), "must be two nodes, got 's' for both"),
    (lambda: Paths([(0, 1), (2, 3)], source=0, target=3), "no path from 0 to 3"),
    (lambda: Paths([], source=0, target=1), "at least one edge"),
    (lambda: Paths(nx.Graph([(0, 1)]), source=0, target=1), r"must be directed, got Graph: use graph.to_directed"),
    (lambda: SpanningTrees(nx.DiGraph([(0, 1)])), r"must be undirected, got DiGraph: use graph.to_undirected"),
    (lambda: SpanningTrees([(0, 0), (0, 1)]), "self-loop at node 0"),
    (lambda: SpanningTrees([("a", "b"), ("c", "d")]), "2 parts: no path joins 'a' and 'c'"),
    *((lambda kind=kind: SpanningTrees(alone(kind)), "2 parts: no path joins 0 and 7") for kind in ISOLATED),
    *((lambda bad=bad: SpanningTrees(bad), "graph must be a networkx graph, or edges as an") for bad in NO_GRAPHS),
    (lambda: Flows([(0, 1), (1, 1)], source=0, target=1), r"self-loop at node 1 \(edge 1\)"),
    (lambda: Flows(LINE, source=0, target=2, value=3, capacities=[2.5, 9]), "capacities allow from 0 to 2, got 3"),
    (lambda: Flows(LINE, source=0, target=2, capacities=[1.0]), "one number for each of the 2 edges"),
    (lambda: Flows(LINE, source=0, target=2, capacities=[1.0, -1.0]), "at least 0"),
    (lambda: Flows(LOOP, source=0, target=2), "finite somewhere on every directed cycle.*1 -> 2 -> 1|2 -> 1 -> 2"),
    # polytopes
    (lambda: Polytope([[1.0, -1.0]], [1.0], bounds=(0, None)), "unbounded"),
    (lambda: Polytope(A_eq=[[1.0, 1.0]], b_eq=[3.0], bounds=(0, 1)), "the polytope is empty"),
    (lambda: Polytope(bounds=[(0, 1), (2, 1)]), "empty: low 2 is above high 1 at variable 1"),
    (lambda: Polytope([[0.0, 0.0]], [-1.0], bounds=(0, 1)), "row 0 of A_ub is zero"),
    (lambda: Polytope(A_eq=[[0.0, 0.0]], b_eq=[1.0], bounds=(0, 1)), "row 0 of A_eq is zero"),
    (lambda: Polytope([[1.0, 1.0]]), "A_ub and b_ub must be given together"),
    (lambda: Polytope(bounds=(0, 1)), "to say how many there are"),
    (lambda: Polytope([[1.0, 1.0]], [1.0], bounds=[(0, 1)] * 3), "or 2 of them"),
]


@every("build, message", WRONG)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()
