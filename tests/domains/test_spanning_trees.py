"""Spanning trees: against networkx, and graphs that leave little choice."""

import networkx as nx
import numpy as np
import pytest

from sottovoce.domains import Hypersimplex, SpanningTrees
from sottovoce.projection import project


def is_tree(edges, vertex):
    chosen = nx.MultiGraph([edge for edge, used in zip(edges, vertex, strict=True) if used == 1.0])
    return set(vertex) <= {0.0, 1.0} and set(chosen) == {node for edge in edges for node in edge} and nx.is_tree(chosen)


def costs(rng, size):
    yield from (np.zeros(size), np.ones(size), -np.ones(size))
    yield from rng.integers(-1, 2, size=(20, size)).astype(float)
    yield from rng.standard_normal((20, size))


def test_the_oracle_against_networkx_on_a_larger_graph():
    graph = nx.gnm_random_graph(80, 400, seed=3)
    domain = SpanningTrees(graph)
    assert domain.edges == tuple(graph.edges)
    for cost in costs(np.random.default_rng(1), 400):
        for (a, b), c in zip(graph.edges, cost, strict=True):
            graph[a][b]["weight"] = c
        known = nx.minimum_spanning_tree(graph).size(weight="weight")
        assert cost @ domain.extreme_point(cost) == pytest.approx(known, abs=1e-10)
        assert is_tree(domain.edges, domain.extreme_point(cost))


def test_one_cycle_leaves_out_one_edge():
    cycle, choice = SpanningTrees([(i, (i + 1) % 5) for i in range(5)]), Hypersimplex(5, 4)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(cycle, name) == pytest.approx(getattr(choice, name)), name
    for cost in np.random.default_rng(0).standard_normal((10, 5)):
        np.testing.assert_array_equal(cycle.extreme_point(cost), choice.extreme_point(cost))


def test_a_tree_has_one_spanning_tree():
    domain = SpanningTrees([("a", "b"), ("b", "c")])
    assert (domain.affine_dimension, domain.inner_radius, domain.outer_radius, domain.diameter) == (0, 0.0, 0.0, 0.0)
    assert domain.contains([1.0, 1.0])


def test_a_large_graph_projects_with_a_true_certificate():
    graph = nx.gnm_random_graph(150, 600, seed=1)
    domain = SpanningTrees(graph)
    y = np.random.default_rng(4).standard_normal(600)
    found = project(domain, y)
    away = found.point - y
    assert found.converged
    assert away @ (found.point - domain.extreme_point(away)) <= found.gap * (1 + 1e-6) + 1e-12
    assert found.point.sum() == pytest.approx(149)
