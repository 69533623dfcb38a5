"""Assignments and matchings: against all of them on small cases, HiGHS, a QP solver, and closed forms."""

import itertools
import math

import numpy as np
import piqp
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Birkhoff, Box, Custom, Matchings
from sottovoce.domains._solvers.assignment import permutation_mixture
from sottovoce.errors import DomainError
from sottovoce.projection import project


def permutations(n):
    return np.array([np.eye(n)[list(order)].ravel() for order in itertools.permutations(range(n))])


def line_sums(n):
    """Rows and columns of an n x n matrix add up to 1; one of the equations follows from the others."""
    eye, ones = np.eye(n), np.ones((1, n))
    return np.vstack((np.kron(eye, ones), np.kron(ones, eye)))[:-1]


def costs(rng, size):
    yield from (np.zeros(size), np.ones(size), -np.ones(size))
    yield from rng.integers(-1, 2, size=(20, size)).astype(float)
    yield from rng.standard_normal((20, size))


@every("n", [2, 3, 4, 5])
def test_assignments_against_all_permutations(n):
    domain, vertices = Birkhoff(n), permutations(n)
    for cost in costs(np.random.default_rng(0), n * n):
        found = domain.extreme_point(cost)
        assert (vertices == found).all(axis=1).any()
        assert cost @ found == pytest.approx((vertices @ cost).min(), abs=1e-12)
    np.testing.assert_allclose(domain.center, vertices.mean(axis=0))
    np.testing.assert_allclose(np.linalg.norm(vertices - domain.center, axis=1), domain.outer_radius)
    assert domain.affine_dimension == np.linalg.matrix_rank(vertices - domain.center)
    assert np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max() == pytest.approx(domain.diameter)
    axes = -domain.tangent(np.eye(n * n))
    room = [axis @ (domain.extreme_point(-axis) - domain.center) / np.linalg.norm(axis) for axis in axes]
    np.testing.assert_allclose(room, domain.inner_radius)


def test_assignments_against_highs():
    domain = Birkhoff(12)
    for cost in itertools.islice(costs(np.random.default_rng(1), 144), 0, None, 5):
        known = linprog(cost, A_eq=line_sums(12), b_eq=np.ones(23))
        assert cost @ domain.extreme_point(cost) == pytest.approx(known.fun, abs=1e-8)


@every("n", [2, 3, 6])
def test_projection_on_doubly_stochastic_matrices_against_a_qp_solver(n):
    domain, m = Birkhoff(n), n * n
    for y in np.random.default_rng(2).standard_normal((5, m)):
        found = project(domain, y, gap=1e-16)
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-13
        solver.setup(np.eye(m), -y, line_sums(n), np.ones(2 * n - 1), x_l=np.zeros(m), x_u=np.full(m, 2.0))
        assert solver.solve() == piqp.PIQP_SOLVED
        np.testing.assert_allclose(found.point, solver.result.x, atol=1e-6)
        away = found.point - y
        assert abs(away @ (found.point - domain.extreme_point(away))) < 1e-12


def test_tangents_have_no_line_sums_left():
    rows = Birkhoff(5).tangent(np.random.default_rng(3).standard_normal((4, 25)))
    np.testing.assert_allclose(rows @ line_sums(5).T, 0.0, atol=1e-12)


def test_contains_measures_the_distance_of_a_matrix():
    domain, rng = Birkhoff(4), np.random.default_rng(4)
    for _ in range(20):
        y = domain.center + rng.standard_normal(16) * rng.choice([0.02, 0.2])
        away = math.dist(y, project(domain, y, gap=1e-16).point)
        near = domain._bracket(y)
        assert near.at_least * (1 - 1e-9) <= away <= near.at_most * (1 + 1e-9)
        assert domain.contains(y, 1.34 * away)  # between 1 and 4/3 it may say either
        assert not domain.contains(y, 0.99 * away)


