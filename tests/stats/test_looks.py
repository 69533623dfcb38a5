"""Looking several times: levels as published, and paths that leave as often as was said. Seeds are fixed."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from sampling import every
from sottovoce.stats._error_law import ErrorLaw
from sottovoce.stats._looks import _Walk, levels_of_looks, spent

EVENLY = (0.2, 0.4, 0.6, 0.8, 1.0)


@every(
    "shares, alpha, bounds",
    [  # two-sided O'Brien-Fleming-type bounds of Lan and DeMets, as tables have them
        (EVENLY, 0.05, (4.877, 3.357, 2.680, 2.290, 2.031)),
        ((0.5, 1.0), 0.05, (2.963, 1.969)),
        ((1 / 3, 2 / 3, 1.0), 0.05, (3.710, 2.511, 1.993)),
    ],
)
def test_levels_are_those_of_published_bounds(shares, alpha, bounds):
    sizes = np.diff([0.0, *shares])
    levels = levels_of_looks(tuple(ErrorLaw(math.sqrt(size)) for size in sizes), shares, alpha)
    assert stats.norm.isf(np.array(levels) / 2) == pytest.approx(bounds, abs=2e-3)


def crossing(stages, levels):
    """How likely 0 is ever outside of the intervals, if that is the truth."""
    walk, so_far = _Walk(stages), ErrorLaw(0.0)
    for stage, level in zip(stages, levels, strict=True):
        so_far = so_far.plus(stage)
        walk.step(stage)
        walk.stay_within(so_far.quantile(level))
    return 1 - walk._mass.sum()


@every("looks, published", [(2, 0.083), (3, 0.107), (5, 0.142), (10, 0.193)])
def test_naive_looks_raise_false_alarms_as_published(looks, published):
    """Armitage, McPherson and Rowe (1969), repeated tests at 5%."""
    assert crossing([ErrorLaw(1.0)] * looks, [0.05] * looks) == pytest.approx(published, abs=6e-4)


def walks(coins, law, stages, runs):
    """Sums of stages, run by run."""
    steps = coins.normal(scale=law.normal, size=(runs, stages))
    for scale in law.laplace:
        steps += coins.laplace(scale=scale, size=(runs, stages))
    return np.cumsum(steps, axis=1)


@every("law", [ErrorLaw(1.0), ErrorLaw(0.3, (1.0, 1.0)), ErrorLaw(1.0, (0.5, 0.2))])
def test_paths_ever_leave_as_often_as_was_said(law):
    """40,000 paths: four deviations of luck are 0.0044."""
    levels = levels_of_looks((law,) * 5, EVENLY, 0.05)
    sums = [law]
    for _ in range(4):
        sums.append(sums[-1].plus(law))
    bounds = np.array([one.quantile(level) for one, level in zip(sums, levels, strict=True)])
    paths = np.abs(walks(np.random.default_rng(2), law, 5, 40_000))
    assert np.mean((paths > bounds).any(axis=1)) == pytest.approx(0.05, abs=0.0044)
    naive = np.array([one.quantile(0.05) for one in sums])
    assert np.mean((paths > naive).any(axis=1)) > 0.12  # what looking as if it were the only time does


@every("stages", [(1, 1), (1, 1, 1, 1, 1), (1, 2, 7), (5, 1, 1, 1), (1,) * 15])
@every("alpha", [0.2, 0.05, 0.005])
def test_levels_for_normal_errors_do_for_laplace_noise(stages, alpha):
    """The levels of `ab_test`: computed for normal errors, used with whatever mixture of both there is."""
    shares = tuple(so_far / sum(stages) for so_far in itertools.accumulate(stages))
    for noise in (0.0, 0.3, 1.0, 3.0, 30.0):  # scale of a stage's noise; people: variance in proportion to size
        for people in (1.0, 0.1):  # of the largest variance
            assumed = tuple(ErrorLaw(math.sqrt(size + 4 * noise**2)) for size in stages)
            levels = levels_of_looks(assumed, shares, alpha)
            if noise:
                alone = levels_of_looks((ErrorLaw(2 * noise),) * len(stages), shares, alpha)
                levels = tuple(map(min, levels, alone))
            real = [ErrorLaw(math.sqrt(people * size), (noise, noise)) for size in stages]
            assert crossing(real, levels) <= alpha * 1.004


def test_all_of_alpha_is_spent_at_the_end_less_before_and_none_at_a_look_that_is_too_early():
    levels = levels_of_looks((ErrorLaw(0.1), ErrorLaw(math.sqrt(0.99))), (0.01, 1.0), 0.05)
    assert levels[0] == 0.0
    assert levels[1] == pytest.approx(0.05, rel=1e-3)
    found = [spent(share, 0.05) for share in np.linspace(0.01, 1.0, 50)]
    assert found == sorted(found)
    assert found[-1] == 0.05
    assert found[0] < 1e-9
