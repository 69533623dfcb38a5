"""The factor of the active atoms stays true through appends and removals."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.projection.corral import Corral


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    moves=st.lists(st.integers(0, 9), min_size=1, max_size=30),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_updates_equal_a_factor_from_scratch(seed, moves, scale):
    rng = np.random.default_rng(seed)
    n = 5
    corral = Corral.single(scale * rng.standard_normal(n))
    for move in moves:
        if move < 6:
            longer = corral.append(scale * rng.standard_normal(n))
            assert (longer is None) == (len(corral) == n + 1)
            corral = longer or corral
        elif len(corral) > 1:
            corral = corral.remove(move % len(corral))
    columns = np.vstack((np.full(len(corral), corral.scale), (corral.atoms - corral.origin).T))
    np.testing.assert_allclose(corral.q @ corral.r, columns, atol=1e-13 * np.abs(columns).max())
    np.testing.assert_allclose(corral.q.T @ corral.q, np.eye(len(corral)), atol=1e-12)
    np.testing.assert_array_equal(np.tril(corral.r, -1), 0.0)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 6))
def test_the_change_of_weights_solves_the_constrained_least_squares(seed, count):
    rng = np.random.default_rng(seed)
    corral = Corral.single(rng.standard_normal(5))
    for _ in range(count - 1):
        corral = corral.append(rng.standard_normal(5))
    wanted = rng.standard_normal(5)
    change = corral.toward(wanted)
    assert abs(change.sum()) <= 1e-10
    rest = corral.atoms @ (wanted - change @ corral.atoms)  # orthogonal to the hull: the same for every atom
    assert np.ptp(rest) <= 1e-8 * (1 + np.abs(rest).max())


def test_nearly_dependent_atoms_keep_the_factor_orthogonal():
    rng = np.random.default_rng(0)
    first, *others = rng.standard_normal((6, 8))
    corral = Corral.single(first).append(others[0])
    for other in others[1:]:
        corral = corral.append(first + 1e-9 * other)
    np.testing.assert_allclose(corral.q.T @ corral.q, np.eye(6), atol=1e-14)


def test_an_atom_of_the_hull_is_refused():
    corral = Corral.single(np.array([0.0, 0.0, 1.0])).append(np.array([2.0, 0.0, 1.0]))
    assert corral.append(np.array([1.0, 0.0, 1.0])) is None
    assert corral.append(np.array([2.0, 0.0, 1.0])) is None
    assert corral.append(np.array([1.0, 1e-6, 1.0])) is not None
    assert Corral.single(np.ones(3)).append(np.ones(3)) is None
