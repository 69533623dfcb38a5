"""Polytopes by their inequalities, and hulls by their points: against scipy's linprog, known shapes, and themselves."""

import os
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from children import at_once
from sampling import every
from sottovoce.domains import Birkhoff, Box, ConvexHull, Hypersimplex, Polytope, Simplex


def random_description(seed):
    """Rows with ties and without, some redundant; bounds on all sides."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 8)), int(rng.integers(1, 14))
    rows = rng.integers(-1, 2, (m, n)).astype(float) if seed % 2 else rng.standard_normal((m, n))
    return rows, rng.random(m) + 0.1, rng


def hard_and_random_costs(rng, n):
    signs = rng.integers(-1, 2, (8, n)).astype(float)
    return [*rng.standard_normal((8, n)), *signs, np.zeros(n), np.ones(n), -np.ones(n), 1e-9 * np.ones(n)]


@every("seed", range(12))
def test_the_oracle_against_linprog_with_accurate_vertices_even_where_a_face_is_cheapest(seed):
    rows, limits, rng = random_description(seed)
    polytope, n = Polytope(rows, limits, bounds=(-1, 2)), rows.shape[1]
    everything, sides = np.vstack((rows, np.eye(n), -np.eye(n))), np.concatenate((limits, np.full(n, 2.0), np.ones(n)))
    for cost in hard_and_random_costs(rng, n):
        vertex = polytope.extreme_point(cost)
        scaled = cost / max(np.abs(cost).max(), 1e-300)  # linprog's tolerances are absolute
        assert scaled @ vertex == pytest.approx(linprog(scaled, rows, limits, bounds=(-1, 2)).fun, abs=1e-9)
        slack = sides - everything @ vertex
        assert (slack >= -1e-12).all()
        assert np.linalg.matrix_rank(everything[slack < 1e-9]) == n


@every("seed", range(12))
def test_answers_are_a_function_of_the_cost_whatever_was_asked_before(seed):
    rows, limits, rng = random_description(seed)
    polytope = Polytope(rows, limits, bounds=(-1, 2))
    costs = hard_and_random_costs(rng, rows.shape[1])
    first = [polytope.extreme_point(cost) for cost in costs]
    copy = pickle.loads(pickle.dumps(polytope))
    for i in rng.permutation(len(costs)):
        for asked in (polytope, copy):
            polytope.extreme_point(costs[i] + 0.01 * rng.standard_normal(rows.shape[1]))
            np.testing.assert_array_equal(asked.extreme_point(costs[i]), first[i])


LINES = np.vstack((np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))))  # of a 3 by 3 matrix
KNOWN = [  # the first four are equations, bounds and sparse rows of one simplex
    (Polytope(A_eq=np.ones((1, 4)), b_eq=[1.0], bounds=(0, None)), Simplex(4)),
    (Polytope(A_eq=sparse.csr_matrix(np.ones((1, 4))), b_eq=[1.0], bounds=[(0, 1)] * 4), Simplex(4)),
    (Polytope(-np.eye(4), np.zeros(4), np.full((2, 4), 3.0), [3.0, 3.0]), Simplex(4)),
    (Polytope(np.vstack((np.ones(4), -np.ones(4), -np.eye(4))), [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]), Simplex(4)),
    (Polytope(A_eq=np.ones((1, 6)), b_eq=[2.0], bounds=(0, 1)), Hypersimplex(6, 2)),
    (Polytope(bounds=[(0, 1e-3), (-5, 5), (100, 200)]), Box([0, -5, 100], [1e-3, 5, 200])),
    (Polytope(bounds=[(0, 1), (2, 2), (-1, 3)]), Box([0, 2, -1], [1, 2, 3])),
    (Polytope(A_eq=LINES, b_eq=np.ones(6), bounds=(0, None)), Birkhoff(3)),
]


@every("polytope, known", KNOWN)
def test_geometry_of_known_sets(polytope, known):
    assert polytope.affine_dimension == known.affine_dimension
    assert polytope.inner_radius == pytest.approx(known.inner_radius, rel=1e-5)
    assert polytope.inner_radius <= known.inner_radius
    # The largest ball need not be unique; the one chosen is near the middle.
    assert polytope.outer_radius <= 1.05 * known.outer_radius
    assert not isinstance(known, Simplex) or np.allclose(polytope.center, known.center, atol=1e-5)
    vectors = np.random.default_rng(0).uniform(0, 1, (20, known.dimension)) - 0.5
    np.testing.assert_allclose(polytope.tangent(vectors), known.tangent(vectors), atol=1e-12)
    for x in known.center + 0.7 * known.tangent(vectors):
        assert polytope.contains(x) == known.contains(x)


@every("scale", [1e-6, 1.0, 1e6])
def test_the_scale_of_the_set_does_not_matter(scale):
    rows, limits, rng = random_description(4)
    small, large = Polytope(rows, limits, bounds=(-1, 2)), Polytope(rows, scale * limits, bounds=(-scale, 2 * scale))
    for cost in hard_and_random_costs(rng, rows.shape[1]):
        np.testing.assert_allclose(large.extreme_point(cost) / scale, small.extreme_point(cost), atol=1e-12)
    assert large.inner_radius == pytest.approx(scale * small.inner_radius, rel=1e-5)


def test_contains_near_corners_is_a_matter_of_distance():
    """Outside the corner of a wedge the violation of each inequality is less than the distance."""
    wedge = Polytope([[1.0, 10.0], [1.0, -10.0], [-1.0, 0.0]], [0.0, 0.0, 1.0])
    corner, outside = np.zeros(2), np.array([1e-3, 0.0])
    assert not wedge.contains(outside, 9e-4)
    assert not wedge.contains(outside, 2e-4)
    assert wedge.contains(outside, 1.4e-3)
    assert wedge.contains(corner)


def test_threads_share_a_polytope():
    polytope = Polytope.examples()[0]
    costs = np.random.default_rng(0).standard_normal((50, 4))
    expected = [polytope.extreme_point(cost) for cost in costs]

    def ask(seed):
        order = np.random.default_rng(seed).permutation(50)
        return [i for i in order if not np.array_equal(polytope.extreme_point(costs[i]), expected[i])]

    assert at_once(ask) == [[]] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_makes_its_own_model():
    polytope = Polytope.examples()[0]
    cost = np.array([1.0, -2.0, 0.5, 0.0])
    expected, model = polytope.extreme_point(cost), polytope._program._live.model
    polytope._program._live.lock.acquire()  # as if another thread were in the middle of a call
    try:
        child = os.fork()
        if child == 0:  # pragma: no cover - seen by the parent only
            same = np.array_equal(polytope.extreme_point(cost), expected)
            os._exit(0 if same and polytope._program._live.model is not model else 1)
    finally:
        polytope._program._live.lock.release()
    assert os.waitpid(child, 0)[1] == 0


def test_hulls_against_all_points_and_ties_at_corners():
    points = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0), [0.0, 5.0]), axis=-1).reshape(-1, 3)
    hull, box = ConvexHull(np.random.default_rng(0).permutation(points)), Box([0, 0, 0], [3, 2, 5])
    corners = {tuple(box.extreme_point(cost)) for cost in np.random.default_rng(0).standard_normal((200, 3))}
    for cost in hard_and_random_costs(np.random.default_rng(1), 3):
        found = hull.extreme_point(cost)
        assert cost @ found == pytest.approx((points @ cost).min(), abs=1e-12)
        assert tuple(found) in corners
    assert hull.diameter == pytest.approx(box.diameter)
    assert hull.outer_radius == pytest.approx(np.linalg.norm(points - hull.center, axis=1).max())
    assert hull.inner_radius == pytest.approx(1.0, rel=0.01)


def test_hulls_answer_with_an_end_of_an_edge_not_its_middle_when_rounding_makes_that_cheaper():
    rng = np.random.default_rng(3)
    for first, last, cost in rng.standard_normal((200, 3, 4)):
        along = last - first
        cost = cost - (cost @ along) / (along @ along) * along
        middle = first + along * rng.uniform(0.1, 0.9)
        found = ConvexHull([first, middle, last]).extreme_point(cost)
        assert np.array_equal(found, first) or np.array_equal(found, last)
