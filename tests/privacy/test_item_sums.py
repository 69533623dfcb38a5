"""Item sums: what one event moves, weighted or not, and the noise that is for it."""

import itertools

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sampling import every
from sottovoce._sums import Itemised
from sottovoce.privacy import (
    ITEM_SUMS,
    RESOLUTION,
    ZCDP,
    ApproxDP,
    ItemGrid,
    LossGrid,
    PureDP,
    Sensitivity,
    check_multipliers,
)
from sottovoce.privacy.mechanisms.item_sums import weighted_l1


def grid_of(width, bits=4, most=None):
    return ItemGrid(LossGrid(-1.0, 0.0, bits=bits), width, most)


def one_decision(width, multipliers):
    return np.arange(width)[None], np.array(multipliers, dtype=np.int64)


# ---------------------------------------------------------------------------------------------- weighted sensitivity


@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.integers(0, 2), st.floats(0.1, 7.0) | st.none())
def test_weighted_sensitivity_is_what_a_linear_program_finds(multipliers, fewer, most):
    """Maximise sum m_i d_i over d_i <= U and sum d_i <= 2C: of decisions with fewer items than the widest, too."""
    grid = grid_of(len(multipliers) + fewer, most=most)
    columns, own = one_decision(len(multipliers), multipliers)
    padded = np.pad(columns, ((0, 0), (0, fewer)), constant_values=-1)
    found = linprog(
        -own.astype(float), A_ub=np.ones((1, len(own))), b_ub=[2 * grid.limit], bounds=[(0, grid.steps)] * len(own)
    )
    assert weighted_l1(grid, padded, own)[0] == pytest.approx(-found.fun, abs=1e-6)


@given(
    st.lists(st.integers(1, 150), min_size=2, max_size=4),
    st.sampled_from([None, 1.0, 1.5, 2.0, 3.0]),
    st.integers(0, 99),
)
def test_whatever_is_accepted_moves_no_farther_than_its_noise_is_for(multipliers, most, spread):
    """The claim itself, through the sums that are released: any multipliers that pass, with the number beside them."""
    width = len(multipliers)
    grid = grid_of(width, 2, most)
    columns, own = one_decision(width, multipliers)
    try:
        check_multipliers(grid, columns, own, spread, "laplace")
    except ValueError:
        return
    cube = np.array(list(itertools.product((0, 1, 2, 4), repeat=width)))
    people = np.unique(grid.quantise(grid.low + grid.step * cube), axis=0)
    weights = Itemised(columns, np.zeros(1, dtype=np.int64), own, spread, grid.steps)
    sums = np.array([weights.sum(person[None].copy()) for person in people])
    farthest = max(np.abs(sums - one).sum(axis=1).max() for one in sums)
    assert farthest <= RESOLUTION * grid.l1


# ---------------------------------------------------------------------------------------------- what is refused


def accepted(grid, columns, multipliers, spread=0, family="laplace"):
    try:
        check_multipliers(grid, columns, np.array(multipliers, dtype=np.int64), spread, family)
    except ValueError:
        return False
    return True


ALIKE = [RESOLUTION] * 3
THREE = np.array([[0, 1, 2]])


