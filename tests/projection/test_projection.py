"""The projection, by every method, against closed forms and its own certificate; `test_nasty.py` has hulls."""

import math
import pickle

import numpy as np
import pytest

from projections import METHODS, project_by
from sampling import every
from sottovoce.domains import all_domains
from sottovoce.errors import DomainError
from sottovoce.projection import project


def ball(cost):
    length = np.linalg.norm(cost)
    return -cost / length if length > 0 else np.eye(cost.size)[0]


def cube(cost):
    return np.where(cost > 0, -1.0, 1.0)


def choose(k):
    def oracle(cost):
        vertex = np.zeros(cost.size)
        vertex[np.argsort(cost, kind="stable")[:k]] = 1.0
        return vertex

    return oracle


def permutahedron(cost):
    vertex = np.empty(cost.size)
    vertex[np.argsort(-cost, kind="stable")] = np.arange(1.0, cost.size + 1)
    return vertex


def on_ball(y):
    return y / max(1.0, np.linalg.norm(y))


def on_cube(y):
    return np.clip(y, -1.0, 1.0)


def on_simplex(y):
    """By sorting (Held, Wolfe, Crowder, 1974)."""
    ordered = np.sort(y)[::-1]
    shifts = (np.cumsum(ordered) - 1) / np.arange(1, y.size + 1)
    return np.maximum(y - shifts[np.flatnonzero(ordered > shifts)[-1]], 0.0)


def on_choices(k):
    def exact(y):
        low, high = y.min() - 1, y.max()
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.clip(y - middle, 0, 1).sum() > k else (low, middle)
        return np.clip(y - low, 0, 1)

    return exact


CLOSED_FORMS = {
    "ball": (ball, on_ball, 6),
    "cube": (cube, on_cube, 6),
    "simplex": (choose(1), on_simplex, 8),
    "4 of 9": (choose(4), on_choices(4), 9),
}


def certificate(oracle, x, y):
    return float((x - y) @ (x - oracle(x - y)))


@every("name", CLOSED_FORMS)
@every("method", METHODS)
def test_the_certified_distance_holds_for_every_method_and_every_budget(name, method):
    oracle, exact, n = CLOSED_FORMS[name]
    for seed, y in enumerate(np.random.default_rng(1).standard_normal((10, n))):
        for budget in (2, 5, 30, 300):
            result = project_by(method, oracle, y, gap=1e-3, max_calls=budget)
            assert result.calls <= budget, seed
            assert result.gap == pytest.approx(certificate(oracle, result.point, y), abs=1e-12)
            assert math.dist(result.point, exact(y)) <= result.distance + 1e-7
            assert result.converged == (result.gap <= 1e-3)


def test_a_target_that_is_a_vertex_needs_no_more_than_a_few_calls():
    vertex = permutahedron(np.random.default_rng(0).standard_normal(30))
    result = project(permutahedron, vertex)
    np.testing.assert_allclose(result.point, vertex, atol=1e-12)
    assert result.calls == 2


@every("oracle, n, reference", [(permutahedron, 50, 29), (choose(20), 200, 53)])
def test_few_oracle_calls_from_cold(oracle, n, reference):
    """To a gap of 1e-6, for standard normal targets; those about as large as the set take two to three times more."""
    results = [project(oracle, y, gap=1e-6) for y in np.random.default_rng(0).standard_normal((10, n))]
    assert all(result.converged for result in results)
    assert np.mean([result.calls for result in results]) <= 0.8 * reference


