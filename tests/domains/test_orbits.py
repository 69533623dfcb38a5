"""Symmetric sets: designs by formula are the spread of vertices of random costs, and optimal; other searches end."""

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.domains import Rounded, design
from sottovoce.domains.design import d_optimal_design

matroids = sv.domains.matroids
SYMMETRIC = {
    "simplex": sv.domains.Simplex(40),
    "k of n": sv.domains.Hypersimplex(40, 7),
    "ranking": sv.domains.Permutahedron([*range(34), 40, 40]),
    "assignment": sv.domains.Birkhoff(7),
    "box": sv.domains.Box(np.zeros(40), [*np.linspace(1, 3, 36), 0, 0, 0, 0]),
    "ball": sv.domains.Ball(36, 2.0),
    "nuclear": sv.domains.NuclearBall(6, 7, 2.0),
    "product": sv.domains.Product([sv.domains.Simplex(20), sv.domains.Hypersimplex(21, 4)]),
    "groups": sv.domains.MatroidBases(matroids.Partition(np.arange(44) // 11, [3, 1, 11, 0])),
    "more groups": sv.domains.MatroidBases(matroids.Partition(np.arange(48) // 12, [3, 1, 5, 12])),
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
    np.testing.assert_allclose(found.leverage(vertices(domain, 50)), domain.affine_dimension, rtol=1e-9)
    assert found.worst_leverage == domain.affine_dimension


@every("name", FORMULA)
def test_rounded_position_by_formula_contradicts_nothing(name):
    rounded = Rounded(FORMULA[name])
    d = rounded.dimension
    images = rounded.from_original(vertices(rounded.domain, 30))
    np.testing.assert_allclose(np.linalg.norm(images, axis=1), np.sqrt(d))
    assert rounded.outer_radius == pytest.approx(np.sqrt(d))
    assert rounded.inner_radius >= 1 / np.sqrt(d) * (1 - 1e-6)
    rng = np.random.default_rng(3)
    for direction in rng.standard_normal((10, d)):  # the ball is inside: no supporting plane is nearer
        direction /= np.linalg.norm(direction)
        assert direction @ rounded.extreme_point(-direction) >= rounded.inner_radius * (1 - 1e-9)
    back = rounded.to_original(images)
    np.testing.assert_allclose(back, vertices(rounded.domain, 30), atol=1e-9)


@every("domain", [sv.domains.Hypersimplex(300, 20), sv.domains.Simplex(400)])
def test_worst_case_plans_of_many_coordinates_play_vertices(domain):
    options = {"horizon": 20_000, "loss_range": (0.0, 1.0), "privacy": sv.PureDP(1.0), "losses": "linear"}
    made = sv.PrivateBandit(
        domain, **options, integral=True, plan="worst-case", seed=1, noise=sv.SimulatedNoise(1), rate=0.5
    )
    assert made.plan.exploration == "designs"
    for _ in range(3):
        actions = made.ask_round(500)
        assert {one.size for one in actions.indices} == {int(actions.x[0].sum())}
        made.tell(actions.ids, np.full(len(actions), 0.5))
    assert domain.contains(made.ask().x)


def test_a_search_ends_when_its_work_is_spent(monkeypatch):
    domain = sv.domains.SpanningTrees([(i, j) for i in range(7) for j in range(i)])
    free = d_optimal_design(domain)
    monkeypatch.setattr(design, "_WORK", 1e6)
    rushed = design._search(domain)
    assert rushed.calls < free.calls
    np.testing.assert_allclose(rushed.weights.sum(), 1)
    local = (rushed.vertices - rushed.mean) @ rushed.whitening.T
    np.testing.assert_allclose((local.T * rushed.weights) @ local, np.eye(rushed.dimension), atol=1e-8)
    assert rushed.worst_leverage >= rushed.dimension * (1 - 1e-9)
