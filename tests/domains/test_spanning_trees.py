"""Spanning trees: against all trees of small graphs, networkx, and the explicit description of the polytope."""

import itertools
import math

import networkx as nx
import numpy as np
import piqp
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Hypersimplex, SpanningTrees
from sottovoce.projection import project

GRAPHS = {
    "complete": list(itertools.combinations(range(5), 2)),
    "parallel edges": [(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 0)],
    "bridges and blocks": [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (5, 6), (6, 3), (6, 7)],
    "wheel": [(0, i) for i in range(1, 6)] + [(i, i % 5 + 1) for i in range(1, 6)],
    "theta": [("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("a", "c")],
}
every_graph = every("edges", GRAPHS.values())


def is_tree(edges, vertex):
    chosen = nx.MultiGraph([edge for edge, used in zip(edges, vertex, strict=True) if used == 1.0])
    return set(vertex) <= {0.0, 1.0} and set(chosen) == {node for edge in edges for node in edge} and nx.is_tree(chosen)


def all_trees(edges):
    rank = len({node for edge in edges for node in edge}) - 1
    rows = (
        np.isin(np.arange(len(edges)), chosen).astype(float)
        for chosen in itertools.combinations(range(len(edges)), rank)
    )
    return np.array([row for row in rows if is_tree(edges, row)])


def explicit(edges):
    """Edmonds' description: x >= 0, x(E) = n - 1, and x(E[S]) <= |S| - 1 for every set S of two nodes or more."""
    nodes = list({node for edge in edges for node in edge})
    rows, limits = [], []
    for size in range(2, len(nodes)):
        for chosen in itertools.combinations(nodes, size):
            rows.append([float(a in chosen and b in chosen) for a, b in edges])
            limits.append(size - 1.0)
    return np.array(rows), np.array(limits), np.ones((1, len(edges))), np.array([len(nodes) - 1.0])


def costs(rng, size):
    yield from (np.zeros(size), np.ones(size), -np.ones(size))
    yield from rng.integers(-1, 2, size=(20, size)).astype(float)
    yield from rng.standard_normal((20, size))


@every_graph
def test_the_oracle_against_all_trees_and_edmonds_inequalities(edges):
    domain, trees, system = SpanningTrees(edges), all_trees(edges), explicit(edges)
    for cost in costs(np.random.default_rng(0), len(edges)):
        found = domain.extreme_point(cost)
        assert is_tree(edges, found)
        assert cost @ found == pytest.approx((trees @ cost).min(), abs=1e-12)
        assert cost @ found == pytest.approx(linprog(cost, *system).fun, abs=1e-9)


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


@every_graph
def test_the_affine_dimension_is_edges_less_blocks(edges):
    domain, trees = SpanningTrees(edges), all_trees(edges)
    assert domain.affine_dimension == np.linalg.matrix_rank(trees - trees.mean(axis=0))
    simple = nx.Graph(edges)
    assert domain.affine_dimension == len(edges) - len(list(nx.biconnected_components(simple)))


@every_graph
def test_radii_against_all_trees(edges):
    domain, trees = SpanningTrees(edges), all_trees(edges)
    assert domain.outer_radius == pytest.approx(np.linalg.norm(trees - domain.center, axis=1).max())
    apart = np.linalg.norm(trees[:, None] - trees[None], axis=2).max()
    assert apart <= domain.diameter * (1 + 1e-12) <= 1.5 * apart
    rows, limits, _, _ = explicit(edges)
    rows = np.vstack((rows, -np.eye(len(edges))))
    limits = np.concatenate((limits, np.zeros(len(edges))))
    lengths = np.linalg.norm(domain.tangent(rows), axis=1)
    moving = lengths > 1e-9
    room = (limits - rows @ domain.center)[moving] / lengths[moving]
    assert 0.0 < domain.inner_radius <= room.min() * (1 + 1e-9)


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


@every("name", ["complete", "bridges and blocks", "parallel edges"])
def test_projection_against_a_qp_solver(name):
    edges = GRAPHS[name]
    domain, (rows, limits, equal, right) = SpanningTrees(edges), explicit(edges)
    n = len(edges)
    for y in np.random.default_rng(2).standard_normal((5, n)):
        found = project(domain, y, gap=1e-16)
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-13
        solver.setup(np.eye(n), -y, equal, right, rows, np.full(len(rows), -1e3), limits, np.zeros(n), np.ones(n))
        assert solver.solve() == piqp.PIQP_SOLVED
        np.testing.assert_allclose(found.point, solver.result.x, atol=1e-6)
        away = found.point - y
        assert abs(away @ (found.point - domain.extreme_point(away))) < 1e-12


@every_graph
def test_rounded_points_are_trees_with_the_right_mean(edges):
    """Hoeffding: below 100 edges in all, each off by more than this with probability 1e-9 at most."""
    domain, trees = SpanningTrees(edges), all_trees(edges)
    rng, draws = np.random.default_rng(3), 20_000
    for x in (rng.dirichlet(np.full(len(trees), 0.1)) @ trees, domain.center, trees[0]):
        drawn = domain.round(x, rng, size=draws)
        assert all(is_tree(edges, tree) for tree in np.unique(drawn, axis=0))
        assert np.abs(drawn.mean(axis=0) - x).max() <= math.sqrt(math.log(2e9) / (2 * draws)) + 1e-5


def test_a_large_graph_projects_with_a_true_certificate():
    graph = nx.gnm_random_graph(150, 600, seed=1)
    domain = SpanningTrees(graph)
    y = np.random.default_rng(4).standard_normal(600)
    found = project(domain, y)
    away = found.point - y
    assert found.converged
    assert away @ (found.point - domain.extreme_point(away)) <= found.gap * (1 + 1e-6) + 1e-12
    assert found.point.sum() == pytest.approx(149)
