"""Toeplitz sums of long runs, where buffers stand for the past; short ones are in test_mechanisms.py."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.privacy import ZCDP, SimulatedNoise, ToeplitzSums, running_sums, toeplitz_noise
from sottovoce.privacy.mechanisms import toeplitz
from sottovoce.privacy.mechanisms._toeplitz_factors import Buffered, factor_for
from sottovoce.privacy.mechanisms.toeplitz import toeplitz_bits, toeplitz_sensitivity
from sottovoce.privacy.noise import add as real_add


def noised(monkeypatch, vectors, l2, sampler):
    seen = []
    stream = ToeplitzSums(*vectors.shape, sampler, l2=l2)
    with monkeypatch.context() as patch:
        patch.setattr(toeplitz, "add", lambda sums, noise: (seen.append(np.array(sums)), real_add(sums, noise))[1])
        for vector in vectors:
            stream.add(vector)
    return np.array(seen)


@pytest.mark.parametrize(("size", "change"), [(1, [1, 0, 0]), (100, [2, -1, 2]), (10**9, [3000, -4000, 0])])
def test_neighbours_of_a_buffered_run(monkeypatch, fixed_noise, size, change):
    """On coarse grids and fine ones: total and per-round moves are within what is stated."""
    length, l2 = 300, float(np.linalg.norm(change))
    assert isinstance(factor_for(length), Buffered)
    bits = toeplitz_bits(l2=l2, length=length, dimension=3)
    largest = toeplitz_sensitivity(l2=l2, length=length, dimension=3, bits=bits)
    vectors = np.random.default_rng(size).integers(-size, size + 1, (length, 3))
    before = noised(monkeypatch, vectors, l2, fixed_noise())
    for where in (0, 1, 150, 298, 299):
        other = vectors.copy()
        other[where] += change
        moved = np.linalg.norm((noised(monkeypatch, other, l2, fixed_noise()) - before).astype(float), axis=1)
        assert not moved[:where].any()
        assert moved[where] == pytest.approx(l2 * 2**bits, rel=1e-12)
        assert math.sqrt((moved**2).sum()) <= largest
        if where == 0:
            assert math.sqrt((moved**2).sum()) >= 0.995 * largest


@every(("length", "dimension"), [(1, 1), (100, 10), (10**4, 1), (10**6, 100)])
@every("l2", [1.0, 1e3, 2.0**36])
def test_rounding_costs_a_thousandth_at_most(length, dimension, l2):
    bits = toeplitz_bits(l2=l2, length=length, dimension=dimension)
    ideal = l2 * math.sqrt(1 + factor_for(length).column(length).squares)
    charged = toeplitz_sensitivity(l2=l2, length=length, dimension=dimension, bits=bits) / 2**bits
    assert ideal <= charged <= ideal * 1.001
    assert bits == 0 or toeplitz_sensitivity(l2=l2, length=length, dimension=dimension, bits=bits - 1) > (
        ideal * 2 ** (bits - 1) * 1.001
    )


def test_fine_grids_need_no_further_bits():
    assert toeplitz_bits(l2=2.0**36, length=10**6, dimension=100) == 0


def test_a_sensitivity_too_small_for_the_grid_is_refused():
    with pytest.raises(ValueError, match="l2"):
        toeplitz_bits(l2=1e-9, length=10**6, dimension=100)


def test_long_runs_do_not_drift():
    """10 000 rounds of large vectors: sums stay within the noise (six deviations) and rounding does not build up."""
    sizes = {"l1": 2**30, "l2": 2.0**30, "length": 10_000, "dimension": 5}
    stream = running_sums("toeplitz", ZCDP(0.5), source=SimulatedNoise(4), **sizes)
    vector = np.array([2**30, -(2**30), 2**20, 0, 1])
    deviation = 4.5 * 2.0**30
    for t in range(1, 10_001):
        released = stream.add(vector)
        if t % 1000 == 0:
            assert np.abs(released - t * vector).max() <= 6 * deviation


def test_vectors_beyond_the_proof_are_refused(no_noise):
    stream = ToeplitzSums(10, 1, no_noise(), l2=1.0)
    assert stream.bits > 0
    stream.add(np.array([stream.largest_sum]))
    with pytest.raises(OverflowError):
        stream.add(np.array([stream.largest_sum + 1]))


def test_noise_is_stated_in_units_of_the_finer_grid():
    bits = toeplitz_bits(l2=1.0, length=100, dimension=1)
    noise = toeplitz_noise(ZCDP(0.5), l2=1.0, length=100, dimension=1)
    assert noise.scale / 2**bits == pytest.approx(1.591, rel=2e-3)
