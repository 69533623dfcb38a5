"""Paths: larger graphs against networkx and HiGHS, rounding, and costs that overflow."""

import itertools
import math
import pickle

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from sottovoce.domains import Paths
from sottovoce.errors import DomainError
from sottovoce.projection import project


def random_dag(seed, nodes=8, chance=0.45):
    """Edges in random order, some of them parallel, some of them on no path from 0 to the last node."""
    rng = np.random.default_rng(seed)
    names = [0, *(1 + rng.permutation(nodes - 2)), nodes - 1]
    pairs = [pair for pair in itertools.combinations(range(nodes), 2) if rng.random() < chance]
    pairs += [(0, nodes - 1), *pairs[:2]]
    rng.shuffle(pairs)
    return [(int(names[a]), int(names[b])) for a, b in pairs]


def all_paths(edges, source, target):
    """Indicators of all paths, by plain recursion."""
    found = []

    def walk(node, taken):
        if node == target:
            found.append([float(i in taken) for i in range(len(edges))])
        for i, (tail, head) in enumerate(edges):
            if tail == node:
                walk(head, {*taken, i})

    walk(source, set())
    return np.array(found)


def conservation(edges, source, target):
    nodes = sorted({node for edge in edges for node in edge})
    matrix = np.array([[float(a == node) - float(b == node) for a, b in edges] for node in nodes])
    return matrix, np.array([float(node == source) - float(node == target) for node in nodes])


def adversarial_costs(rng, size):
    yield from (np.zeros(size), np.ones(size), -np.ones(size))
    yield from rng.integers(-1, 2, size=(20, size)).astype(float)  # ties everywhere
    yield from rng.standard_normal((20, size))
    yield from rng.standard_normal((5, size)) * 10.0 ** rng.integers(-8, 8, size)


def test_the_oracle_against_networkx_and_highs_on_a_larger_graph():
    edges = list(dict.fromkeys(random_dag(5, nodes=60, chance=0.1)))
    domain = Paths(nx.DiGraph(edges), source=0, target=59)
    assert domain.edges == tuple(nx.DiGraph(edges).edges)
    matrix, right = conservation(domain.edges, 0, 59)
    for cost in adversarial_costs(np.random.default_rng(1), domain.dimension):
        value = cost @ domain.extreme_point(cost)
        weighted = nx.DiGraph()
        weighted.add_weighted_edges_from((a, b, c) for (a, b), c in zip(domain.edges, cost, strict=True))
        known = nx.bellman_ford_path_length(weighted, 0, 59)
        assert value == pytest.approx(known, abs=1e-10 * np.abs(cost).max())
    for cost in np.random.default_rng(2).standard_normal((5, domain.dimension)):
        assert cost @ domain.extreme_point(cost) == pytest.approx(linprog(cost, A_eq=matrix, b_eq=right).fun)


def test_a_single_path_is_a_point():
    domain = Paths([(0, 1), (1, 2), (1, 3)], source=0, target=2)
    assert (domain.affine_dimension, domain.inner_radius, domain.outer_radius, domain.diameter) == (0, 0.0, 0.0, 0.0)
    np.testing.assert_array_equal(domain.center, [1, 1, 0])
    assert domain.contains([1, 1, 0])
    assert not domain.contains([1, 1, 1e-3])
    np.testing.assert_array_equal(domain.round([1, 1, 0], np.random.default_rng(0), 2), [[1, 1, 0]] * 2)


def test_rounding_forgives_rounding_errors_and_nothing_else():
    domain = Paths([(0, 1), (0, 1), (1, 2), (1, 3), (3, 2)], source=0, target=2)
    rng = np.random.default_rng(0)
    drawn = domain.round([0.5 + 1e-9, 0.5 - 2e-9, 1.0 + 1e-9, -1e-9, 1e-12], rng, size=1000)
    assert (drawn[:, :2].sum(axis=1) == 1).all()
    for bad in ([0.6, 0.5, 1.0, 0.0, 0.0], [0.5, 0.5, 1.001, -0.001, -0.001], [0.5, 0.5, 0.5, 0.4, 0.4]):
        with pytest.raises(DomainError, match="away: project it first"):
            domain.round(bad, rng)


def test_walks_are_drawn_in_blocks_like_one(monkeypatch):
    domain = Paths.examples()[0]
    whole = domain.round(domain.center, np.random.default_rng(0), size=50)
    monkeypatch.setitem(Paths.round.__globals__, "_UNIFORMS", 30)
    np.testing.assert_array_equal(domain.round(domain.center, np.random.default_rng(0), size=50), whole)


def test_contains_measures_the_distance():
    domain = Paths(random_dag(3), source=0, target=7)
    rng = np.random.default_rng(5)
    for _ in range(10):
        y = domain.center + rng.standard_normal(domain.dimension) * rng.choice([0.01, 0.3])
        away = math.dist(y, project(domain, y, gap=1e-16).point)
        near = domain._bracket(y)
        assert near.at_least * (1 - 1e-9) <= away <= near.at_most * (1 + 1e-9)
        assert domain.contains(y, 1.34 * away)  # between 1 and 4/3 it may say either
        assert not domain.contains(y, 0.99 * away)


def test_a_large_grid_has_its_geometry_in_reach():
    """100 x 100 nodes. Every flow crosses each antidiagonal, so some edge carries at most 1/198 of it."""
    side = 100
    graph = nx.grid_2d_graph(side, side, create_using=nx.DiGraph)
    graph.remove_edges_from([(a, b) for a, b in graph.edges if a > b])
    domain = Paths(graph, source=(0, 0), target=(side - 1, side - 1))
    assert domain.affine_dimension == (side - 1) ** 2
    assert 0.99 / 198 < domain.inner_radius <= 1 / 198 * 1.5
    assert domain.contains(domain.center)
    assert domain.diameter == pytest.approx(math.sqrt(2 * 2 * (side - 1)))
    direction = domain.tangent(np.random.default_rng(0).standard_normal(domain.dimension))
    assert domain.contains(domain.center + domain.inner_radius * direction / np.linalg.norm(direction))
    steps = domain.round(domain.center, np.random.default_rng(0), size=10).sum(axis=1)
    np.testing.assert_array_equal(steps, 2 * (side - 1))


def test_costs_whose_sums_overflow_still_get_a_path():
    domain = Paths(random_dag(2), source=0, target=7)
    paths = all_paths(random_dag(2), 0, 7)
    for cost in np.random.default_rng(0).choice([-1.7e308, 1.7e308], size=(20, domain.dimension)):
        assert (paths == domain.extreme_point(cost)).all(axis=1).any()


def test_a_chain_whose_cost_overflows_is_still_a_path():
    chain = Paths([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)][:4], source=0, target=4)
    np.testing.assert_array_equal(chain.extreme_point(np.full(4, 1.7e308)), np.ones(4))


def test_pickling_after_use_keeps_everything():
    domain = Paths(random_dag(1), source=0, target=7)
    vectors = np.random.default_rng(0).standard_normal((3, domain.dimension))
    before = domain.tangent(vectors), domain.inner_radius, domain.diameter
    copy = pickle.loads(pickle.dumps(domain))
    np.testing.assert_allclose(copy.tangent(vectors), before[0], atol=1e-14)
    assert (copy.inner_radius, copy.diameter) == before[1:]
