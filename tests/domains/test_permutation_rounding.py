"""Rankings with a given mean: by coins, one for each transfer, and as a list of at most n."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sottovoce as sv
from sampling import every
from sottovoce.domains import Domain, Permutahedron
from sottovoce.domains._geometry.permutations import swapped, transfers
from sottovoce.errors import DomainError


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


@settings(max_examples=150)
@given(n=st.integers(2, 40), **cases)
def test_a_point_is_the_mean_of_at_most_n_rankings(seed, n, weights, point):
    rng = np.random.default_rng(seed)
    domain = Permutahedron(drawn_weights(rng, n, weights))
    x = drawn_point(rng, domain, point)
    rows, shares = domain.decompose(x)
    assert len(rows) <= n
    assert is_ranking(rows, domain.weights)
    assert (shares > 0).all()
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(shares @ rows, x, rtol=0, atol=1e-9 * np.abs(domain.weights).max())
    if point == "vertex":
        assert len(rows) == 1


@settings(max_examples=80)
@given(n=st.integers(2, 8), **cases)
def test_the_coins_have_exactly_that_mean(seed, n, weights, point):
    """All outcomes of all coins, each with its probability."""
    rng = np.random.default_rng(seed)
    domain = Permutahedron(drawn_weights(rng, n, weights))
    x = drawn_point(rng, domain, point)
    order = np.argsort(-x, kind="stable")
    givers, takers, _, chances = transfers(domain.weights, x[order])
    assert len(chances) < n
    outcomes = list(itertools.product([0.0, 1.0], repeat=len(chances)))
    heads = np.array(outcomes).reshape(len(outcomes), len(chances))
    rows = swapped(domain.weights, order, givers, takers, chances, heads)
    probabilities = np.where(heads == 0.0, chances, 1 - chances).prod(axis=1)
    assert is_ranking(rows, domain.weights)
    np.testing.assert_allclose(probabilities @ rows, x, rtol=0, atol=1e-9 * np.abs(domain.weights).max())


def test_drawn_rankings_have_the_right_mean():
    """Hoeffding: each of 6 coordinates, in [0, 9], is off by more than 9 sqrt(log(2e9)/(2 N)) with chance 1e-9."""
    domain, draws = Permutahedron([0.0, 1.0, 1.0, 4.0, 8.0, 9.0]), 40_000
    rng = np.random.default_rng(0)
    for kind in ("inside", "face", "block means", "centre"):
        x = drawn_point(rng, domain, kind)
        rows = domain.round(x, rng, size=draws)
        assert is_ranking(rows, domain.weights)
        assert np.abs(rows.mean(axis=0) - x).max() <= 9 * math.sqrt(math.log(2e9) / (2 * draws))


@every("seed", range(5))
def test_the_list_against_the_generic_one_and_a_linear_program(seed):
    """All three express the same point; the program over all rankings agrees that it can be done."""
    rng = np.random.default_rng(seed)
    domain = Permutahedron(drawn_weights(rng, 5, "ties" if seed % 2 else "signs"))
    x = drawn_point(rng, domain, "inside")
    rows, shares = domain.decompose(x)
    generic, generic_shares = Domain.decompose(domain, x)
    extent = np.ptp(domain.weights)
    np.testing.assert_allclose(shares @ rows, generic_shares @ generic, atol=1e-5 * extent)
    assert np.linalg.norm(shares @ rows - x) <= np.linalg.norm(generic_shares @ generic - x) + 1e-12 * extent
    every = np.unique(list(itertools.permutations(domain.weights)), axis=0)
    assert linprog(np.zeros(len(every)), A_eq=every.T, b_eq=shares @ rows, method="highs").status == 0


def test_one_ranking_none_and_several_blocks_of_them(monkeypatch):
    domain = Permutahedron(6)
    x = drawn_point(np.random.default_rng(0), domain, "inside")
    assert domain.round(x, np.random.default_rng(0)).shape == (6,)
    assert domain.round(x, np.random.default_rng(0), size=0).shape == (0, 6)
    whole = domain.round(x, np.random.default_rng(0), size=50)
    monkeypatch.setitem(sv.domains._geometry.permutations.draw.__globals__, "_UNIFORMS", 30)
    np.testing.assert_array_equal(domain.round(x, np.random.default_rng(0), size=50), whole)


def test_rounding_forgives_rounding_errors_and_nothing_else():
    domain = Permutahedron([1.0, 2.0, 3.0])
    rng = np.random.default_rng(0)
    for x in ([1.0 - 1e-9, 3.0 + 1e-9, 2.0], [2.0, 2.0, 2.0 + 1e-9]):
        assert is_ranking(domain.round(x, rng, size=100), domain.weights)
    for bad in ([0.9, 3.0, 2.1], [2.0, 2.0, 2.001], [1.0, 3.01, 1.99]):
        for method in (lambda x: domain.round(x, rng), domain.decompose):
            with pytest.raises(DomainError, match="away: project it first"):
                method(bad)


def test_a_hundred_thousand_items_are_ranked_without_a_table_of_rankings():
    n = 100_000
    domain = Permutahedron(n)
    x = 0.5 * domain.center + 0.5 * domain.extreme_point(np.random.default_rng(0).standard_normal(n))
    rows = domain.round(x, np.random.default_rng(1), size=2)
    assert is_ranking(rows, domain.weights)
    assert not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize("reuse", [False, True])
def test_a_study_from_before_this_rounding_keeps_what_it_dealt_out(tmp_path, monkeypatch, reuse):
    """Actions are stored when they are dealt out, not drawn again: an open round of old stays as it was asked."""
    domain, costs = Permutahedron(5), np.array([0.1, 0.9, 0.4, 0.2, 0.6]) / 15
    where = {"url": f"sqlite:///{tmp_path}/study.db", "name": "a"}
    options = {"horizon": 2000, "loss_range": (0.0, 1.0), "privacy": sv.NoPrivacy(), "seed": 1, "integral": True}
    options |= {"losses": "linear", "exploration": "designs", "reuse": reuse}
    with monkeypatch.context() as before:
        for method in ("round", "decompose"):
            before.setattr(Permutahedron, method, getattr(Domain, method))
        with sv.Study.open(**where, domain=domain, **options) as study:
            for _ in range(5):
                actions = study.ask_round()
                study.tell(actions.ids, actions.x @ costs)
            waiting = study.ask(7)  # the round stays open
    with sv.Study.open(**where) as study:
        assert study.verify().ok
        study.tell(waiting.ids, waiting.x @ costs)
        for _ in range(3):
            actions = study.ask_round()
            assert is_ranking(actions.x, domain.weights)
            study.tell(actions.ids, actions.x @ costs)
        found = study.verify()
        assert found.ok, found
