"""The norm balls: oracles against linear programs and brute force, distances against a QP, and what rounding draws."""

import itertools
import math

import numpy as np
import piqp
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Ball, Box, KSparse, L1Ball, LInfBall
from sottovoce.errors import DomainError
from sottovoce.projection import project

HARD_COSTS = [[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [0.0, -2.0, 0.0, 2.0]]


def costs(seed=0, count=30):
    return [*np.random.default_rng(seed).standard_normal((count, 4)), *map(np.array, HARD_COSTS)]


def support_by_linear_program(cost, radius):
    """min <cost, x> over the l1 ball, as HiGHS sees it: x = u - v with u, v >= 0 and sum <= radius."""
    found = linprog(np.concatenate((cost, -cost)), np.ones((1, 8)), [radius])
    assert found.success
    return found.fun


def test_the_l1_oracle_against_a_linear_program():
    ball = L1Ball(4, 2.5)
    for cost in costs():
        assert cost @ ball.extreme_point(cost) == pytest.approx(support_by_linear_program(cost, 2.5), abs=1e-9)
        assert np.abs(ball.extreme_point(cost)).sum() == 2.5


def test_the_l_infinity_ball_is_a_box():
    ball, box = LInfBall(3, 2.0, [1.0, 2.0, 3.0]), Box([-1.0, 0.0, 1.0], [3.0, 4.0, 5.0])
    for cost in np.random.default_rng(0).standard_normal((20, 3)):
        np.testing.assert_array_equal(ball.extreme_point(cost), box.extreme_point(cost))
    assert (ball.inner_radius, ball.diameter) == (2.0, box.diameter)


@every("k", [1, 2, 3, 4])
def test_the_sparse_oracle_against_every_choice_of_coordinates(k):
    domain = KSparse(4, k, 3.0)
    for cost in costs():
        best = -3.0 * max(np.linalg.norm(cost[list(chosen)]) for chosen in itertools.combinations(range(4), k))
        found = domain.extreme_point(cost)
        assert cost @ found == pytest.approx(best, abs=1e-12)
        assert np.count_nonzero(found) <= k
        assert np.linalg.norm(found) == pytest.approx(3.0)


def test_sparse_sets_between_the_l1_and_the_euclidean_ball():
    rng = np.random.default_rng(1)
    for x in rng.standard_normal((50, 5)) * rng.uniform(0.1, 0.5, (50, 1)):
        assert KSparse(5, 1).norm(x) == pytest.approx(np.abs(x).sum())
        assert KSparse(5, 5).norm(x) == pytest.approx(np.linalg.norm(x))
        norms = [KSparse(5, k).norm(x) for k in range(1, 6)]
        assert norms == sorted(norms, reverse=True)
    for name in ("inner_radius", "outer_radius", "diameter"):
        assert getattr(KSparse(5, 1), name) == pytest.approx(getattr(L1Ball(5), name))
        assert getattr(KSparse(5, 5), name) == pytest.approx(getattr(Ball(5), name))


def test_the_sparse_norm_is_dual_to_the_oracle():
    """Norm(x) = max <x, y> over y with max <y, v> <= 1 for all vertices v: bounded below by every such y."""
    rng = np.random.default_rng(2)
    domain = KSparse(6, 3)
    for x in np.vstack((rng.standard_normal((20, 6)), rng.integers(-1, 2, (20, 6)))):
        sides = rng.standard_normal((200, 6))
        sides /= np.sqrt((np.sort(sides**2, axis=1)[:, -3:]).sum(axis=1))[:, None]
        assert domain.norm(x) >= (sides @ x).max() - 1e-12
    # And it is attained: scaled to norm 1, x is in the set; scaled to more, it is not, by the projection's certificate.
    for x in rng.standard_normal((4, 6)):
        for factor, inside in ((1 - 1e-3, True), (1 + 1e-3, False)):
            point = factor * x / domain.norm(x)
            nearest = project(domain.extreme_point, point, gap=1e-8, max_calls=1000)
            apart = math.dist(point, nearest.point)
            assert (apart <= 1e-4) if inside else (apart - nearest.gap / apart > 1e-5)


def l1_distance_by_quadratic_program(x, radius):
    """Min ||u - v - x||^2 over u, v >= 0 with sum u + v <= radius, by piqp."""
    n = x.size
    split = np.hstack((np.eye(n), -np.eye(n)))
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    rows = np.ones((1, 2 * n))
    solver.setup(
        2 * split.T @ split + 1e-12 * np.eye(2 * n),
        -2 * split.T @ x,
        None,
        None,
        rows,
        np.array([-1e30]),
        np.array([radius]),
        np.zeros(2 * n),
        np.full(2 * n, 1e30),
    )
    solver.solve()
    return np.linalg.norm(split @ solver.result.x - x)


def test_l1_contains_is_a_matter_of_distance():
    rng = np.random.default_rng(3)
    ball = L1Ball(4, 2.0, [1.0, 0.0, 0.0, -1.0])
    for x in ball.center + rng.standard_normal((20, 4)):
        distance = l1_distance_by_quadratic_program(x - ball.center, 2.0)
        if distance > 1e-5:
            assert ball.contains(x, distance * 1.001 + 1e-6)
            assert not ball.contains(x, distance * 0.999 - 1e-6)
        else:
            assert ball.contains(x)


def test_sparse_contains_agrees_with_the_l1_ball_where_scaling_down_is_a_detour():
    rng = np.random.default_rng(5)
    sparse, ball = KSparse(5, 1, 2.0), L1Ball(5, 2.0)
    for x in np.abs(rng.standard_normal((10, 5))) * 0.2 + [2.5, 0.0, 0.0, 0.0, 0.0]:
        distance = max(t for t in np.linspace(0.01, 3.0, 300) if not ball.contains(x, t))
        assert sparse.contains(x, 1.37 * distance)
        assert not sparse.contains(x, 0.99 * distance)


def test_sparse_contains_is_a_matter_of_distance():
    rng = np.random.default_rng(4)
    domain = KSparse(5, 2, 2.0)
    for x in rng.standard_normal((10, 5)) * 2:
        nearest = project(domain.extreme_point, x, gap=1e-8, max_calls=1000)
        distance = math.dist(x, nearest.point)
        if distance > 1e-4:
            assert domain.contains(x, distance * 1.4)  # False may be said from 3/4 of the tolerance on
            assert not domain.contains(x, distance * 0.99)


@every("domain", [L1Ball(4, 2.0), KSparse(4, 2, 2.0), KSparse(4, 1, 2.0), KSparse(4, 4, 2.0)])
@every("x", [[0.0, 0.0, 0.0, 0.0], [0.5, -0.3, 0.0, 0.1], [0.4, 0.4, 0.4, 0.4], [-2.0, 0.0, 0.0, 0.0]])
def test_rounding_has_the_right_mean_and_full_length(domain, x):
    """Hoeffding with 20000 draws of width 4: off by more than 0.1 with probability below 2 exp(-25) a coordinate."""
    drawn = domain.round(x, np.random.default_rng(0), size=20_000)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 2.0)
    assert (np.count_nonzero(drawn, axis=1) <= getattr(domain, "k", 1)).all()
    np.testing.assert_allclose(drawn.mean(axis=0), x, atol=0.1)


@every(
    "build, message",
    [
        (lambda: L1Ball(0), "n must be at least 1"),
        (lambda: L1Ball(2, radius=-1.0), "radius must be greater than 0"),
        (lambda: L1Ball(2, center=[0.0]), r"center must have shape \(2,\)"),
        (lambda: LInfBall(2, radius=0.0), "radius must be greater than 0"),
        (lambda: LInfBall(2, center=[0.0]), r"center must have shape \(2,\)"),
        (lambda: KSparse(3, 4), "k must be at least 1 and at most 3"),
        (lambda: KSparse(3, 1, radius=math.inf), "radius must be finite"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises((ValueError, TypeError), match=message):
        build()


def test_rounding_refuses_points_a_little_outside():
    for domain in (L1Ball(2), KSparse(2, 1)):
        with pytest.raises(DomainError, match="away"):
            domain.round([0.7, 0.3001], np.random.default_rng(0))
        domain.round([0.7, 0.3 + 1e-9], np.random.default_rng(0))
