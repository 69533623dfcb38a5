"""The factor of the active atoms stays true as atoms come and go."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.projection._active_atoms import ActiveAtoms


def check(active):
    """The factor is that of the atoms, is orthogonal, and is triangular."""
    k = len(active)
    q, r = active._basis[:k].T, active._triangle[:k, :k]
    columns = np.vstack((np.full(k, active.scale), (active.atoms - active.origin).T))
    np.testing.assert_allclose(q @ r, columns, atol=1e-13 * np.abs(columns).max())
    np.testing.assert_allclose(q.T @ q, np.eye(k), atol=1e-12)
    np.testing.assert_array_equal(np.tril(r, -1), 0.0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([5, 30]),
    moves=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    scale=st.sampled_from([1e-18, 1.0, 1e18]),
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
    check(active)


def test_nearly_dependent_atoms_keep_the_factor_and_those_of_the_hull_are_refused():
    rng = np.random.default_rng(0)
    first, second, *others = rng.standard_normal((6, 8))
    active = ActiveAtoms(first)
    for atom in (second, *(second + 1e-9 * other for other in others)):
        assert active.add(atom)
    check(active)
    for inside in (second, (first + second) / 2):
        assert not active.add(inside)
    assert active.add(first + 1e-6 * rng.standard_normal(8))
    assert not ActiveAtoms(np.ones(3)).add(np.ones(3))
