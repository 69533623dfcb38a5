"""Flows: against HiGHS on the explicit linear program, and networkx."""

import math

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Flows
from sottovoce.errors import DomainError


def random_network(seed, *, nodes=8, edges=24, integral=True, acyclic=False):
    """Edges, capacities and a feasible value; cycles, parallel edges and edges without capacity among them."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(nodes, size=2, replace=False) for _ in range(edges)])
    if acyclic:
        pairs = np.sort(pairs, axis=1)
    pairs = np.vstack((pairs, [(i, i + 1) for i in range(nodes - 1)]))
    capacities = rng.integers(0, 5, len(pairs)).astype(float) if integral else rng.gamma(2.0, size=len(pairs))
    capacities[-(nodes - 1) :] += 0.5 if not integral else 1.0
    most = -linprog(*_program(pairs, capacities, cost=None)).fun
    value = math.floor(most * rng.uniform(0.5, 1.0)) or 1.0 if integral else most * rng.uniform(0.3, 0.9)
    return pairs, capacities, float(value)


def _program(pairs, capacities, cost, value=None):
    """The LP of a flow from node 0 to the last; without a cost, of a maximum one by an extra edge back."""
    nodes = pairs.max() + 1
    matrix = np.zeros((nodes, len(pairs)))
    np.add.at(matrix, (pairs[:, 0], np.arange(len(pairs))), 1.0)
    np.add.at(matrix, (pairs[:, 1], np.arange(len(pairs))), -1.0)
    supply = np.eye(nodes)[0] - np.eye(nodes)[-1]
    bounds = [(0, None if np.isinf(c) else c) for c in capacities]
    if cost is None:
        back = np.hstack((matrix, -supply[:, None]))
        return np.append(np.zeros(len(pairs)), -1.0), None, None, back, np.zeros(nodes), [*bounds, (0, None)]
    return cost, None, None, matrix, value * supply, bounds


def domain_of(pairs, capacities, value):
    return Flows(pairs, source=0, target=int(pairs.max()), value=value, capacities=capacities)


def costs(rng, size):
    yield from (np.zeros(size), np.ones(size), -np.ones(size))
    yield from rng.integers(-2, 3, size=(10, size)).astype(float)
    yield from rng.standard_normal((10, size))
    yield from rng.standard_normal((3, size)) * 10.0 ** rng.integers(-6, 6, size)


CASES = [
    *({"seed": seed, "integral": whole} for seed in range(3) for whole in (True, False)),
    *({"seed": seed, "acyclic": True} for seed in range(2)),
    {"seed": 9, "nodes": 40, "edges": 200},
    {"seed": 10, "nodes": 40, "edges": 200, "integral": False},
]


@every("case", CASES)
def test_answers_are_optimal_vertices_and_integral_where_the_data_are(case):
    """Against HiGHS. A flow is a vertex exactly if the edges strictly between their bounds close no cycle."""
    pairs, capacities, value = random_network(**case)
    domain = domain_of(pairs, capacities, value)
    for cost in costs(np.random.default_rng(0), len(pairs)):
        found = domain.extreme_point(cost)
        known = linprog(*_program(pairs, capacities, cost, value))
        assert known.success
        assert cost @ found == pytest.approx(known.fun, abs=1e-7 * np.abs(cost).max() * (1 + capacities.sum()))
        assert ((found >= 0) & (found <= capacities)).all()
        _, _, _, matrix, supply, _ = _program(pairs, capacities, cost, value)
        np.testing.assert_allclose(matrix @ found, supply, atol=1e-12 * capacities.sum())
        if case.get("integral", True):
            np.testing.assert_array_equal(found, found.round())
        between = nx.MultiGraph(pairs[(found > 1e-9) & (found < capacities - 1e-9)].tolist())
        assert len(between) == 0 or nx.is_forest(between)


def largest_flow(pairs, capacities):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(8))
    for (a, b), c in zip(pairs.tolist(), capacities.tolist(), strict=True):
        graph.add_edge(a, b, capacity=c + (graph[a][b]["capacity"] if graph.has_edge(a, b) else 0.0))
    return nx.maximum_flow_value(graph, 0, 7)


@every("seed", range(20))
def test_a_value_that_is_the_maximum_of_networkx_up_to_rounding_is_accepted_and_more_is_refused(seed):
    pairs, capacities, _ = random_network(seed, integral=False)
    value = largest_flow(pairs, capacities) * (1 + 1e-11)
    domain = domain_of(pairs, capacities, value)
    _, _, _, matrix, supply, _ = _program(pairs, capacities, np.zeros(len(pairs)), value)
    for cost in costs(np.random.default_rng(seed), len(pairs)):
        np.testing.assert_allclose(matrix @ domain.extreme_point(cost), supply, atol=1e-9 * value)
    pairs, capacities, _ = random_network(seed)
    most = largest_flow(pairs, capacities)
    with pytest.raises(DomainError, match=f"what the capacities allow from 0 to 7, got {most + 1:g}"):
        domain_of(pairs, capacities, most + 1)
    full = domain_of(pairs, capacities, most)
    assert full.contains(full.extreme_point(np.ones(len(pairs))))
