"""Sets and targets that are hard on floating point: every method ends in a true certificate or a clear error."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections import METHODS, TIGHT, project_by
from sampling import every
from sottovoce.errors import DomainError
from sottovoce.projection import project


def hull(points):
    return lambda cost: points[(points @ cost).argmin()]


def certificate(points, x, y):
    return float((x - y) @ x - (points @ (x - y)).min())


def check(points, y, method=TIGHT, **options):
    """Project, and compare what the result says of itself with what holds."""
    result = project_by(method, hull(points), y, **options)
    size = np.abs(points).max() + np.abs(y - points[0]).max()
    assert certificate(points, result.point, y) <= result.gap + 1e-13 * size * size
    assert result.converged == (result.gap <= result.tolerance)
    if method == TIGHT:
        np.testing.assert_allclose(result.weights @ result.atoms, result.point, atol=1e-14 * size)
        assert result.weights.min() >= 0.0
        assert result.weights.sum() == pytest.approx(1.0, abs=1e-12)
    return result


@settings(max_examples=250, deadline=None)
@given(
    method=st.sampled_from(METHODS),
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 12),
    dimension=st.integers(1, 6),
    rank=st.integers(1, 6),
    copies=st.integers(1, 3),
    jitter=st.sampled_from([0.0, 1e-15, 1e-9]),
    thin=st.sampled_from([1.0, 1e-4, 1e-8]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    offset=st.sampled_from([0.0, 1.0, 1e4]),
    where=st.sampled_from(["vertex", "mean", "edge", "near", "far", "very far"]),
)
def test_nasty_sets_end_in_a_true_certificate(
    method, seed, count, dimension, rank, copies, jitter, thin, scale, offset, where
):
    """Duplicates, near duplicates, flat and thin sets, ties on a grid, all sizes; targets at, in, near and far."""
    rng = np.random.default_rng(seed)
    grid = (rng.integers(-2, 3, (count, rank)) @ rng.integers(-1, 2, (rank, dimension))).astype(float)
    grid[:, 0] *= thin
    points = np.repeat(grid, copies, axis=0)
    points = scale * (points + jitter * rng.standard_normal(points.shape) + offset)
    away = scale * rng.standard_normal(dimension)
    y = {
        "vertex": points[0],
        "mean": points.mean(axis=0),
        "edge": (points[0] + points[-1]) / 2,
        "near": points[0] + away,
        "far": points[0] + 1e3 * away,
        "very far": points[0] + 1e7 * away,
    }[where]
    result = check(points, y, method, max_calls=None if method == TIGHT else 200)
    if method == TIGHT:
        assert result.converged, result
        if where in ("vertex", "mean", "edge"):
            size = np.abs(points).max()
            assert math.dist(result.point, y) <= 1e-4 * np.ptp(points, axis=0).max() + 1e-12 * size


@every("scale", [1e-6, 1.0, 1e6])
def test_a_warm_start_from_a_vertex_does_not_mistake_the_unit(scale):
    """One atom tells nothing of the scale of the set, by which the default gap is measured."""
    rng = np.random.default_rng(0)
    points, y = scale * rng.standard_normal((40, 8)), scale * rng.standard_normal(8)
    vertex = check(points, points[0] + 100 * (points[0] - points.mean(axis=0)))
    assert len(vertex.weights) == 1
    warm, cold = check(points, y, warm=vertex), check(points, y)
    np.testing.assert_allclose(warm.point, cold.point, atol=1e-4 * scale)


@every("method", METHODS)
def test_very_many_dimensions_and_a_set_of_few(method):
    rng = np.random.default_rng(2)
    n, count = 20_000, 7
    points = rng.standard_normal((count, n))
    mix = rng.dirichlet(np.ones(count))
    result = check(points, mix @ points, method, max_calls=30)
    assert result.calls <= (15 if method == TIGHT else 30)
    if method == TIGHT:
        np.testing.assert_allclose(sorted(result.weights), sorted(mix), atol=1e-5)


def test_an_impossible_gap_ends_early_and_without_a_claim():
    rng = np.random.default_rng(3)
    points = 100.0 + rng.standard_normal((60, 10))
    for y in 100.0 + rng.standard_normal((5, 10)):
        result = check(points, y, gap=0.0)
        assert result.gap <= 1e-9
        assert result.calls < 300


def test_a_target_beyond_all_squares_is_no_trouble_or_a_clear_error():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    result = project(hull(points), [1e200, 0.0])
    np.testing.assert_allclose(result.point, [1.0, 0.0], atol=1e-6)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(DomainError, match="overflow"):
        project(hull(1e200 * points), [1e200, 3e200])


BROKEN = {
    "NaN": lambda cost: np.full(cost.size, math.nan),
    "infinity": lambda cost: np.full(cost.size, math.inf),
    "NaN later on": lambda cost: np.where(cost > 0, -1.0, 1.0) * (math.nan if abs(cost[0]) < 3 else 1.0),
    "another shape": lambda cost: np.ones(cost.size + 1),
    "one number": lambda cost: np.ones(1),
}


@every("fault", BROKEN)
def test_an_oracle_that_breaks_its_promise_is_named(fault):
    for gap in (None, 1e-6):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="oracle"):
            project(BROKEN[fault], [3.0, 0.5, -0.5], gap=gap, max_calls=50)


@every("later", [2, 1])
def test_an_oracle_that_changes_its_shape_is_named(later):
    with pytest.raises(DomainError, match=r"the oracle must return vectors of shape \(3,\)"):
        project(lambda cost: np.where(cost > 0, -1.0, 1.0)[: 3 if abs(cost[0]) >= 3 else later], [3.0, 0.5, -0.5])
