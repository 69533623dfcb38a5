"""The square root of running sums and its buffered twin: columns, inverses, rounding."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.privacy.mechanisms._toeplitz_factors import (
    Buffered,
    SquareRoot,
    factor_for,
    fit_buffers,
    square_root_column,
)

FACTORS = [SquareRoot(60), fit_buffers(512), fit_buffers(2**20), Buffered([0.9, 0.3, 1e-6], [0.3, 0.1, 1e-4])]
UNIT = 2**40  # so fine that rounding is invisible


def column_of(factor, length):
    """The first column, by pushing an impulse through the integer stream."""
    past, _ = factor.start(1)
    column = []
    for t in range(length):
        vector = np.array([UNIT if t == 0 else 0])
        column.append((vector + factor.tail(past))[0] / UNIT)
        past = factor.push(past, vector)
    return np.array(column)


def test_the_square_root_squared_is_all_ones():
    column = column_of(SquareRoot(60), 60)
    assert np.convolve(column, column)[:60] == pytest.approx(np.ones(60), abs=1e-8)
    recursion = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, 60))])
    assert column == pytest.approx(recursion, rel=1e-8)


@every("factor", FACTORS)
@every("length", [1, 2, 59])
def test_sums_over_the_column_are_those_of_the_stream(factor, length):
    column, stated = column_of(factor, length)[1:], factor.column(length)
    assert stated.total == pytest.approx(column.sum(), rel=1e-8)
    assert stated.squares == pytest.approx((column**2).sum(), rel=1e-8)


def test_sums_over_a_long_column_are_exact():
    """The closed form that sensitivity rests on, against a sum over all lags."""
    factor = fit_buffers(2**16)
    k = np.arange(2**16 - 1)
    column = (factor.weights[:, None] * (1 - factor.rates[:, None]) ** k).sum(axis=0)
    stated = factor.column(2**16)
    assert stated.squares == pytest.approx(math.fsum(column**2), rel=1e-11)
    assert stated.total == pytest.approx(math.fsum(column), rel=1e-11)


@every("factor", FACTORS)
def test_the_decoder_is_running_sums_of_the_inverse(factor):
    column, decoder = column_of(factor, 60), factor.decoder(np.arange(60.0))
    assert np.convolve(column, decoder)[:60] == pytest.approx(np.ones(60), abs=1e-7)


@every("length", [300, 10**4, 10**6])
def test_eight_buffers_come_close_to_the_square_root(length):
    """The product of the two norms is the error: within a quarter of a percent."""
    factor = factor_for(length)
    column = square_root_column(np.arange(float(length)))
    ideal = np.cumsum(column**2)
    buffered = np.cumsum(factor.decoder(np.arange(float(length))) ** 2) * (1 + factor.column(length).squares)
    assert math.sqrt(buffered.mean()) <= 1.0025 * math.sqrt(ideal.mean() * ideal[-1])


@every("factor", FACTORS)
@every("seed", range(6))
def test_rounding_drives_neighbours_apart_by_no_more_than_stated(factor, seed):
    """At every later round, what is noised moves by c_k times the change, and by less than `rounding` beyond it."""
    rng = np.random.default_rng(seed)
    length, dimension, where = 60, 50, 5
    vectors = rng.integers(-(2 ** rng.integers(2, 50)), 2 ** rng.integers(2, 50), (length, dimension))
    change = rng.integers(-3000, 3000, dimension)
    column, rounding = column_of(factor, length), factor.column(length).rounding
    pasts = [factor.start(dimension)[0] for _ in range(2)]
    largest = 0.0
    for t, vector in enumerate(vectors):
        both = [vector, vector + (change if t == where else 0)]
        noised = [own + factor.tail(past) for own, past in zip(both, pasts, strict=True)]
        ideal = column[t - where] * change if t >= where else np.zeros(dimension)
        apart = np.abs(noised[1] - noised[0] - ideal).max()
        assert apart <= (rounding if t > where else 0) + 1e-6
        largest = max(largest, apart)
        pasts = [factor.push(past, own) for own, past in zip(both, pasts, strict=True)]
    assert largest > 0.2  # there is something to charge for


def test_states_are_not_changed_in_place():
    for factor in FACTORS:
        past, decoded = factor.start(2)
        for _ in range(3):
            past = factor.push(past, np.array([5, 6]))
            decoded = factor.push_float(decoded, np.array([5.0, 6.0]))
        kept = past.copy(), decoded.copy()
        factor.push(past, np.array([7, 8]))
        factor.push_float(decoded, np.array([7.0, 8.0]))
        assert np.array_equal(past, kept[0])
        assert np.array_equal(decoded, kept[1])


def test_buffers_that_never_forget_are_refused():
    with pytest.raises(ValueError, match="rates and weights"):
        Buffered([0.0], [0.5])
