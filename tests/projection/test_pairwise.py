"""The pairwise method: its bookkeeping stays true, its steps only ever go down, its results start others."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import every
from sottovoce.projection import blended_pairwise, minimum_norm_point, project
from sottovoce.projection._active_atoms import ActiveAtoms
from sottovoce.projection._atom_pool import AtomPool
from sottovoce.projection.pairwise import enter, exchange


def choose(k):
    def oracle(cost):
        vertex = np.zeros(cost.size)
        vertex[np.argsort(cost, kind="stable")[:k]] = 1.0
        return vertex

    return oracle


def pool_of(atoms):
    pool = AtomPool(atoms[0])
    for atom in atoms[1:]:
        pool.add(atom)
    return pool


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 40), sparse=st.booleans(), offset=st.sampled_from([0, 1e6]))
def test_a_pool_knows_its_atoms_their_means_and_inner_products(seed, count, sparse, offset):
    rng = np.random.default_rng(seed)
    n = 60
    atoms = offset + rng.standard_normal((count, n)) * ((rng.random((count, n)) < 0.03) if sparse else 1.0)
    pool = pool_of(atoms)
    order = rng.permutation(count)[: rng.integers(1, count + 1)]
    for part, rows in ((pool, atoms), (pool.pick(order), atoms[order]), (pool.copy(), atoms)):
        k = len(part)
        moved = rows - atoms[0]
        weights, vector = rng.dirichlet(np.ones(k)), rng.standard_normal(n)
        np.testing.assert_allclose(part.atoms, rows, rtol=0, atol=1e-15 * (1 + offset))
        np.testing.assert_allclose(part.gram[:k, :k], moved @ moved.T, atol=1e-9)
        np.testing.assert_allclose(part.mean(weights), weights @ rows, atol=1e-9)
        np.testing.assert_allclose(part.slopes(vector), moved @ vector, atol=1e-9)


def test_atoms_with_few_nonzero_coordinates_are_kept_as_such():
    sparse, dense = (pool_of(rows) for rows in (np.eye(50, 2000), np.random.default_rng(0).random((50, 2000))))
    assert len(pickle.dumps(sparse)) < len(pickle.dumps(dense)) / 10
    np.testing.assert_array_equal(sparse.atoms, np.eye(50, 2000))


def problem(seed, count=12, n=5):
    """Atoms, weights, and the slopes at their mean for a random target."""
    rng = np.random.default_rng(seed)
    pool = pool_of(rng.standard_normal((count, n)))
    weights = rng.dirichlet(np.full(count, 0.3))
    weights[rng.random(count) < 0.3] = 0.0
    weights /= weights.sum()
    target = rng.standard_normal(n)
    return pool, weights, pool.slopes(pool.mean(weights) - target), target


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 300))
def test_exchanges_keep_a_mean_its_slopes_and_go_down(seed, steps):
    pool, weights, slopes, target = problem(seed)
    before = math.dist(pool.mean(weights), target)
    done = exchange(pool.gram, weights, slopes, 1e-9, steps)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    point = pool.mean(weights)
    np.testing.assert_allclose(slopes, pool.slopes(point - target), atol=1e-10)
    assert math.dist(point, target) <= before + 1e-12
    if done < steps:
        assert slopes[weights > 0].max() - slopes.min() <= 1e-9
    else:
        assert math.dist(point, target) < before


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_atom_enters_by_the_best_step_toward_it(seed):
    pool, weights, slopes, target = problem(seed)
    weights[-1], weights[0] = 0.0, weights[0] + weights[-1]
    start, atom = pool.mean(weights), pool.atoms[-1]
    slopes = pool.slopes(start - target)
    step = min(max((target - start) @ (atom - start) / math.dist(atom, start) ** 2, 0.0), 1.0)
    enter(pool.gram, weights, slopes)
    np.testing.assert_allclose(pool.mean(weights), start + step * (atom - start), atol=1e-12)
    np.testing.assert_allclose(slopes, pool.slopes(pool.mean(weights) - target), atol=1e-11)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60), n=st.integers(1, 20), reach=st.floats(0.0, 5.0))
def test_both_methods_find_the_same_point(seed, count, n, reach):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((count, n))
    y = reach * rng.standard_normal(n)
    exact, other = (f(lambda cost: points[(points @ cost).argmin()], y) for f in (minimum_norm_point, blended_pairwise))
    assert exact.converged
    assert other.converged
    assert math.dist(exact.point, other.point) <= exact.distance + other.distance + 1e-12


def test_oracle_calls_are_much_the_same_as_the_minimum_norm_points():
    calls = dict.fromkeys(("min-norm-point", "pairwise"), 0)
    for y in 0.3 * np.random.default_rng(0).standard_normal((10, 200)):
        for method in calls:
            calls[method] += project(choose(20), y, method=method, gap=1e-6).calls
    assert calls["pairwise"] <= 1.2 * calls["min-norm-point"]


def test_large_dimensions_choose_the_pairwise_method():
    for n, kind in ((1000, ActiveAtoms), (1001, AtomPool)):
        assert isinstance(project(choose(3), np.linspace(0, 1, n), gap=1e-3).active, kind)


@every("first", ["min-norm-point", "pairwise"])
@every("second", ["min-norm-point", "pairwise"])
def test_each_method_starts_from_the_others_result(first, second):
    rng = np.random.default_rng(0)
    cold = warm = 0
    for y in 0.1 + 0.2 * rng.standard_normal((5, 100)):
        start = project(choose(20), y, method=first, gap=1e-8)
        kept = start.point.copy(), start.atoms.copy(), start.weights.copy(), len(start.active)
        assert project(choose(20), y, method=second, warm=start, gap=1e-8).calls <= 2
        moved = y + 0.002 * rng.standard_normal(100)
        again = project(choose(20), moved, method=second, warm=start, gap=1e-8)
        scratch = project(choose(20), moved, method=second, gap=1e-8)
        assert again.converged
        assert math.dist(again.point, scratch.point) <= again.distance + scratch.distance
        cold, warm = cold + scratch.calls, warm + again.calls
        for was, now in zip(kept, (start.point, start.atoms, start.weights, len(start.active)), strict=True):
            np.testing.assert_array_equal(was, now)
    assert warm <= cold / 2


def test_a_result_survives_pickling_and_still_starts_another():
    y = np.random.default_rng(0).standard_normal(40)
    for n in (40, 2000):  # whole rows, and nonzero coordinates
        y = np.random.default_rng(0).standard_normal(n)
        result = blended_pairwise(choose(4), y)
        copy = pickle.loads(pickle.dumps(result))
        ahead, same = (blended_pairwise(choose(4), y + 0.01, warm=start) for start in (result, copy))
        np.testing.assert_array_equal(ahead.point, same.point)
        assert ahead.calls == same.calls


def test_the_budget_is_kept_and_the_certificate_is_that_of_the_point():
    rng = np.random.default_rng(0)
    for y in 0.3 * rng.standard_normal((5, 60)):
        warm = None
        for budget in (2, 3, 10, 40):
            result = blended_pairwise(choose(10), y, gap=1e-12, max_calls=budget)
            away = result.point - y
            assert result.calls <= budget
            assert result.gap == pytest.approx(away @ (result.point - choose(10)(away)), abs=1e-12)
            warm = blended_pairwise(choose(10), y, gap=1e-12, max_calls=1, warm=warm or result)
            assert warm.calls == 1
