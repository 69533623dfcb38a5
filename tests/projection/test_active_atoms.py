"""The factor of the active atoms stays true as atoms come and go."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.projection._active_atoms import ActiveAtoms


def active_atoms_of(atoms):
    active = ActiveAtoms(atoms[0])
    for atom in atoms[1:]:
        assert active.add(atom)
    return active


def factors(active):
    k = len(active)
    return active._basis[:k].T, active._triangle[:k, :k]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([5, 30]),
    moves=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_updates_equal_a_factor_from_scratch(seed, n, moves, scale):
    rng = np.random.default_rng(seed)
    active = ActiveAtoms(scale * rng.standard_normal(n))
    atoms = [*active.atoms.copy()]
    for move in moves:
        if move < 7:
            atom = scale * rng.standard_normal(n)
            assert active.add(atom) == (len(atoms) <= n)
            atoms += [atom] if len(atoms) <= n else []
        elif len(active) > 1:
            active.drop(move % len(active))
            atoms.pop(move % len(atoms))
    np.testing.assert_array_equal(active.atoms, atoms)
    q, r = factors(active)
    columns = np.vstack((np.full(len(active), active.scale), (active.atoms - active.origin).T))
    np.testing.assert_allclose(q @ r, columns, atol=1e-13 * np.abs(columns).max())
    np.testing.assert_allclose(q.T @ q, np.eye(len(active)), atol=1e-12)
    np.testing.assert_array_equal(np.tril(r, -1), 0.0)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 6))
def test_the_change_of_weights_solves_the_constrained_least_squares(seed, count):
    rng = np.random.default_rng(seed)
    active = active_atoms_of(rng.standard_normal((count, 5)))
    wanted = rng.standard_normal(5)
    change = active.toward(wanted)
    assert abs(change.sum()) <= 1e-10
    rest = active.atoms @ (wanted - change @ active.atoms)  # orthogonal to the hull: the same for every atom
    assert np.ptp(rest) <= 1e-8 * (1 + np.abs(rest).max())


def test_nearly_dependent_atoms_keep_the_factor_orthogonal():
    rng = np.random.default_rng(0)
    first, second, *others = rng.standard_normal((6, 8))
    active = active_atoms_of([first, second, *(first + 1e-9 * other for other in others)])
    q, _ = factors(active)
    np.testing.assert_allclose(q.T @ q, np.eye(6), atol=1e-14)


def test_an_atom_of_the_hull_is_refused():
    active = active_atoms_of(np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0]]))
    assert not active.add(np.array([1.0, 0.0, 1.0]))
    assert not active.add(np.array([2.0, 0.0, 1.0]))
    assert active.add(np.array([1.0, 1e-6, 1.0]))
    assert not ActiveAtoms(np.ones(3)).add(np.ones(3))


def test_a_copy_and_a_pickle_go_their_own_ways():
    rng = np.random.default_rng(0)
    active = active_atoms_of(rng.standard_normal((20, 30)))
    before = active.atoms.copy(), active.toward(np.ones(30))
    for other in (active.copy(), pickle.loads(pickle.dumps(active))):
        np.testing.assert_array_equal(other.toward(np.ones(30)), before[1])
        assert other.add(rng.standard_normal(30))
        other.drop(3)
        assert len(other) == 20
    np.testing.assert_array_equal(active.atoms, before[0])
    np.testing.assert_array_equal(active.toward(np.ones(30)), before[1])
    with pytest.raises(ValueError, match="read-only"):
        active.atoms[0, 0] = 1.0
