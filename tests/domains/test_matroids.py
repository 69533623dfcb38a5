"""Matroids against their definitions, by brute force; of their polytopes, what lists of vertices do not show."""

import itertools
import math

import networkx as nx
import numpy as np

from sampling import every
from sottovoce.domains import MatroidBases
from sottovoce.domains.matroids import Graphic, Laminar, Partition

FAMILY, LIMITS = [{0, 1, 2}, {0, 1, 2, 3, 4}, {5, 6}], [2, 3, 1]
EDGES = [(0, 1), (1, 2), (2, 0), (0, 1), (2, 3), (3, 3), (3, 4)]  # parallel edges, a bridge, a loop, another bridge


def is_forest(edges, nodes):
    graph = nx.MultiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(map(tuple, edges))
    return len(nodes) - nx.number_connected_components(graph) == len(edges)


# Each matroid beside a definition of its independent sets that shares no code with it.
DEFINED = {
    "nothing": (Partition([0, 0, 0], 0), lambda chosen: len(chosen) == 0),
    "everything": (Partition([0, 0, 0], 3), lambda chosen: True),
    "partition": (
        Partition([1, 0, 0, 1, 1, 2, 3], [1, 2, 1, 0]),
        lambda chosen: (
            sum(e in {1, 2} for e in chosen) <= 1 and sum(e in {0, 3, 4} for e in chosen) <= 2 and 6 not in chosen
        ),
    ),
    "laminar": (
        Laminar(FAMILY, LIMITS, ground_size=8),
        lambda chosen: all(len(one & set(chosen)) <= limit for one, limit in zip(FAMILY, LIMITS, strict=True)),
    ),
    "full within full": (  # the outer set is full whenever the inner one is, and 3 and 4 are in every base
        Laminar([{0, 1, 2}, {0, 1, 2, 3, 4}], [1, 3]),
        lambda chosen: sum(e < 3 for e in chosen) <= 1,
    ),
    "graphic": (Graphic(EDGES), lambda chosen: is_forest([EDGES[e] for e in chosen], range(5))),
}
every_matroid = every("matroid, definition", DEFINED.values())


def subsets(n):
    return [chosen for size in range(n + 1) for chosen in itertools.combinations(range(n), size)]


@every_matroid
def test_independence_is_the_definition(matroid, definition):
    for chosen in subsets(matroid.ground_size):
        assert matroid.independent(list(chosen)) == bool(definition(chosen)), chosen
        assert matroid.independent(np.isin(np.arange(matroid.ground_size), chosen)) == bool(definition(chosen))


@every_matroid
def test_rank_is_the_size_of_the_largest_independent_subset(matroid, definition):
    good = [set(chosen) for chosen in subsets(matroid.ground_size) if definition(chosen)]
    for chosen in subsets(matroid.ground_size):
        assert matroid.rank(list(chosen)) == max(len(one) for one in good if one <= set(chosen))
    assert matroid.rank() == max(map(len, good))


def larger():
    """The same of sixty elements, too many to go through all subsets."""
    rng = np.random.default_rng(2)
    labels, limits, edges = rng.integers(0, 7, 60), rng.integers(0, 5, 7), rng.integers(0, 25, (60, 2))
    nested, rooms = [range(40), range(10), range(10, 25), range(12, 17), range(50, 60)], [9, 3, 6, 2, 4]
    return [
        (Partition(labels, limits), lambda kept: (np.bincount(labels[list(kept)], minlength=7) <= limits).all()),
        (
            Laminar(nested, rooms, ground_size=60),
            lambda kept: all(len(set(kept) & set(part)) <= most for part, most in zip(nested, rooms, strict=True)),
        ),
        (Graphic(edges), lambda kept: is_forest(edges[list(kept)], np.unique(edges))),
    ]


@every("matroid, definition", [*DEFINED.values(), *larger()])
def test_greedy_keeps_each_element_that_it_can(matroid, definition):
    rng = np.random.default_rng(1)
    for turn in range(20):
        order = rng.permutation(matroid.ground_size)
        order = order[: rng.integers(len(order) + 1)] if turn % 2 else order
        kept = []
        for element in order.tolist():
            kept += [element] * bool(definition(tuple(sorted([*kept, element]))))
        assert np.flatnonzero(matroid.greedy(order)).tolist() == sorted(kept)


