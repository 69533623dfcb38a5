"""Noise: the right distribution, exact saturation, no copies, no sharing."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sampling import every
from sottovoce.errors import CopyRefused
from sottovoce.privacy import Noise, SecureNoise, SimulatedNoise
from sottovoce.privacy.noise import LARGEST_SUM, add, laplace_for

FALSE_ALARM = 1e-6  # of each statistical test below; the secure ones cannot fix a seed


def laplace_probabilities(scale, edges):
    """Exact cell probabilities of the discrete Laplace distribution."""
    ratio = math.exp(-1 / scale)

    def below(k):  # P(Z <= k)
        return 1 - ratio ** (k + 1) / (1 + ratio) if k >= 0 else ratio**-k / (1 + ratio)

    return np.diff([0.0, *(below(k) for k in edges), 1.0])


def gaussian_probabilities(scale, edges):
    k = np.arange(-int(15 * scale), int(15 * scale) + 1)
    mass = np.exp(-(k**2) / (2 * scale**2))
    mass /= mass.sum()
    return np.diff([0.0, *(mass[k <= edge].sum() for edge in edges), 1.0])


@every("family", ["laplace", "gaussian"])
@every("source, scale", [(SecureNoise(), 20.0), (SecureNoise(), 300.0), (SimulatedNoise(3), 300.0)])
def test_draws_follow_their_distribution(source, family, scale):
    draws = source.sampler(Noise(family, scale)).draw(20_000)
    edges = [round(scale * q) for q in (-3, -2, -1, -0.5, -0.1, 0.1, 0.5, 1, 2, 3)]
    cells = np.diff([0, *(np.sum(draws <= edge) for edge in edges), len(draws)])
    probabilities = (laplace_probabilities if family == "laplace" else gaussian_probabilities)(scale, edges)
    assert stats.chisquare(cells, probabilities * len(draws)).pvalue > FALSE_ALARM


@given(
    st.integers(-LARGEST_SUM, LARGEST_SUM),
    st.integers(-(2**70), 2**70) | st.integers(-(2**63), 2**63) | st.integers(-1000, 1000),
)
def test_saturation_is_post_processing_of_the_exact_sum(total, noise):
    """What int64 holds of the noise, added and cut, equals the exact sum, cut: for every noise, however large."""
    held = min(max(noise, -(2**63)), 2**63 - 1)
    released = int(add(np.array([total]), np.array([held]))[0])
    assert released == min(max(total + noise, -LARGEST_SUM), LARGEST_SUM)


@given(st.integers(1, 10**12), st.floats(1e-3, 20))
def test_laplace_scale_keeps_epsilon_and_wastes_nothing(sensitivity, epsilon):
    if sensitivity / epsilon > 2**55 or sensitivity / epsilon < 1:
        return
    scale = laplace_for(sensitivity, epsilon).scale
    assert sensitivity <= epsilon * scale * (1 + 1e-15)
    assert scale <= sensitivity / epsilon * (1 + 1e-12)


def test_opendp_s_own_map_confirms_the_scale():
    """B/epsilon alone is rounded to the wrong side in almost half of all cases; ours never is."""
    from sottovoce.privacy.noise import _measurement

    rng = np.random.default_rng(0)
    short = 0
    for _ in range(100):
        sensitivity, epsilon = int(rng.integers(1, 10**9)), float(rng.uniform(0.01, 5))
        assert _measurement("laplace", laplace_for(sensitivity, epsilon).scale).map(sensitivity) <= epsilon
        short += _measurement("laplace", sensitivity / epsilon).map(sensitivity) > epsilon
    assert short > 10  # otherwise the raise in laplace_for guards against nothing


@every("scale", [0.0, 0.5, float("nan"), 2.0**60])
def test_a_scale_that_hides_nothing_or_overflows_is_refused(scale):
    with pytest.raises(ValueError, match="noise scale"):
        Noise("laplace", scale)


def test_secure_noise_cannot_be_copied():
    sampler = SecureNoise().sampler(Noise("laplace", 100.0))
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(CopyRefused):
            attempt(sampler)


def test_simulated_streams_are_separate():
    """Same seed: the same noise; another sampler or another seed: another stream."""
    noise = Noise("laplace", 1e6)
    source = SimulatedNoise(1)
    first, second = source.sampler(noise).draw(50), source.sampler(noise).draw(50)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, SimulatedNoise(1).sampler(noise).draw(50))
    assert not np.array_equal(first, SimulatedNoise(2).sampler(noise).draw(50))
