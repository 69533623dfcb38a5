"""Round position: designs are optimal, searched or by formula; certificates hold, and the map goes both ways."""

import itertools

import numpy as np
import pytest

from optimizers import bandit
from sampling import every
from sottovoce.domains import (
    Ball,
    Birkhoff,
    Box,
    ConvexHull,
    Hypersimplex,
    MatroidBases,
    NuclearBall,
    Permutahedron,
    Product,
    Rounded,
    Simplex,
    SpanningTrees,
    design,
)
from sottovoce.domains.design import d_optimal_design
from sottovoce.domains.matroids import Partition


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
    found = d_optimal_design(domain)
    assert found.dimension == domain.affine_dimension
    leverages = found.leverage(vertices)
    assert leverages.max() <= found.dimension * (1 + 1e-3)
    assert found.worst_leverage == pytest.approx(leverages.max(), rel=1e-3)
    assert found.ratio == found.worst_leverage / found.dimension
    known = {tuple(np.round(vertex, 9)) for vertex in vertices}
    assert all(tuple(np.round(vertex, 9)) in known for vertex in found.vertices)
    np.testing.assert_allclose(found.weights @ found.vertices, found.mean, atol=1e-12 * np.abs(vertices).max())
    centred = found.vertices - found.mean
    covariance = (centred.T * found.weights) @ centred
    np.testing.assert_allclose(found.factor @ found.factor.T, covariance, atol=1e-9 * np.abs(covariance).max())
    np.testing.assert_allclose(found.whitening @ covariance @ found.whitening.T, np.eye(found.dimension), atol=1e-7)


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


# ---------------------------------------------------------------------- symmetric sets, by formula

SYMMETRIC = {
    "simplex": Simplex(40),
    "k of n": Hypersimplex(40, 7),
    "ranking": Permutahedron([*range(34), 40, 40]),
    "assignment": Birkhoff(7),
    "box": Box(np.zeros(40), [*np.linspace(1, 3, 36), 0, 0, 0, 0]),
    "ball": Ball(36, 2.0),
    "nuclear": NuclearBall(6, 7, 2.0),
    "product": Product([Simplex(20), Hypersimplex(21, 4)]),
    "groups": MatroidBases(Partition(np.arange(44) // 11, [3, 1, 11, 0])),
    "more groups": MatroidBases(Partition(np.arange(48) // 12, [3, 1, 5, 12])),
}
FORMULA = {name: domain for name, domain in SYMMETRIC.items() if domain.affine_dimension > 30}


def vertices(domain, count, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([domain.extreme_point(rng.standard_normal(domain.dimension)) for _ in range(count)])


@every("name", SYMMETRIC)
def test_an_orbit_is_the_covariance_of_cheapest_vertices(name):
    """Each entry of the empirical covariance, whitened, is within 7 deviations: a false alarm in 10^8 such tests."""
    domain, count = SYMMETRIC[name], 4_000
    axes, deviations = domain.orbit()
    np.testing.assert_allclose(axes @ axes.T, np.eye(len(axes)), atol=1e-12)
    assert len(axes) == domain.affine_dimension
    white = (vertices(domain, count) - domain.center) @ axes.T / deviations
    assert np.abs(white.mean(axis=0)).max() < 7 / np.sqrt(count)
    products = white[:, :, None] * white[:, None, :]
    slack = 7 * products.std(axis=0) / np.sqrt(count) + 1e-9
    assert (np.abs(products.mean(axis=0) - np.eye(len(axes))) < slack).all()


@pytest.mark.parametrize("name", FORMULA)
def test_a_design_by_formula_is_optimal_and_searches_nothing(name, monkeypatch):
    monkeypatch.setattr(design, "_search", lambda domain: pytest.fail("it was searched"))
    domain = FORMULA[name]
    found = d_optimal_design(domain)
    assert found.by_formula
    assert found.calls == 0
    points, d = vertices(domain, 50), domain.affine_dimension
    np.testing.assert_allclose(found.leverage(points), d, rtol=1e-9)
    assert found.worst_leverage == d
    rounded = Rounded(domain)  # contradicts nothing
    images = rounded.from_original(points)
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), np.sqrt(d))
    np.testing.assert_allclose(rounded.to_original(images), points, atol=1e-9)
    assert rounded.outer_radius == pytest.approx(np.sqrt(d))
    assert rounded.inner_radius >= 1 / np.sqrt(d) * (1 - 1e-6)
    for direction in np.random.default_rng(3).standard_normal((10, d)):  # no supporting plane is nearer
        direction /= np.linalg.norm(direction)
        assert direction @ rounded.extreme_point(-direction) >= rounded.inner_radius * (1 - 1e-9)


@every("domain", [Hypersimplex(300, 20), Simplex(400)])
def test_worst_case_plans_of_many_coordinates_play_vertices(domain):
    made = bandit(domain, 20_000, losses="linear", integral=True, plan="worst-case", rate=0.5)
    assert made.plan.exploration == "designs"
    for _ in range(3):
        actions = made.ask_round(500)
        assert {one.size for one in actions.indices} == {int(actions.x[0].sum())}
        made.tell(actions.ids, np.full(len(actions), 0.5))
    assert domain.contains(made.ask().x)


def test_a_search_ends_when_its_work_is_spent(monkeypatch):
    domain = SpanningTrees([(i, j) for i in range(7) for j in range(i)])
    free = d_optimal_design(domain)
    monkeypatch.setattr(design, "_WORK", 1e6)
    rushed = design._search(domain)
    assert rushed.calls < free.calls
    np.testing.assert_allclose(rushed.weights.sum(), 1)
    local = (rushed.vertices - rushed.mean) @ rushed.whitening.T
    np.testing.assert_allclose((local.T * rushed.weights) @ local, np.eye(rushed.dimension), atol=1e-8)
    assert rushed.worst_leverage >= rushed.dimension * (1 - 1e-9)