@every_matroid
def test_components_are_joined_by_circuits(matroid, definition):
    n = matroid.ground_size
    dependent = [set(chosen) for chosen in subsets(n) if not definition(chosen)]
    circuits = [one for one in dependent if not any(other < one for other in dependent)]
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pair for circuit in circuits for pair in itertools.combinations(circuit, 2))
    labels = matroid.components()
    found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}
    assert found == {frozenset(part) for part in nx.connected_components(graph)}


def test_blocks_of_graphs_agree_with_networkx():
    for seed in range(60):
        nodes = 5 + seed % 25
        graph = nx.gnm_random_graph(nodes, nodes + seed % 9, seed=seed)
        edges = list(graph.edges)
        labels = Graphic(graph).components()
        found = {frozenset(edges[e] for e in np.flatnonzero(labels == label)) for label in labels}
        wanted = {frozenset(tuple(sorted(edge)) for edge in part) for part in nx.biconnected_component_edges(graph)}
        assert {frozenset(tuple(sorted(edge)) for edge in part) for part in found} == wanted


def test_certified_balls_of_larger_components_hold_against_all_facets():
    """Components of more than ten elements, whose rank inequalities the library does not go through."""
    matroids = [
        Graphic(nx.wheel_graph(7)),
        Graphic([(0, 1)] * 6 + [(1, 2), (2, 0)] + [(0, 3), (3, 1)] * 2),  # many parallel edges: of uneven density
    ]
    for matroid in matroids:
        domain = MatroidBases(matroid)
        rows = np.array(list(itertools.product((False, True), repeat=12)))[1:]
        bounds = np.array([matroid.rank(row) for row in rows])
        rows, bounds = np.vstack((rows, -np.eye(12))), np.concatenate((bounds, np.zeros(12)))
        lengths = np.linalg.norm(domain.tangent(rows), axis=1)
        facet = lengths > 1e-9
        exact = ((bounds - rows @ domain.center)[facet] / lengths[facet]).min()
        assert 0.0 < domain.inner_radius <= exact * (1 + 1e-12)


def test_systematic_sampling_keeps_full_sets_full():
    """Tight quotas leave systematic sampling no freedom; rounding errors of the chances must not show."""
    domain = MatroidBases(Laminar([range(3), range(6), range(7, 10)], [1, 3, 2], ground_size=10))
    x = np.array([0.3, 0.3, 0.4, 0.7, 0.7, 0.6, 1.0, 2 / 3, 2 / 3, 2 / 3])
    drawn = domain.round(x, np.random.default_rng(7), size=20_000)
    assert set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_array_equal(drawn[:, :3].sum(axis=1), 1)
    np.testing.assert_array_equal(drawn[:, :6].sum(axis=1), 3)
    np.testing.assert_array_equal(drawn[:, 6], 1)
    # Hoeffding: off by more with probability below 1e-9 for a coordinate, 1e-8 in all.
    assert np.abs(drawn.mean(axis=0) - x).max() <= math.sqrt(math.log(2e9) / 40_000)


def test_groups_are_drawn_independently_of_each_other():
    """Correlation of independent fair bits over 20000 draws exceeds 0.043 with probability below 2e-9."""
    drawn = MatroidBases(Partition([0, 0, 1, 1], 1)).round(np.full(4, 0.5), np.random.default_rng(8), size=20_000)
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1]) < 0.043


def test_partition_reads_labels_groups_and_capacities_in_all_their_forms():
    wanted = Partition([0, 0, 1, 0, 1], [2, 1])
    for same in (Partition(["a", "a", "b", "a", "b"], {"b": 1, "a": 2}), Partition(np.array([3, 3, 7, 3, 7]), [2, 1])):
        for chosen in subsets(5):
            assert same.independent(list(chosen)) == wanted.independent(list(chosen))
