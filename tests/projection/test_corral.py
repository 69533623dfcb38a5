"""The factor of the active atoms stays true as atoms come and go."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.projection.corral import Corral


def corral_of(atoms):
    corral = Corral(atoms[0])
    for atom in atoms[1:]:
        assert corral.add(atom)
    return corral


def factors(corral):
    k = len(corral)
    return corral._basis[:k].T, corral._triangle[:k, :k]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([5, 30]),
    moves=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_updates_equal_a_factor_from_scratch(seed, n, moves, scale):
    rng = np.random.default_rng(seed)
    corral = Corral(scale * rng.standard_normal(n))
    atoms = [*corral.atoms.copy()]
    for move in moves:
        if move < 7:
            atom = scale * rng.standard_normal(n)
            assert corral.add(atom) == (len(atoms) <= n)
            atoms += [atom] if len(atoms) <= n else []
        elif len(corral) > 1:
            np.testing.assert_array_equal(corral.drop(move % len(corral)), atoms.pop(move % len(atoms)))
    np.testing.assert_array_equal(corral.atoms, atoms)
    q, r = factors(corral)
    columns = np.vstack((np.full(len(corral), corral.scale), (corral.atoms - corral.origin).T))
    np.testing.assert_allclose(q @ r, columns, atol=1e-13 * np.abs(columns).max())
    np.testing.assert_allclose(q.T @ q, np.eye(len(corral)), atol=1e-12)
    np.testing.assert_array_equal(np.tril(r, -1), 0.0)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 6))
def test_the_change_of_weights_solves_the_constrained_least_squares(seed, count):
    rng = np.random.default_rng(seed)
    corral = corral_of(rng.standard_normal((count, 5)))
    wanted = rng.standard_normal(5)
    change = corral.toward(wanted)
    assert abs(change.sum()) <= 1e-10
    rest = corral.atoms @ (wanted - change @ corral.atoms)  # orthogonal to the hull: the same for every atom
    assert np.ptp(rest) <= 1e-8 * (1 + np.abs(rest).max())


def test_nearly_dependent_atoms_keep_the_factor_orthogonal():
    rng = np.random.default_rng(0)
    first, second, *others = rng.standard_normal((6, 8))
    corral = corral_of([first, second, *(first + 1e-9 * other for other in others)])
    q, _ = factors(corral)
    np.testing.assert_allclose(q.T @ q, np.eye(6), atol=1e-14)


def test_an_atom_of_the_hull_is_refused():
    corral = corral_of(np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0]]))
    assert not corral.add(np.array([1.0, 0.0, 1.0]))
    assert not corral.add(np.array([2.0, 0.0, 1.0]))
    assert corral.add(np.array([1.0, 1e-6, 1.0]))
    assert not Corral(np.ones(3)).add(np.ones(3))


def test_a_copy_and_a_pickle_go_their_own_ways():
    rng = np.random.default_rng(0)
    corral = corral_of(rng.standard_normal((20, 30)))
    before = corral.atoms.copy(), corral.toward(np.ones(30))
    for other in (corral.copy(), pickle.loads(pickle.dumps(corral))):
        np.testing.assert_array_equal(other.toward(np.ones(30)), before[1])
        assert other.add(rng.standard_normal(30))
        other.drop(3)
        assert len(other) == 20
    np.testing.assert_array_equal(corral.atoms, before[0])
    np.testing.assert_array_equal(corral.toward(np.ones(30)), before[1])
    with pytest.raises(ValueError, match="read-only"):
        corral.atoms[0, 0] = 1.0
