"""Atoms that were let go of: kept within bounds, and worth oracle calls when the target moves."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from sottovoce.projection import minimum_norm_point
from sottovoce.projection._dropped_atoms import LIMIT, DroppedAtoms


def permutahedron(cost):
    vertex = np.empty(cost.size)
    vertex[np.argsort(-cost, kind="stable")] = np.arange(1.0, cost.size + 1)
    return vertex


def test_the_cheapest_dropped_atom_is_found_taken_and_gone():
    atoms = np.random.default_rng(0).standard_normal((20, 4))
    dropped, cost = DroppedAtoms(), np.array([1.0, -2.0, 0.5, 3.0])
    for atom in atoms:
        dropped.put(atom)
    for expected in np.sort(atoms @ cost):
        index, value = dropped.cheapest(cost)
        assert value == pytest.approx(expected, abs=1e-14)
        assert dropped.take(index) @ cost == pytest.approx(value, abs=1e-14)
    assert len(dropped) == 0


def test_the_store_is_bounded_and_the_newest_are_in_it():
    dropped = DroppedAtoms()
    for number in range(3 * LIMIT):
        dropped.put(np.array([float(number)]))
    assert len(dropped) == LIMIT
    assert sorted(dropped.atoms[:, 0]) == list(range(2 * LIMIT, 3 * LIMIT))


def test_copies_and_pickles_go_their_own_ways():
    dropped = DroppedAtoms(np.arange(6.0).reshape(3, 2))
    for other in (dropped.copy(), pickle.loads(pickle.dumps(dropped))):
        other.take(0)
        other.put(np.array([9.0, 9.0]))
        other.put(np.array([8.0, 8.0]))
        assert len(other) == 4
    np.testing.assert_array_equal(dropped.atoms, np.arange(6.0).reshape(3, 2))


def calls_of_moves(forgetful):
    """Oracle calls in all, after moves of 1%, of a method that keeps dropped atoms or of one that does not."""
    rng = np.random.default_rng(0)
    calls = 0
    for _ in range(5):
        y = 25.5 + 14 * rng.standard_normal(50)
        first = minimum_norm_point(permutahedron, y, gap=1e-6)
        for move in 0.14 * rng.standard_normal((3, 50)):
            result = minimum_norm_point(
                permutahedron, y + move, gap=1e-6, warm=replace(first, dropped=None) if forgetful else first
            )
            assert result.converged
            calls += result.calls
    return calls


def test_dropped_atoms_save_oracle_calls_when_the_target_moves(monkeypatch):
    with_dropped = calls_of_moves(forgetful=False)
    monkeypatch.setattr("sottovoce.projection.min_norm_point._PROMISE_WARM", math.inf)
    assert with_dropped <= 0.8 * calls_of_moves(forgetful=True)
