"""Integer grids, and what enters their arithmetic: checked always, since a sensitivity is claimed for what goes in.

The most negative 64-bit integer has no absolute value, NaN becomes an integer like any other, and numpy wraps silently.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sottovoce as sv
from sampling import every
from sottovoce._sums import Probed
from sottovoce.auditing._sources import Silence
from sottovoce.errors import DomainError, InvalidLoss
from sottovoce.learning.reports import ReportGrid
from sottovoce.plans.placement import Placement
from sottovoce.plans.sphere import Spheres
from sottovoce.privacy import DirectionGrid, ExactSum, LossGrid, ProbeSums, bits_for
from sottovoce.privacy.noise import LARGEST_SUM

LEAST = np.iinfo(np.int64).min
MOST = np.iinfo(np.int64).max
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
RANGES = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6)).map(lambda pair: (pair[0], pair[0] + pair[1]))
# ---------------------------------------------------------------------- losses


@given(RANGES, st.integers(1, 20), st.floats(0, 1))
def test_rounding_errs_by_half_a_step(loss_range, bits, where):
    grid = LossGrid(*loss_range, bits=bits)
    loss = min(max(grid.low + where * grid.width, grid.low), grid.high)
    back = grid.low + grid.step * grid.quantise([loss])[0]
    assert abs(back - loss) <= grid.step * 0.5 + 1e-9 * max(1.0, abs(loss))


@every("loss_range", [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0), (-1e308, 1e308)])
def test_an_impossible_range_is_refused(loss_range):
    with pytest.raises(ValueError, match="loss_range"):
        LossGrid(*loss_range)


@given(low=FLOATS, high=FLOATS, bits=st.integers(1, 40), losses=st.lists(FLOATS, min_size=1, max_size=5))
def test_an_integer_of_a_loss_is_on_the_grid_whatever_range_and_loss_are(low, high, bits, losses):
    try:
        grid = LossGrid(low, high, bits=bits)
    except ValueError:
        assume(False)
    finite = [loss for loss in losses if math.isfinite(loss)]
    integers = grid.quantise([*finite, low, high])
    assert integers.min() >= 0
    assert integers.max() <= grid.steps
    assert (integers[-2], integers[-1]) == (0, grid.steps)
    assert [grid.quantiser()(loss) for loss in finite] == integers[:-2].tolist()
    if len(finite) < len(losses):
        with pytest.raises(InvalidLoss):
            grid.quantise(losses)


@given(report=FLOATS | st.integers(-(2**70), 2**70))
def test_only_what_a_channel_sends_is_a_report(report):
    channel = sv.local.OneBitChannel((0.0, 1.0), epsilon=1.0)
    try:
        integer = int(ReportGrid(channel).quantise([report])[0])
    except InvalidLoss:
        return
    assert channel.least_report <= integer <= channel.most_report
    assert integer == report


# ------------------------------------------------------------------ directions


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 6)), elements=FLOATS), st.integers(1, 40))
def test_a_direction_on_the_grid_is_no_longer_than_claimed(directions, bits):
    grid, dimension = DirectionGrid(bits=bits), directions.shape[1]
    try:
        rows = grid.quantise(directions)
    except DomainError:
        return
    for row in rows.tolist():
        assert sum(abs(one) for one in row) <= grid.largest_l1(dimension)
        assert math.isqrt(sum(one * one for one in row)) <= grid.largest_l2(dimension)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.floats(-1, 1)),
    st.integers(6, 40),
)
def test_every_unit_vector_is_accepted(vectors, bits):
    norms = np.linalg.norm(vectors, axis=1)
    assume((norms > 1e-100).all())
    rows = DirectionGrid(bits=bits).quantise(vectors / norms[:, None])
    assert rows.dtype == np.int64


def test_stated_norms_are_close_to_the_truth():
    """A bound that is far too wide would pass the test above, and waste privacy."""
    grid = DirectionGrid(bits=18)
    assert grid.largest_l1(100) <= 1.001 * 10 * 2**18
    assert grid.largest_l2(100) <= 1.001 * 2**18


@every("spoilt", [math.nan, math.inf, -math.inf, 1e300, 2.0, -1.001])
def test_what_is_no_unit_vector_is_refused(spoilt):
    with pytest.raises(DomainError, match="tangent"):
        DirectionGrid().quantise(np.array([[0.0, 1.0, 0.0], [spoilt, 0.0, 0.0]]))


@every("factor", [math.nan, math.inf, 0.0, 1e-320])
def test_a_broken_tangent_is_an_error_and_not_a_larger_sensitivity(factor):
    """Its integers used to be -2^63: even multiples of a loss are 0 then, and odd ones are not."""

    class Broken(sv.domains.Ball):
        def tangent(self, vectors):
            return np.asarray(vectors) * factor

    grid, coins = DirectionGrid(), np.random.default_rng(0)
    rounds = Spheres(Placement(Broken(3)), 0.1, 8, quantise=grid.quantise, step=grid.step)
    exploration = rounds.begin(np.zeros(3), 0, 8, coins)
    with np.errstate(all="ignore"), pytest.raises(DomainError, match="tangent"):
        exploration.draw(coins, 0, 8)


# ----------------------------------------------------------------------- sums


@every("wrong", [LEAST, MOST, LARGEST_SUM + 1, -LARGEST_SUM - 1])
def test_no_mechanism_takes_a_number_outside_its_proof_or_shows_it(wrong, make, mechanism):
    made = make(8, 2, Silence())
    with pytest.raises(OverflowError) as caught:
        made.add(np.array([0, wrong]))
    assert not any(letter.isdigit() for letter in str(caught.value))
    assert made.round == 0
    assert np.array_equal(made.add(np.array([0, 1])), [0.0, 1.0])


@every("sign", [1, -1])
def test_no_mechanism_wraps_around(sign, make, mechanism):
    """Vectors that each fit, and whose sums do not: the last is refused, and none comes out with the other sign."""
    made, total = make(40, 1, Silence()), 0.0
    large, refused = sign * LARGEST_SUM, False
    for _ in range(38):
        try:
            released = float(made.add(np.array([large]))[0])
        except OverflowError:
            refused = True
            break
        assert sign * released > sign * total
        total = released
    assert refused or mechanism == "fresh"  # whose sums are sums of floats


def test_no_release_takes_a_number_outside_its_proof_and_exact_sums_do_not_wrap_either():
    exact = ExactSum(1)
    for made in (exact, ProbeSums(Silence())):
        for wrong in (LEAST, MOST):
            with pytest.raises(OverflowError):
                made.release(np.array([wrong]))
        with pytest.raises((TypeError, ValueError)):
            made.release(np.array([0.5]))
        assert made.round == 0
    for bad in (np.array([777.0]), np.array([[777]]), np.array(777), np.array([777], dtype=np.int32)):
        with pytest.raises(ValueError, match="sums must be a vector of int64") as caught:
            made.release(bad)
        assert "777" not in str(caught.value)
    exact.add(np.array([LARGEST_SUM]))
    with pytest.raises(OverflowError):
        exact.add(np.array([1]))
    assert exact.round == 1


@given(st.integers(1, 2**45))
def test_no_sum_can_overflow(events):
    bits = bits_for(events)
    assert events * LossGrid(0.0, 1.0, bits=bits).steps * (2**bits + 1) < LARGEST_SUM


def test_an_impossible_horizon_is_refused():
    with pytest.raises(ValueError, match="horizon"):
        bits_for(2**60)


# -------------------------------------------------------------------- weights


@given(
    numbers=st.integers(1, 4),
    index=hnp.arrays(np.int64, st.integers(1, 4), elements=st.integers(-5, 5)),
    sign=hnp.arrays(np.int64, st.integers(1, 4), elements=st.integers(-3, 3) | st.just(LEAST)),
)
def test_an_event_counts_once_in_one_number(numbers, index, sign):
    fine = len(index) == len(sign) and (index >= 0).all() and (index < numbers).all()
    if fine and set(sign.tolist()) <= {-1, 0, 1}:
        weights = Probed(numbers, index, sign)
        for event in range(len(index)):
            losses = np.zeros(len(index), dtype=np.int64)
            losses[event] = 100
            assert np.abs(weights.sum(losses)).sum() <= 100
    else:
        with pytest.raises(ValueError, match=r"index|sign"):
            Probed(numbers, index, sign)
