"""Rankings and assignments: the nearest mean of some, and which have a given mean, by coins or as a list of a few."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import every
from sottovoce.domains import Permutahedron
from sottovoce.domains._solvers.assignment import permutation_mixture
from sottovoce.domains.rankings.permutahedron import swapped, transfers


def drawn_weights(rng, n, kind):
    weights = {
        "ranks": np.arange(1.0, n + 1.0),
        "ties": rng.integers(0, 3, n).astype(float),
        "signs": rng.standard_normal(n),
        "scales": 10.0 ** rng.integers(-6, 7, n),
        "far away": 1e6 + rng.standard_normal(n),
    }[kind]
    weights[0] += 1.0 - (np.ptp(weights) > 0)
    return weights


def drawn_point(rng, domain, kind):
    """A point inside, on a face (a mixture of few rankings), with ties, a ranking, or the centre."""
    if kind == "face":
        few = [domain.extreme_point(cost) for cost in rng.standard_normal((rng.integers(2, 4), domain.dimension))]
        return rng.dirichlet(np.ones(len(few))) @ few
    if kind == "block means":
        return domain.nearest(domain.center + domain.diameter * rng.integers(-1, 2, domain.dimension))
    if kind == "vertex":
        return domain.extreme_point(rng.standard_normal(domain.dimension))
    if kind == "centre":
        return domain.center
    return domain.nearest(domain.center + domain.outer_radius * rng.standard_normal(domain.dimension))


cases = {
    "seed": st.integers(0, 2**32 - 1),
    "weights": st.sampled_from(["ranks", "ties", "signs", "scales", "far away"]),
    "point": st.sampled_from(["inside", "face", "block means", "vertex", "centre"]),
}


def is_ranking(rows, weights):
    return bool((np.sort(rows, axis=1) == np.sort(weights)).all())


@settings(max_examples=80)
@given(n=st.integers(2, 8), **cases)
def test_the_coins_have_exactly_that_mean(seed, n, weights, point):
    """All outcomes of all coins, each with its probability."""
    rng = np.random.default_rng(seed)
    domain = Permutahedron(drawn_weights(rng, n, weights))
    x = drawn_point(rng, domain, point)
    order = np.argsort(-x, kind="stable")
    givers, takers, chances = transfers(domain.weights, x[order])
    assert len(chances) < n
    outcomes = list(itertools.product([0.0, 1.0], repeat=len(chances)))
    heads = np.array(outcomes).reshape(len(outcomes), len(chances))
    rows = swapped(domain.weights, order, givers, takers, chances, heads)
    probabilities = np.where(heads == 0.0, chances, 1 - chances).prod(axis=1)
    assert is_ranking(rows, domain.weights)
    np.testing.assert_allclose(probabilities @ rows, x, rtol=0, atol=1e-9 * np.abs(domain.weights).max())


def test_a_hundred_thousand_items_are_ranked_without_a_table_of_rankings():
    n = 100_000
    domain = Permutahedron(n)
    x = 0.5 * domain.center + 0.5 * domain.extreme_point(np.random.default_rng(0).standard_normal(n))
    rows = domain.round(x, np.random.default_rng(1), size=2)
    assert is_ranking(rows, domain.weights)
    assert not np.array_equal(rows[0], rows[1])


@every("n", [1, 2, 4, 5, 12])
@every("kind", ["few", "six", "many", "sinkhorn"])
def test_mixtures_of_permutations_are_the_matrix(n, kind):
    rng = np.random.default_rng(5)
    for _ in range(60 if kind == "six" else 1):
        if kind == "sinkhorn":
            matrix = rng.gamma(0.3, size=(n, n)) + 1e-9
            for _ in range(20_000):
                matrix /= matrix.sum(axis=0)
                matrix /= matrix.sum(axis=1, keepdims=True)
        else:
            shuffles = [np.eye(n)[rng.permutation(n)] for _ in range({"few": 3, "six": 6, "many": 200}[kind])]
            matrix = np.tensordot(rng.dirichlet(np.ones(len(shuffles))), shuffles, axes=1)
        orders, weights = permutation_mixture(matrix)
        assert len(weights) <= n * n - 2 * n + 2 + 1
        assert weights.sum() == pytest.approx(1.0)
        assert (weights > 1e-13).all()  # nothing that only rounding made
        assert (np.sort(orders, axis=1) == np.arange(n)).all()
        np.testing.assert_allclose(np.tensordot(weights, np.eye(n)[orders], axes=1), matrix, atol=1e-9)
