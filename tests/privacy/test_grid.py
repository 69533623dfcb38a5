"""Integer grids: what the sensitivity and the absence of overflow rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling import every
from sottovoce.privacy import DirectionGrid, LossGrid, grids_for
from sottovoce.privacy.noise import LARGEST_SUM

ranges = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6)).map(lambda pair: (pair[0], pair[0] + pair[1]))
bits = st.integers(1, 20)


@given(ranges, bits, st.floats(0, 1))
def test_rounding_errs_by_half_a_step(loss_range, bits, where):
    grid = LossGrid(*loss_range, bits=bits)
    loss = min(max(grid.low + where * grid.width, grid.low), grid.high)
    back = grid.low + grid.step * grid.quantise([loss])[0]
    assert abs(back - loss) <= grid.step * 0.5 + 1e-9 * max(1.0, abs(loss))


def test_stated_norms_are_close_to_the_truth():
    """A bound that is far too wide would pass the test above, and waste privacy."""
    grid = DirectionGrid(bits=18)
    assert grid.largest_l1(100) <= 1.001 * 10 * 2**18
    assert grid.largest_l2(100) <= 1.001 * 2**18


@given(st.integers(1, 2**45))
def test_no_sum_can_overflow(events):
    losses, directions = grids_for((0.0, 1.0), events)
    assert events * losses.steps * (2**directions.bits + 1) < LARGEST_SUM


def test_an_impossible_horizon_is_refused():
    with pytest.raises(ValueError, match="horizon"):
        grids_for((0.0, 1.0), 2**60)


@every("loss_range", [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0), (-1e308, 1e308)])
def test_an_impossible_range_is_refused(loss_range):
    with pytest.raises(ValueError, match="loss_range"):
        LossGrid(*loss_range)
