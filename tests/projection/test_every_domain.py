"""Projections on every family found: the universal certificate."""

import math

import numpy as np
import pytest

from sampling import every
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