@every("n", [1, 2, 5, 12])
@every("kind", ["few", "many", "sinkhorn"])
def test_mixtures_of_permutations_are_the_matrix(n, kind):
    rng = np.random.default_rng(5)
    if kind == "sinkhorn":
        matrix = rng.gamma(0.3, size=(n, n)) + 1e-9
        for _ in range(20_000):
            matrix /= matrix.sum(axis=0)
            matrix /= matrix.sum(axis=1, keepdims=True)
    else:
        shuffles = [np.eye(n)[rng.permutation(n)] for _ in range(3 if kind == "few" else 200)]
        matrix = np.tensordot(rng.dirichlet(np.ones(len(shuffles))), shuffles, axes=1)
    orders, weights = permutation_mixture(matrix)
    assert len(weights) <= n * n - 2 * n + 2 + 1
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 1e-13).all()  # nothing that only rounding made
    assert (np.sort(orders, axis=1) == np.arange(n)).all()
    np.testing.assert_allclose(np.tensordot(weights, np.eye(n)[orders], axes=1), matrix, atol=1e-9)


def test_mixtures_have_no_permutations_that_only_rounding_made():
    rng = np.random.default_rng(7)
    for _ in range(300):
        shuffles = [np.eye(4)[rng.permutation(4)] for _ in range(6)]
        _, weights = permutation_mixture(np.tensordot(rng.dirichlet(np.ones(6)), shuffles, axes=1))
        assert len(weights) <= 10
        assert weights.min() > 1e-13


def test_rounded_matrices_are_permutations_with_the_right_mean():
    """Hoeffding: 36 entries, 4 points, each off with probability 1e-9 at most."""
    domain, rng, draws = Birkhoff(6), np.random.default_rng(6), 20_000
    vertices = np.array([domain.extreme_point(cost) for cost in rng.standard_normal((30, 36))])
    for x in (
        rng.dirichlet(np.ones(30)) @ vertices,
        rng.dirichlet(np.full(30, 0.1)) @ vertices,
        domain.center,
        vertices[0],
    ):
        drawn = domain.round(x, rng, size=draws)
        assert (drawn @ line_sums(6).T == 1.0).all()
        assert set(np.unique(drawn)) == {0.0, 1.0}
        assert np.abs(drawn.mean(axis=0) - x).max() <= math.sqrt(math.log(2e9) / (2 * draws)) + 1e-9
        assert (drawn[:, x == 0.0] == 0.0).all()


def test_a_matrix_that_is_not_doubly_stochastic_is_not_rounded():
    rng = np.random.default_rng(0)
    for bad in ([0.6, 0.5, 0.4, 0.5], [1.1, -0.1, -0.1, 1.1]):
        with pytest.raises(DomainError, match="away: project it first"):
            Birkhoff(2).round(bad, rng)
    assert Birkhoff(2).round([1 + 1e-9, -1e-9, 0.0, 1.0], rng).tolist() == [1, 0, 0, 1]


PAIRS = {
    "all": (2, 3, None),
    "square": (3, 3, None),
    "one": (1, 1, None),
    "star": (1, 4, None),
    "path": (3, 3, [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]),
    "loners": (4, 3, [(3, 2), (0, 2), (3, 0), (0, 0), (2, 0)]),
}
every_case = every("case", PAIRS.values())


def all_matchings(domain):
    pairs = domain.pairs
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=len(pairs))))
    sums = member_sums(domain)
    return rows[(rows @ sums.T <= 1).all(axis=1)]


def member_sums(domain):
    left = [[float(a == i) for a, _ in domain.pairs] for i in range(domain.left)]
    right = [[float(b == j) for _, b in domain.pairs] for j in range(domain.right)]
    return np.array(left + right)


