"""The Gaussian mechanism's exact curve, against dp-accounting and against sums over the discrete distributions."""

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from sampling import every
from sottovoce.privacy.gaussian import delta_of, epsilon_of, mu_for, rounding_delta


@every("sigma", [0.5, 1.0, 3.0, 10.0])
@every("epsilon", [0.1, 1.0, 3.0])
def test_delta_agrees_with_dp_accounting(sigma, epsilon):
    ours = delta_of(1 / sigma, epsilon)
    theirs = dp_accounting.get_sigma_gaussian  # the exact inverse, by another route
    if 1e-12 < ours < 0.9:
        assert theirs(epsilon, ours) == pytest.approx(sigma, rel=1e-4)


@given(st.floats(0.01, 20), st.floats(1e-12, 0.5))
def test_directions_are_inverse_and_err_on_the_safe_side(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert delta_of(mu, epsilon) <= delta
    assert delta_of(mu * (1 + 1e-6), epsilon) > delta
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)


@every("sigma", [4.0, 5.5, 10.0, 40.0])
def test_discrete_and_rounded_gaussian_differ_by_less_than_charged(sigma):
    """Total variation summed in full; `rounding_delta` at epsilon = 0 charges twice that bound."""
    k = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
    discrete = np.exp(-(k**2) / (2 * sigma**2))
    discrete /= discrete.sum()
    rounded = norm.cdf((k + 0.5) / sigma) - norm.cdf((k - 0.5) / sigma)
    variation = np.abs(discrete - rounded).sum() / 2
    charged = rounding_delta(sigma, 1, 0.0) / 2
    assert charged / 5 < variation <= charged
