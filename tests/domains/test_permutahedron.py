"""The permutahedron against all permutations, all facets, and isotonic regression."""

import itertools
import math

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

from sampling import every
from sottovoce.domains import Permutahedron
from sottovoce.errors import DomainError
from sottovoce.projection import project

WEIGHTS = [
    [1.0, 2.0, 3.0, 4.0],
    [0.0, 0.0, 1.0, 1.0, 5.0],  # ties
    [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0],  # its nearest facets are those of half of the items
    [-7.0, 2.5, 2.5, 3.0],
    [1e6, 1e6 + 1.0, 1e6 + 3.0],
    [1e-6, 2e-6, 5e-6, 5e-6],
    [0.0, 1.0],
]
every_weight_vector = every("weights", WEIGHTS)


def vertices_of(weights):
    return np.unique(list(itertools.permutations(weights)), axis=0)


def facets_of(weights):
    """Sets of coordinates, and the largest value of their sum."""
    n, falling = len(weights), sorted(weights, reverse=True)
    sets = [chosen for size in range(1, n) for chosen in itertools.combinations(range(n), size)]
    rows = np.array([[float(i in chosen) for i in range(n)] for chosen in sets])
    return rows, np.array([sum(falling[: len(chosen)]) for chosen in sets])


def adversarial_costs(n):
    rng = np.random.default_rng(0)
    yield from rng.standard_normal((20, n))
    yield from rng.integers(-1, 2, (20, n)).astype(float)
    yield from (np.zeros(n), np.ones(n), -np.ones(n), np.arange(n) * 1e-300)


@every_weight_vector
def test_the_oracle_against_all_permutations_the_inequalities_and_an_assignment(weights):
    domain, vertices, (rows, bounds) = Permutahedron(weights), vertices_of(weights), facets_of(weights)
    scale = np.ptp(weights)
    for cost in adversarial_costs(len(weights)):
        answer = domain.extreme_point(cost)
        assert sorted(answer) == sorted(weights)
        near = pytest.approx(cost @ answer, rel=1e-12, abs=1e-12 * scale)
        assert (vertices @ cost).min() == near
        items, places = linear_sum_assignment(np.outer(cost, weights))
        assert cost[items] @ np.array(weights)[places] == near
        middle = domain.center  # the solver sees a set of size 1 around the origin
        solved = linprog(
            cost, rows, (bounds - rows @ middle) / scale, np.ones((1, len(weights))), [0.0], bounds=(None, None)
        )
        assert solved.fun * scale + cost @ middle == pytest.approx(cost @ answer, rel=1e-7, abs=1e-7 * scale)


@every_weight_vector
def test_geometry_against_all_vertices_and_facets(weights):
    domain, vertices, (rows, bounds) = Permutahedron(weights), vertices_of(weights), facets_of(weights)
    assert domain.affine_dimension == np.linalg.matrix_rank(vertices - vertices[0], tol=1e-9 * np.ptp(weights))
    distances = (bounds - rows @ domain.center) / np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1)
    assert domain.inner_radius == pytest.approx(distances.min(), rel=1e-7)
    np.testing.assert_allclose(np.linalg.norm(vertices - domain.center, axis=1), domain.outer_radius)
    apart = np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max()
    assert domain.diameter == pytest.approx(apart)


def test_the_nearest_facet_may_be_that_of_half_of_the_items():
    domain = Permutahedron([-1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert domain.inner_radius == pytest.approx(1 / math.sqrt(6 / 4))


@every_weight_vector
def test_contains_is_majorisation(weights):
    domain, vertices, (rows, bounds) = Permutahedron(weights), vertices_of(weights), facets_of(weights)
    scale = np.ptp(weights)
    rng, seen = np.random.default_rng(1), set()
    for _ in range(60):
        point = rng.dirichlet(np.full(len(vertices), 0.3)) @ vertices
        point = domain.center + rng.choice([0.5, 1.0, 1.2, 2.0]) * (point - domain.center)
        inside = bool((rows @ point <= bounds + 1e-9 * scale).all())
        assert domain.contains(point, tolerance=1e-7 * scale) == inside
        seen.add(inside)
        assert not domain.contains(point + 1e-3 * scale, tolerance=1e-5 * scale)  # the wrong sum
    assert seen == {True, False}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(2, 12), spread=st.sampled_from([0.1, 3.0, 100.0]), ties=st.booleans()
)
def test_the_formula_for_the_projection_agrees_with_the_oracle_and_has_a_certificate(seed, n, spread, ties):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n).astype(float) if ties else rng.standard_normal(n)
    weights[0] += 1.0 - (np.ptp(weights) > 0)
    target = spread * (rng.integers(-2, 3, n) if ties else rng.standard_normal(n))
    domain = Permutahedron(weights)
    wanted, found = domain.nearest(target), project(domain, target)
    np.testing.assert_allclose(found.point, wanted, atol=2e-5 * max(domain.diameter, 1e-3 * np.linalg.norm(target)))
    # The universal certificate at the formula's point: no vertex is any better in the direction of the target.
    away = wanted - target
    assert abs(away @ (wanted - domain.extreme_point(away))) <= 1e-12 * (1 + np.linalg.norm(target)) ** 2
    apart = float(np.linalg.norm(away))
    if apart > 1e-6:
        assert domain.contains(target, tolerance=apart * (1 + 1e-9))
        assert not domain.contains(target, tolerance=apart * (1 - 1e-9))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 6), spread=st.sampled_from([0.3, 3.0]), ties=st.booleans())
def test_the_formula_for_the_projection_against_a_quadratic_program(seed, n, spread, ties):
    """For rankings, and for functions of cardinality, which are rankings by another name."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(-2, 3, n).astype(float) if ties else rng.standard_normal(n)
    steps[0] += 1.0 - (np.ptp(steps) > 0)
    target = spread * (rng.integers(-2, 3, n) if ties else rng.standard_normal(n))
    rows, bounds = facets_of(steps)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    free = np.full(len(rows), -1e30)
    solver.setup(np.eye(n), -target, np.ones((1, n)), np.array([steps.sum()]), rows, free, bounds)
    assert solver.solve() == piqp.PIQP_SOLVED
    # At a vertex where facets crowd, the solver's gap of 1e-10 leaves its point some 1e-5 away.
    np.testing.assert_allclose(Permutahedron(steps).nearest(target), solver.result.x, atol=1e-4)


@every_weight_vector
def test_rounding_draws_rankings(weights):
    domain = Permutahedron(weights)
    x = 0.7 * domain.center + 0.3 * domain.extreme_point(np.arange(len(weights)))
    for drawn in domain.round(x, np.random.default_rng(2), size=50):
        assert sorted(drawn) == sorted(weights)


def test_a_number_stands_for_the_ranks():
    assert repr(Permutahedron(3)) == "Permutahedron([1.0, 2.0, 3.0])"
    np.testing.assert_array_equal(Permutahedron(3).extreme_point([2.0, 1.0, 3.0]), [2.0, 3.0, 1.0])


@every("weights", [[1.0], 1, [2.0, 2.0], [], [[1.0, 2.0]], [1.0, np.nan], ["a", 1.0], ["a"]])
def test_weights_that_make_no_ranking_are_refused(weights):
    with pytest.raises((DomainError, ValueError, TypeError), match=r"weights|string"):
        Permutahedron(weights)