def test_rounds_that_are_right_are_accepted():
    grid = grid_of(3)
    assert accepted(grid, THREE, ALIKE)
    assert accepted(grid, THREE, ALIKE, RESOLUTION)  # the spread is free without `most`
    assert accepted(grid, np.array([[0, 1, -1], [2, -1, -1]]), ALIKE)
    assert accepted(grid, np.array([[-1, -1, -1]]), [])  # the empty decision
    assert accepted(grid, THREE, [2 * RESOLUTION, RESOLUTION // 2, RESOLUTION // 2], RESOLUTION // 2)
    assert accepted(grid, np.array([[0, -1, -1], [1, 2, -1]]), [3 * RESOLUTION, 2 * RESOLUTION, RESOLUTION])
    assert accepted(grid, THREE, ALIKE, 0, "gaussian")
    assert accepted(grid_of(3, most=2.0), THREE, ALIKE, RESOLUTION)
    assert accepted(grid_of(3, most=1.0), THREE, ALIKE)


@every(
    "grid, columns, multipliers, spread, family",
    [
        (grid_of(2), THREE, ALIKE, 0, "laplace"),  # more items than the noise is for
        (grid_of(3), THREE[0], ALIKE, 0, "laplace"),  # no rows
        (grid_of(3), THREE.astype(float), ALIKE, 0, "laplace"),
        (grid_of(3), np.array([[0, 1, 1]]), ALIKE[:2], 0, "laplace"),  # an item twice
        (grid_of(3), THREE, [RESOLUTION, RESOLUTION, 0], 0, "laplace"),
        (grid_of(3), THREE, [RESOLUTION, RESOLUTION, -1], 0, "laplace"),
        (grid_of(3), THREE, [RESOLUTION, RESOLUTION, RESOLUTION + 1], 0, "laplace"),  # too far by one step
        (grid_of(3), np.array([[0, 1, -1], [1, 2, 0]]), [RESOLUTION, RESOLUTION, RESOLUTION + 1], 0, "laplace"),
        (grid_of(3, most=1.0), THREE, [RESOLUTION + 1, RESOLUTION, 1], 0, "laplace"),
        (grid_of(3), THREE, ALIKE, RESOLUTION + 1, "laplace"),  # beside them, more than any of them
        (grid_of(3), THREE, [2 * RESOLUTION, RESOLUTION // 2, RESOLUTION // 2], RESOLUTION // 2 + 1, "laplace"),
        (grid_of(3, most=1.9), THREE, ALIKE, 1, "laplace"),  # beside them, where that is not free
        (grid_of(3), THREE, ALIKE, 1, "gaussian"),
        (grid_of(3), THREE, [RESOLUTION, RESOLUTION, RESOLUTION - 1], 0, "gaussian"),
    ],
)
def test_rounds_that_move_too_far_are_refused(grid, columns, multipliers, spread, family):
    assert not accepted(grid, columns, multipliers, spread, family)


# ---------------------------------------------------------------------------------------------- noise


def sensitivity_of(grid):
    return Sensitivity(RESOLUTION * grid.l1, RESOLUTION * grid.l2, 9, grid.width)


WIDTHS = [(1, None), (5, None), (5, 1.0), (5, 2.5), (20, 1.0), (1, 0.5)]


@every("width, most", WIDTHS)
@every("contributions", [1, 3])
def test_noise_agrees_with_dp_accounting(width, most, contributions):
    """The worst person: all events in one round, of the same decision, at the two farthest points."""
    grid, delta = grid_of(width, 18, most), 1e-6
    noise = ITEM_SUMS.noise(ApproxDP(1.0, delta, contributions), sensitivity_of(grid))
    accountant = dp_accounting.pld.PLDAccountant()
    for moved in farthest_moves(grid):
        event = dp_accounting.GaussianDpEvent if noise.family == "gaussian" else dp_accounting.LaplaceDpEvent
        accountant.compose(event(noise.scale / (contributions * RESOLUTION * moved)))
    assert accountant.get_epsilon(delta) <= 1.002
    if noise.family == "gaussian":
        assert accountant.get_epsilon(delta) == pytest.approx(1.0, rel=2e-3)
    concentrated = ITEM_SUMS.noise(ZCDP(0.3, contributions), sensitivity_of(grid))
    assert concentrated.family == "gaussian"
    rho = (
        (contributions * RESOLUTION) ** 2 * sum(moved**2 for moved in farthest_moves(grid)) / concentrated.scale**2 / 2
    )
    assert rho == pytest.approx(0.3, rel=1e-6)
    assert rho <= 0.3 * (1 + 1e-12)


def farthest_moves(grid):
    """How far each item moves between two persons who click disjoint items, each as much as counts."""
    moved = []
    for items in (grid.width // 2, grid.width - grid.width // 2):
        left = grid.limit
        for _ in range(items):
            moved.append(min(left, grid.steps))
            left -= moved[-1]
    return [one for one in moved if one]


def test_the_smaller_noise_of_both_families_is_taken():
    many, one = grid_of(100, 18), grid_of(1, 18)
    assert ITEM_SUMS.noise(ApproxDP(1.0, 1e-6), sensitivity_of(many)).family == "gaussian"
    assert ITEM_SUMS.noise(ApproxDP(1.0, 1e-6), sensitivity_of(one)).family == "laplace"
    tiny = ITEM_SUMS.noise(ApproxDP(1.0, 1e-300), sensitivity_of(many))
    assert tiny == ITEM_SUMS.noise(PureDP(1.0), sensitivity_of(many))
