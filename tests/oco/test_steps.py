"""Step sizes: constant, or adapted to what was released."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling import every
from sottovoce.oco.steps import AdaptiveStep, ConstantStep

LENGTHS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50)


@given(LENGTHS, st.floats(0.1, 10.0), st.floats(0.1, 10.0))
def test_an_adaptive_step_is_the_radius_over_the_root_of_twice_the_energy(lengths, radius, multiplier):
    step = AdaptiveStep(radius, multiplier)
    for count, length in enumerate(lengths, start=1):
        energy = math.fsum(size**2 for size in lengths[:count])
        assert step.after(np.array([0.6 * length, 0.8 * length])) == pytest.approx(
            multiplier * radius / math.sqrt(2 * energy)
        )


@given(LENGTHS, st.floats(1e-3, 1e3))
def test_the_unit_of_gradients_does_not_matter(lengths, unit):
    """Step times gradient, which is what moves the point, stays the same."""
    one, other = AdaptiveStep(1.0), AdaptiveStep(1.0)
    for length in lengths:
        gradient = np.array([length])
        assert unit * other.after(unit * gradient) == pytest.approx(one.after(gradient))


@given(LENGTHS, st.floats(0.2, 5.0))
def test_the_walk_costs_no_more_than_the_bound_says(lengths, multiplier):
    """R^2/(2 last step) + sum of step ||g||^2/2 <= (c + 1/c)/2 sqrt(2) R sqrt(sum ||g||^2), at every length."""
    step, radius, spent, energy = AdaptiveStep(2.0, multiplier), 2.0, 0.0, 0.0
    for length in lengths:
        last = step.after(np.array([length]))
        spent += last / 2 * length**2
        energy += length**2
        walk = radius**2 / (2 * last) + spent
        assert walk <= (multiplier + 1 / multiplier) / 2 * math.sqrt(2 * energy) * radius * (1 + 1e-9)


def test_before_anything_is_seen_an_adaptive_step_stands_still():
    step = AdaptiveStep(1.0)
    assert step.after(np.zeros(3)) == 0.0
    assert step.after(np.ones(3)) > 0.0


@every("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_steps_must_be_positive_numbers(bad):
    with pytest.raises(ValueError, match="step must be"):
        ConstantStep(bad)
    with pytest.raises(ValueError, match="radius must be"):
        AdaptiveStep(bad)
    with pytest.raises(ValueError, match="multiplier must be"):
        AdaptiveStep(1.0, bad)
