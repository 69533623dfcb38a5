"""Products of integers with fractions, against Python's unbounded integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sampling import every
from sottovoce.privacy.mechanisms._fixed_point import LARGEST_FACTOR, fixed_point

integers = st.integers(-LARGEST_FACTOR, LARGEST_FACTOR) | st.integers(-1000, 1000)
fractions = st.floats(0, 1, exclude_max=True) | st.floats(1e-12, 1e-3)


@given(fractions, integers)
@example(0.9999999999999999, LARGEST_FACTOR)
@example(0.9999999999999999, -LARGEST_FACTOR)
@example(0.5, 1)
@example(0.5, -1)
@example(2.0**-40, LARGEST_FACTOR)
def test_a_product_is_the_nearest_integer(fraction, integer):
    column = fixed_point([fraction])
    exact = Fraction(int(column.multiplier[0, 0]), 2 ** int(column.shift[0, 0])) * integer
    product = int(column.times(np.array([[integer]]))[0, 0])
    assert -Fraction(1, 2) < product - exact <= Fraction(1, 2)


@given(st.floats(2.0**-30, 1, exclude_max=True))
def test_fractions_keep_32_bits(fraction):
    (value,) = fixed_point([fraction]).values
    assert value == pytest.approx(fraction, rel=2.0**-31)
    assert value < 1


@given(fractions, integers, st.integers(-(10**6), 10**6))
def test_rounding_drives_neighbours_apart_by_less_than_one(fraction, integer, change):
    integer = min(max(integer, -LARGEST_FACTOR + 10**6), LARGEST_FACTOR - 10**6)
    column = fixed_point([fraction])
    moved = int(column.times(np.array([[integer + change]]))[0, 0] - column.times(np.array([[integer]]))[0, 0])
    assert abs(moved - Fraction(float(column.values[0])) * change) < 1


@every("bad", [-0.1, 1.0, float("nan")])
def test_what_is_no_fraction_is_refused(bad):
    with pytest.raises(ValueError, match="fractions"):
        fixed_point([bad])
