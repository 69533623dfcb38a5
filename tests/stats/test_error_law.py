"""The error of a released difference: its tails are those of integrals, closed forms and draws."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.stats._error_law import ErrorLaw


@every("distance", [0.1, 1.0, 4.0, 9.0, 15.0])
def test_two_laplace_parts_of_one_scale_have_their_closed_form(distance):
    """P(|Z + Z'| >= x) = (2 + x) e^-x/2."""
    found = ErrorLaw(0.0, (1.0, 1.0)).tail(distance)
    assert found == pytest.approx((2 + distance) / 2 * math.exp(-distance), abs=1e-8)


@every("scales", [(2.0, 1.0), (1.0, 0.01), (3.0, 2.9)])
def test_two_laplace_parts_of_two_scales_have_theirs(scales):
    a, b = (scale**2 for scale in scales)
    for distance in (0.3, 2.0, 12.0):
        weights = a / (a - b), -b / (a - b)
        expected = sum(w * math.exp(-distance / scale) for w, scale in zip(weights, scales, strict=True))
        assert ErrorLaw(0.0, scales).tail(distance) == pytest.approx(expected, abs=2e-5)


def test_many_parts_are_as_far_out_as_draws_of_them():
    """20,000 draws, of fixed seed; five standard deviations of luck."""
    coins, law = np.random.default_rng(4), ErrorLaw(1.0, (0.5, 0.5, 2.0, 0.1, 1.0, 1.0))
    draws = coins.normal(size=20_000) + sum(coins.laplace(scale=scale, size=20_000) for scale in law.laplace)
    for level in (0.5, 0.1, 0.01):
        outside = np.mean(np.abs(draws) >= law.quantile(level))
        assert abs(outside - level) <= 5 * math.sqrt(level * (1 - level) / 20_000)


@every("law", [ErrorLaw(1.0), ErrorLaw(0.0, (1.0, 1.0)), ErrorLaw(1e-3, (1.0, 1.0)), ErrorLaw(50.0, (1.0,) * 20)])
def test_quantiles_and_tails_are_inverse(law):
    for level in (0.9, 0.05, 1e-4, 1e-7):
        assert law.tail(law.quantile(level)) == pytest.approx(level, rel=1e-3, abs=1e-9)


def test_what_cannot_be_computed_is_not_claimed():
    assert ErrorLaw(1.0, (1.0, 1.0)).quantile(1e-12) == math.inf == ErrorLaw(1.0).quantile(1e-12)
    assert ErrorLaw(1.0, (1.0,)).tail(1e9) == 0.0
    assert ErrorLaw(1.0, (1.0,)).tail(0.0) == 1.0
