"""Matroids against their definitions, by brute force; of their polytopes, what lists of vertices do not show."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest

from sampling import every
from sottovoce.domains import IndependentSets, MatroidBases
from sottovoce.domains._subsets import all_masks
from sottovoce.domains.matroids import Graphic, Laminar, Matroid, Partition, Uniform
from sottovoce.errors import DomainError

FAMILY, LIMITS = [{0, 1, 2}, {0, 1, 2, 3, 4}, {5, 6}], [2, 3, 1]
EDGES = [(0, 1), (1, 2), (2, 0), (0, 1), (2, 3), (3, 3), (3, 4)]  # parallel edges, a bridge, a loop, another bridge
FANO = [{0, 1, 3}, {1, 2, 4}, {2, 3, 5}, {3, 4, 6}, {4, 5, 0}, {5, 6, 1}, {6, 0, 2}]


def is_forest(chosen):
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(5))
    graph.add_edges_from(EDGES[e] for e in chosen)
    return 5 - nx.number_connected_components(graph) == len(chosen)


def on_no_line(chosen):
    return len(chosen) <= 3 and not any(line <= set(chosen) for line in FANO)


def by_mask(definition):
    return lambda mask: bool(definition(tuple(np.flatnonzero(mask).tolist())))


# Each matroid beside a definition of its independent sets that shares no code with it.
DEFINED = {
    "uniform": (Uniform(6, 2), lambda chosen: len(chosen) <= 2),
    "all but one": (Uniform(5, 4), lambda chosen: len(chosen) <= 4),
    "nothing": (Uniform(3, 0), lambda chosen: len(chosen) == 0),
    "everything": (Uniform(3, 3), lambda chosen: True),
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
    "graphic": (Graphic(EDGES), is_forest),
    "fano": (Matroid(7, by_mask(on_no_line)), on_no_line),
}
every_matroid = every("matroid, definition", DEFINED.values())
both_polytopes = every("kind", [MatroidBases, IndependentSets])


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


@every_matroid
def test_greedy_keeps_each_element_that_it_can(matroid, definition):
    rng = np.random.default_rng(1)
    for _ in range(30):
        order = rng.permutation(matroid.ground_size)[: rng.integers(matroid.ground_size + 1)]
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


@every_matroid
def test_two_independent_sets_cover_no_more_than_said(matroid, definition):
    good = [set(chosen) for chosen in subsets(matroid.ground_size) if definition(chosen)]
    most = max(len(one | other) for one in good for other in good)
    assert most <= matroid.largest_cover()
    if isinstance(matroid, Partition | Laminar):
        assert most == matroid.largest_cover()


def test_compiled_scans_agree_with_the_independence_oracle_on_larger_sets():
    rng = np.random.default_rng(2)
    nested = [range(40), range(10), range(10, 25), range(12, 17), range(50, 60)]
    kinds = [
        Partition(rng.integers(0, 7, 60), rng.integers(0, 5, 7)),
        Laminar(nested, [9, 3, 6, 2, 4], ground_size=60),
        Graphic(rng.integers(0, 25, (60, 2))),
    ]
    for matroid in kinds:
        generic = Matroid(60, matroid.independent)
        for order in (rng.permutation(60) for _ in range(10)):
            np.testing.assert_array_equal(matroid.greedy(order), generic.greedy(order))


def test_blocks_of_graphs_agree_with_networkx():
    for seed in range(60):
        nodes = 5 + seed % 25
        graph = nx.gnm_random_graph(nodes, nodes + seed % 9, seed=seed)
        edges = list(graph.edges)
        labels = Graphic(graph).components()
        found = {frozenset(edges[e] for e in np.flatnonzero(labels == label)) for label in labels}
        wanted = {frozenset(tuple(sorted(edge)) for edge in part) for part in nx.biconnected_component_edges(graph)}
        assert {frozenset(tuple(sorted(edge)) for edge in part) for part in found} == wanted


@both_polytopes
def test_certified_balls_of_larger_components_hold_against_all_facets(kind):
    """Components of more than ten elements, whose rank inequalities the library does not go through."""
    columns = np.random.default_rng(0).integers(-1, 2, (4, 12))
    matroids = [
        Graphic(nx.wheel_graph(7)),
        Graphic([(0, 1)] * 6 + [(1, 2), (2, 0)] + [(0, 3), (3, 1)] * 2),  # many parallel edges: of uneven density
        Matroid(12, lambda mask: bool(np.linalg.matrix_rank(columns[:, mask]) == mask.sum())),
    ]
    for matroid in matroids:
        domain = kind(matroid)
        rows = all_masks(12)[1:]
        bounds = np.array([matroid.rank(row) for row in rows])
        rows, bounds = np.vstack((rows, -np.eye(12))), np.concatenate((bounds, np.zeros(12)))
        lengths = np.linalg.norm(domain.tangent(rows), axis=1)
        facet = lengths > 1e-9
        exact = ((bounds - rows @ domain.center)[facet] / lengths[facet]).min()
        assert 0.0 < domain.inner_radius <= exact * (1 + 1e-12)


@both_polytopes
def test_systematic_sampling_keeps_full_sets_full(kind):
    """Tight quotas leave systematic sampling no freedom; rounding errors of the chances must not show."""
    domain = kind(Laminar([range(3), range(6), range(7, 10)], [1, 3, 2], ground_size=10))
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
    for same in (
        Partition(["a", "a", "b", "a", "b"], {"b": 1, "a": 2}),
        Partition([[0, 1, 3], [4, 2]], [2, 1]),
        Partition(np.array([3, 3, 7, 3, 7]), [2, 1]),
    ):
        for chosen in subsets(5):
            assert same.independent(list(chosen)) == wanted.independent(list(chosen))


def bad_pairs(mask):  # hereditary, but {0} cannot be extended from {1, 2}
    return not (mask[0] and mask[1:].any())


@every(
    "size, function, message",
    [
        (3, lambda mask: mask.sum() != 1, "is independent, but its subset"),
        (3, lambda mask: not (mask[0] and mask[1:].any()), r"\[0\] and \[1, 2\] are independent, but no element"),
        (3, lambda mask: mask.any(), "empty set must be independent"),
        (3, lambda mask: None, "must return True or False, got None"),
        (20, bad_pairs, "no element of the larger"),
        (20, lambda mask: mask.sum() != 3, "is independent, but its subset"),
        (12, lambda mask: not (mask[::2].any() and mask[1::2].any()) and mask[::2].sum() <= 2, "not a matroid"),
    ],
)
def test_what_is_visibly_not_a_matroid_is_refused(size, function, message):
    def as_bool(mask):
        answer = function(mask)
        return answer if answer is None else bool(answer)

    with pytest.raises(DomainError, match=message):
        Matroid(size, as_bool)


def test_every_family_of_sets_on_four_elements_is_judged_rightly():
    """All families that hold the empty set and are hereditary, and some that are not: refused unless a matroid."""
    n, rng, verdicts = 4, np.random.default_rng(9), []
    for _ in range(400):
        roots = [set(np.flatnonzero(rng.random(n) < 0.5).tolist()) for _ in range(rng.integers(1, 4))]
        family = {frozenset(part) for root in roots for s in range(n + 1) for part in itertools.combinations(root, s)}
        if rng.random() < 0.2:
            family.add(frozenset(np.flatnonzero(rng.random(n) < 0.7).tolist()))
        hereditary = all(one - {e} in family for one in family for e in one)
        exchange = all(
            any(small | {e} in family for e in large - small)
            for small in family
            for large in family
            if len(large) == len(small) + 1
        )
        try:
            Matroid(n, lambda mask, family=family: frozenset(np.flatnonzero(mask).tolist()) in family)
        except DomainError:
            verdicts.append(False)
            assert not (hereditary and exchange)
        else:
            verdicts.append(True)
            assert hereditary
            assert exchange
    assert 50 < sum(verdicts) < 350


def test_a_matroid_cannot_be_changed():
    with pytest.raises(AttributeError, match="immutable"):
        Uniform(3, 1).ground_size = 4
