"""The permutahedron against isotonic regression and a QP solver."""

import itertools
import math

import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import every
from sottovoce.domains import Permutahedron
from sottovoce.errors import DomainError
from sottovoce.projection import project


def facets_of(weights):
    """Sets of coordinates, and the largest value of their sum."""
    n, falling = len(weights), sorted(weights, reverse=True)
    sets = [chosen for size in range(1, n) for chosen in itertools.combinations(range(n), size)]
    rows = np.array([[float(i in chosen) for i in range(n)] for chosen in sets])
    return rows, np.array([sum(falling[: len(chosen)]) for chosen in sets])


def test_the_nearest_facet_may_be_that_of_half_of_the_items():
    domain = Permutahedron([-1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    assert domain.inner_radius == pytest.approx(1 / math.sqrt(6 / 4))


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


def test_a_number_stands_for_the_ranks():
    assert repr(Permutahedron(3)) == "Permutahedron([1.0, 2.0, 3.0])"
    np.testing.assert_array_equal(Permutahedron(3).extreme_point([2.0, 1.0, 3.0]), [2.0, 3.0, 1.0])


@every("weights", [[1.0], 1, [2.0, 2.0], [], [[1.0, 2.0]], [1.0, np.nan], ["a", 1.0], ["a"]])
def test_weights_that_make_no_ranking_are_refused(weights):
    with pytest.raises((DomainError, ValueError, TypeError), match=r"weights|string"):
        Permutahedron(weights)
