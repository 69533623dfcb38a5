"""Projections on every family found: the universal certificate, closed forms, and a QP solver."""

import math

import numpy as np
import piqp
import pytest
from scipy.optimize import isotonic_regression

from sampling import every
from sottovoce import domains
from sottovoce.domains import all_domains
from sottovoce.projection import project

LOOSE = ("conditional-gradient", "open-loop")

every_family = every("family", all_domains())


def certificate(domain, x, y):
    return float((x - y) @ (x - domain.extreme_point(x - y)))


def targets(domain, count=4):
    """Points near and far in random directions, and those that make ties: the centre, a vertex, constants."""
    rng = np.random.default_rng(7)
    size = domain.outer_radius
    for direction in rng.standard_normal((count, domain.dimension)):
        for reach in (0.1, 1.0, 30.0):
            yield domain.center + reach * size * direction / np.linalg.norm(direction)
    vertex = domain.extreme_point(direction)
    yield from (domain.center, vertex, 2 * vertex - domain.center)
    yield np.full(domain.dimension, 3 * size)
    yield np.zeros(domain.dimension)


@every_family
def test_the_universal_certificate_is_at_rounding_level(family):
    cases = [(domain, y) for domain in family.examples() for y in targets(domain)]
    for domain, y in cases:
        result = project(domain, y)
        assert result.converged
        size = domain.diameter * max(domain.diameter, math.dist(result.point, y))
        assert certificate(domain, result.point, y) <= 1e-9 * size + 1e-13 * np.linalg.norm(result.point) ** 2
        assert domain.contains(result.point, tolerance=1e-7 * (1 + domain.outer_radius))
        np.testing.assert_allclose(result.weights @ result.atoms, result.point, rtol=0, atol=1e-12 * (1 + size))


@every_family
def test_conditional_gradient_tells_the_truth_about_its_own_tolerance(family):
    cases = ((domain, y, method) for domain in family.examples() for y in targets(domain, count=1) for method in LOOSE)
    for domain, y, method in cases:
        result = project(domain, y, method=method, max_calls=100)
        size = domain.diameter * max(domain.diameter, math.dist(result.point, y))
        assert result.gap == pytest.approx(certificate(domain, result.point, y), abs=1e-9 * size)
        assert result.converged == (result.gap <= result.tolerance)
        exact = project(domain, y)
        assert math.dist(result.point, exact.point) <= result.distance + exact.distance + 1e-9 * domain.diameter


def on_simplex(y, total=1.0):
    """By sorting (Held, Wolfe, Crowder, 1974)."""
    ordered = np.sort(y)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, y.size + 1)
    return np.maximum(y - shifts[np.flatnonzero(ordered > shifts)[-1]], 0.0)


def on_l1_ball(y, radius=1.0):
    return y.copy() if np.abs(y).sum() <= radius else np.sign(y) * on_simplex(np.abs(y), radius)


def on_permutahedron(weights, y):
    """Subtract what a non-increasing regression of the sorted y on the sorted weights leaves (Negrinho, Martins)."""
    order = np.argsort(-y)
    x = np.empty(y.size)
    x[order] = y[order] - isotonic_regression(y[order] - np.sort(weights)[::-1], increasing=False).x
    return x


def on_nuclear_ball(shape, y):
    u, values, v = np.linalg.svd(y.reshape(shape), full_matrices=False)
    return ((u * on_l1_ball(values)) @ v).ravel()


WEIGHTS = np.array([7.0, 1.0, 1.0, 2.5, 4.0, 4.0, -3.0, 0.0, 5.0])
CLOSED_FORMS = {
    "Simplex": (lambda: domains.Simplex(12), on_simplex),
    "Permutahedron": (lambda: domains.Permutahedron(WEIGHTS), lambda y: on_permutahedron(WEIGHTS, y)),
    "NuclearBall": (lambda: domains.NuclearBall(4, 5), lambda y: on_nuclear_ball((4, 5), y)),
}


@every("name", CLOSED_FORMS)
def test_projections_equal_closed_forms(name):
    make, exact = CLOSED_FORMS[name]
    domain = make()
    for y in targets(domain, count=8):
        result = project(domain, y)
        size = domain.diameter + np.linalg.norm(y)
        assert math.dist(result.point, exact(y)) <= result.distance + 1e-9 * size
        assert result.distance <= 1e-4 * size


def quadratic_programme(y, equal, right, upper):
    """The nearest x to y with equal @ x = right and 0 <= x <= upper, by an interior-point solver."""
    n = y.size
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    solver.setup(np.eye(n), -y, equal, right, None, None, None, np.zeros(n), np.full(n, 1.0) * upper)
    assert solver.solve() == piqp.PIQP_SOLVED
    return solver.result.x


def birkhoff(n):
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    return domains.Birkhoff(n), np.vstack((rows, columns[:-1])), np.ones(2 * n - 1), 1.0


def network(edges, value, capacities=None):
    """Conservation at every node but the last, whose equation follows from the others."""
    edges = np.array(edges)
    nodes = edges.max() + 1
    equal = np.zeros((nodes, len(edges)))
    equal[edges[:, 0], np.arange(len(edges))] = 1.0
    equal[edges[:, 1], np.arange(len(edges))] = -1.0
    right = np.zeros(nodes)
    right[0] = value
    if capacities is None:
        return domains.Paths(edges, source=0, target=nodes - 1), equal[:-1], right[:-1], 1.0
    flows = domains.Flows(edges, source=0, target=nodes - 1, value=value, capacities=capacities)
    return flows, equal[:-1], right[:-1], capacities


DAG = [(i, j) for i in range(6) for j in range(i + 1, min(i + 4, 6))]
EXPLICIT = {
    "Birkhoff": lambda: birkhoff(5),
    "Paths": lambda: network(DAG, 1.0),
    "Flows": lambda: network(DAG, 2.0, np.linspace(0.8, 1.7, len(DAG))),
}


@every("name", EXPLICIT)
def test_projections_equal_a_quadratic_programme(name):
    domain, *constraints = EXPLICIT[name]()
    for y in targets(domain, count=8):
        result = project(domain, y)
        assert result.converged
        np.testing.assert_allclose(result.point, quadratic_programme(y, *constraints), atol=1e-4 * domain.diameter)