@every_case
def test_matchings_against_all_of_them_and_highs(case):
    domain = Matchings(*case)
    vertices, sums = all_matchings(domain), member_sums(domain)
    for cost in costs(np.random.default_rng(0), domain.dimension):
        found = domain.extreme_point(cost)
        assert (vertices == found).all(axis=1).any()
        assert cost @ found == pytest.approx((vertices @ cost).min(), abs=1e-12)
        assert cost @ found == pytest.approx(linprog(cost, A_ub=sums, b_ub=np.ones(len(sums))).fun, abs=1e-9)
        assert (found[cost >= 0] == 0).all()
    assert domain.outer_radius == pytest.approx(np.linalg.norm(vertices - domain.center, axis=1).max())
    assert np.linalg.norm(vertices[:, None] - vertices[None], axis=2).max() == pytest.approx(domain.diameter)


@every_case
def test_the_ball_in_the_matchings_is_the_largest(case):
    domain = Matchings(*case)
    sums, n = member_sums(domain), domain.dimension
    best = linprog(
        [*np.zeros(n), -1.0],
        A_ub=np.vstack(
            (np.hstack((-np.eye(n), np.ones((n, 1)))), np.hstack((sums, np.linalg.norm(sums, axis=1)[:, None])))
        ),
        b_ub=np.concatenate((np.zeros(n), np.ones(len(sums)))),
    )
    assert domain.inner_radius == pytest.approx(-best.fun)
    assert min(domain.center) >= domain.inner_radius
    assert (sums @ domain.center + domain.inner_radius * np.linalg.norm(sums, axis=1)).max() <= 1 + 1e-12
    assert Custom(domain.extreme_point, n).inner_radius <= domain.inner_radius * (1 + 1e-9)


@every_case
def test_projection_on_matchings_against_a_qp_solver(case):
    domain = Matchings(*case)
    sums, n = member_sums(domain), domain.dimension
    for y in np.random.default_rng(2).standard_normal((5, n)):
        found = project(domain, y, gap=1e-16)
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-13
        solver.setup(
            np.eye(n), -y, G=sums, h_l=np.full(len(sums), -1.0), h_u=np.ones(len(sums)), x_l=np.zeros(n), x_u=np.ones(n)
        )
        assert solver.solve() == piqp.PIQP_SOLVED
        np.testing.assert_allclose(found.point, solver.result.x, atol=1e-6)


@every_case
def test_rounded_matchings_are_matchings_with_the_right_mean(case):
    """Hoeffding: below 100 entries in all, each off with probability 1e-9 at most."""
    domain = Matchings(*case)
    vertices, rng, draws = all_matchings(domain), np.random.default_rng(3), 20_000
    for x in (rng.dirichlet(np.ones(len(vertices))) @ vertices, domain.center, vertices[-1], vertices[0]):
        drawn = domain.round(x, rng, size=draws)
        assert set(np.unique(drawn)) <= {0.0, 1.0}
        assert (drawn @ member_sums(domain).T <= 1).all()
        assert np.abs(drawn.mean(axis=0) - x).max() <= math.sqrt(math.log(2e9) / (2 * draws)) + 1e-9


def test_members_with_one_pair_each_decide_on_their_own():
    domain, box = Matchings(3, 3, [(0, 2), (1, 0), (2, 1)]), Box(0, 1, 3)
    for name in ("affine_dimension", "inner_radius", "outer_radius", "diameter"):
        assert getattr(domain, name) == pytest.approx(getattr(box, name))


@every(
    "build, message",
    [
        (lambda: Birkhoff(1), "n must be at least 2"),
        (lambda: Matchings(0, 2), "left must be at least 1"),
        (lambda: Matchings(2, 2, [(0, 0), (0, 2)]), r"pairs must be \(0 to 1, 0 to 1\), got \(0, 2\)"),
        (lambda: Matchings(2, 2, [(0, 0), (1, 1), (0, 0)]), r"distinct, but \(0, 0\) is there twice"),
        (lambda: Matchings(2, 2, [(0.5, 0.0)]), "whole numbers of shape"),
        (lambda: Matchings(2, 2, []), "whole numbers of shape"),
    ],
)
def test_what_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
