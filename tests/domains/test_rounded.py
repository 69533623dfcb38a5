"""Round position: the design is optimal, its certificates hold, and the map goes both ways."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from sampling import every
from sottovoce.domains import Ball, Birkhoff, Box, ConvexHull, Hypersimplex, Rounded, Simplex
from sottovoce.domains.design import d_optimal_design, optimal_weights


def grid_paths(side):
    """All monotone paths through a grid of side x side nodes, as vertices over its edges."""
    steps = [tuple(sorted(chosen)) for chosen in itertools.combinations(range(2 * side - 2), side - 1)]
    edges, rows = {}, []
    for ups in steps:
        x = y = 0
        used = []
        for step in range(2 * side - 2):
            up = step in ups
            used.append(edges.setdefault((x, y, up), len(edges)))
            x, y = (x + 1, y) if up else (x, y + 1)
        rows.append(used)
    points = np.zeros((len(rows), len(edges)))
    for point, used in zip(points, rows, strict=True):
        point[used] = 1.0
    return ConvexHull(points)


NEEDLE = Box([0, -5, 100], [1e-3, 5, 200])


@every(
    "domain, vertices",
    [
        (grid_paths(4), grid_paths(4).points),
        (Simplex(6), np.eye(6)),
        (NEEDLE, np.array(list(itertools.product(*zip(NEEDLE.low, NEEDLE.high, strict=True))))),
        (
            Hypersimplex(7, 3),
            np.array([np.isin(np.arange(7), c) for c in itertools.combinations(range(7), 3)], dtype=float),
        ),
        (Birkhoff(4), np.array([np.eye(4)[list(p)].ravel() for p in itertools.permutations(range(4))])),
    ],
)
def test_the_design_is_optimal_over_all_vertices(domain, vertices):
    """Kiefer and Wolfowitz: optimal exactly if no leverage exceeds d; here over every vertex there is."""
    design = d_optimal_design(domain)
    assert design.dimension == domain.affine_dimension
    leverages = design.leverage(vertices)
    assert leverages.max() <= design.dimension * (1 + 1e-3)
    assert design.worst_leverage == pytest.approx(leverages.max(), rel=1e-3)
    assert design.ratio == design.worst_leverage / design.dimension
    known = {tuple(np.round(vertex, 9)) for vertex in vertices}
    assert all(tuple(np.round(vertex, 9)) in known for vertex in design.vertices)
    np.testing.assert_allclose(design.weights @ design.vertices, design.mean, atol=1e-12 * np.abs(vertices).max())
    centred = design.vertices - design.mean
    covariance = (centred.T * design.weights) @ centred
    np.testing.assert_allclose(design.factor @ design.factor.T, covariance, atol=1e-9 * np.abs(covariance).max())
    np.testing.assert_allclose(design.whitening @ covariance @ design.whitening.T, np.eye(design.dimension), atol=1e-7)


def test_weights_for_rows_with_a_known_design():
    """A regular pentagon with points inside: equal weights on its corners, none inside."""
    angles = 2 * np.pi * np.arange(5) / 5
    corners = np.column_stack((np.cos(angles), np.sin(angles)))
    rows = np.vstack((corners, 0.5 * corners, [[0.1, 0.0]])) @ np.array([[3.0, 1.0], [0.0, 1e-3]]) + 7.0
    weights = optimal_weights(rows, np.full(11, 1 / 11), 1e-9)
    np.testing.assert_allclose(weights, [0.2] * 5 + [0.0] * 6, atol=1e-6)


@every(
    "domain, ratio",
    [(grid_paths(5), 16.0), (Hypersimplex(20, 5), 7.55), (Birkhoff(5), 8.0), (NEEDLE, 3**0.5), (Ball(5), 1.0)],
)
def test_the_ratio_of_the_radii_is_at_most_the_dimension(domain, ratio):
    rounded = Rounded(domain)
    d = rounded.dimension
    assert rounded.inner_radius >= (1 - 1e-3) / np.sqrt(d)
    assert rounded.likely_outer_radius <= (1 + 1e-3) * np.sqrt(d)
    assert rounded.likely_outer_radius / rounded.inner_radius == pytest.approx(ratio, rel=2e-3)
    assert rounded.outer_radius >= rounded.likely_outer_radius * (1 - 1e-9)


def test_the_inner_ball_of_the_paths_is_inside_by_linear_programming():
    """Each point of the ball's surface must be a mean of paths."""
    domain = grid_paths(4)
    rounded, paths = Rounded(domain), domain.points
    rng = np.random.default_rng(0)
    far = rounded.from_original(paths)
    directions = np.vstack((rng.standard_normal((10, rounded.dimension)), -far[:10]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for z in rounded.inner_radius * directions:
        x = rounded.to_original(z)
        assert linprog(
            np.zeros(len(paths)), A_eq=np.vstack((paths.T, np.ones(len(paths)))), b_eq=np.append(x, 1)
        ).success
    assert np.linalg.norm(far, axis=1).max() <= rounded.outer_radius


@every("domain", [NEEDLE, grid_paths(3), Box([0, 2, -1], [1, 2, 3])])
def test_the_map_goes_both_ways_and_keeps_values(domain):
    rounded, rng = Rounded(domain), np.random.default_rng(1)
    for cost in rng.standard_normal((10, domain.dimension)):
        x = domain.extreme_point(cost)
        z = rounded.from_original(x)
        assert z.shape == (domain.affine_dimension,)
        np.testing.assert_allclose(rounded.to_original(z), x, atol=1e-9 * np.abs(x).max())
    for side in rng.standard_normal((10, rounded.dimension)):
        best = rounded.extreme_point(side)
        images = rounded.from_original(
            [domain.extreme_point(cost) for cost in rng.standard_normal((50, domain.dimension))]
        )
        assert side @ best <= (images @ side).min() + 1e-9
    drawn = rounded.round(rounded.center, rng, size=30)
    for z in drawn:
        assert domain.contains(rounded.to_original(z), 1e-9 * domain.outer_radius)