@every("oracle, center, n, spread, saved", [(permutahedron, 25.5, 50, 7.0, 2), (choose(20), 0.1, 200, 0.3, 3)])
def test_several_times_fewer_oracle_calls_from_warm(oracle, center, n, spread, saved):
    """To a certified distance of 1% of the diameter, after the target moved by 1% of its distance from the centre."""
    rng = np.random.default_rng(0)
    cold = warm = 0
    for _ in range(10):
        offset, move = spread * rng.standard_normal(n), rng.standard_normal(n)
        move *= 0.01 * np.linalg.norm(offset) / np.linalg.norm(move)
        diameter = math.dist(oracle(offset), oracle(-offset))
        first = project(oracle, center + offset, gap=(0.01 * diameter) ** 2)
        again = project(oracle, center + offset + move, gap=(0.01 * diameter) ** 2, warm=first)
        assert first.converged
        assert again.converged
        cold, warm = cold + first.calls, warm + again.calls
    assert cold >= saved * warm


def test_a_warm_start_is_only_a_start():
    rng = np.random.default_rng(3)
    result = None
    for y in 0.5 * rng.standard_normal((20, 9)):
        result = project(choose(4), y, warm=result)
        np.testing.assert_allclose(result.point, on_choices(4)(y), atol=1e-4)
    for method in METHODS[1:]:
        again = project_by(method, choose(4), y, warm=result, gap=1e-8)
        assert again.calls <= 3


def test_a_result_is_not_changed_by_what_starts_from_it_and_survives_pickling():
    y = np.random.default_rng(0).standard_normal(9)
    result = project(choose(4), y)
    kept = result.point.copy(), result.atoms.copy(), result.weights.copy()
    project(choose(4), -y, warm=result)
    for was, now in zip(kept, (result.point, result.atoms, result.weights), strict=True):
        np.testing.assert_array_equal(was, now)
    with pytest.raises(ValueError, match="read-only"):
        result.point[0] = 1.0
    ahead, same = (project(choose(4), y + 0.01, warm=one) for one in (result, pickle.loads(pickle.dumps(result))))
    np.testing.assert_array_equal(ahead.point, same.point)
    assert ahead.calls == same.calls


def test_an_oracle_that_reuses_its_array_does_no_harm():
    buffer = np.zeros(5)

    def reusing(cost):
        buffer[:] = choose(2)(cost)
        return buffer

    y = np.random.default_rng(0).standard_normal(5)
    for method in METHODS:
        result = project_by(method, reusing, y)
        np.testing.assert_allclose(result.point, on_choices(2)(y), atol=2e-2)


def test_domains_and_bare_oracles_are_the_same_to_it():
    class Cube:
        dimension = 3

        def extreme_point(self, cost):
            return cube(cost)

    y = np.array([0.5, -3.0, 0.1])
    np.testing.assert_array_equal(project(Cube(), y).point, project(cube, y).point)
    with pytest.raises(ValueError, match=r"target must have shape \(3,\)"):
        project(Cube(), [1.0, 2.0])


def test_a_start_outside_the_set_is_found_out():
    elsewhere = project(lambda cost: 2 * cube(cost), [3.0, 1.9, -1.8])
    for method in METHODS:
        with pytest.raises(DomainError, match="a warm start belongs to the same set"):
            project_by(method, cube, [3.0, 1.9, -1.8], warm=elsewhere)


@every(
    "arguments, message",
    [
        ({"target": [1.0, np.nan]}, "target must be finite"),
        ({"target": [[1.0, 2.0]]}, "target must have shape"),
        ({"gap": -1.0}, "gap must be greater"),
        ({"gap": np.nan}, "gap must be finite"),
        ({"max_calls": 0}, "max_calls must be at least 1"),
        ({"domain": 7}, "domain must be a Domain or a linear oracle"),
        ({"warm": project(cube, np.zeros(3))}, "warm must come from the same set"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        project(**({"domain": cube, "target": [0.0, 0.0]} | arguments))


# ---------------------------------------------------------------------- every family of sets

every_family = every("family", all_domains())


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
        assert (
            certificate(domain.extreme_point, result.point, y)
            <= 1e-9 * size + 1e-13 * np.linalg.norm(result.point) ** 2
        )
        assert domain.contains(result.point, tolerance=1e-7 * (1 + domain.outer_radius))
        np.testing.assert_allclose(result.weights @ result.atoms, result.point, rtol=0, atol=1e-12 * (1 + size))
