"""Guarantees are values that refuse nonsense."""

import pytest

from sampling import every
from sottovoce import privacy as sv


@every("epsilon", [0, -1.0, float("nan"), float("inf")])
@every("make", [sv.PureDP, lambda epsilon: sv.ApproxDP(epsilon, 1e-6)])
def test_epsilon_must_be_positive_and_finite(make, epsilon):
    with pytest.raises(ValueError, match="epsilon must be"):
        make(epsilon)


def test_epsilon_must_be_a_number():
    with pytest.raises(TypeError, match="epsilon must be a number, got 'one'"):
        sv.PureDP("one")


def test_rho_must_be_positive():
    with pytest.raises(ValueError, match="rho must be greater than 0, got -1"):
        sv.ZCDP(-1)


@every("make", [lambda k: sv.PureDP(1.0, contributions=k), lambda k: sv.ZCDP(1.0, contributions=k)])
def test_contributions_count_events(make):
    with pytest.raises(ValueError, match="contributions must be at least 1, got 0"):
        make(0)


def test_guarantees_are_hashable_values():
    assert sv.PureDP(1) == sv.PureDP(1.0)
    assert len({sv.ApproxDP(1.0, 1e-6), sv.ApproxDP(1, 1e-6)}) == 1
