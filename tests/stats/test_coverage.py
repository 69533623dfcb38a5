"""Intervals of differences hold the truth as often as they say, with the noise in them. Seeds are fixed.

Thousands of tests are simulated at once, by a second implementation over arrays; that it says what `ab_test` says
of evaluations that really released their numbers is a test of its own.
"""

import functools
import math

import numpy as np
import pytest

import sottovoce as sv
from sampling import every
from sottovoce.stats import ReleasedMean
from sottovoce.stats._error_law import ErrorLaw
from sottovoce.stats.scale import scale_for

RANGE, RUNS = (-1.0, 3.0), 3000
PEOPLE = {  # losses in units of the range, by mean
    "all or nothing": lambda coins, mean, size: coins.random(size) < mean,
    "beta": lambda coins, mean, size: coins.beta(4 * mean, 4 * (1 - mean), size),
    "alike": lambda coins, mean, size: np.full(size, mean),
}
PRIVACY = {
    "pure, 1": sv.PureDP(1.0),
    "pure, 0.05": sv.PureDP(0.05),
    "pure, 0.2, 3 events": sv.PureDP(0.2, contributions=3),
    "approximate": sv.ApproxDP(0.3, 1e-6),
    "zCDP": sv.ZCDP(0.02),
    "none": sv.NoPrivacy(),
    "one bit": sv.LocalDP(1.0),
}
CASES = [
    *((one, "all or nothing", (0.5, 0.5), (200, 200)) for one in PRIVACY),
    *((one, "all or nothing", (0.05, 0.1), (300, 300)) for one in ("pure, 1", "pure, 0.05", "none", "one bit")),
    *((one, "all or nothing", (0.98, 0.9), (80, 400)) for one in ("pure, 1", "pure, 0.05", "zCDP")),
    ("pure, 1", "all or nothing", (0.5, 0.2), (60, 1000)),
    ("pure, 0.05", "all or nothing", (0.3, 0.3), (1000, 50)),
    *((one, "beta", (0.3, 0.35), (150, 300)) for one in ("pure, 1", "none", "one bit")),
    ("pure, 1", "alike", (0.0, 0.0), (100, 100)),
    ("pure, 0.05", "alike", (1.0, 0.02), (100, 100)),
]


def totals(privacy, scale, people, mean, events, seed):
    """What evaluations would release: integers of losses, or reports, with their noise."""
    coins = np.random.default_rng(seed)
    losses = RANGE[0] + 4.0 * PEOPLE[people](coins, mean, (RUNS, events))
    if isinstance(PRIVACY[privacy], sv.LocalDP):
        return sv.local.simulate_reports(losses, sv.local.OneBitChannel(RANGE, 1.0), coins).sum(axis=1)
    sums = np.rint((losses - scale.low) / scale.step).astype(np.int64).sum(axis=1)
    if scale.noise is None:
        return sums
    draw = coins.laplace if scale.noise.family == "laplace" else coins.normal
    return sums + np.rint(draw(scale=scale.noise.scale, size=RUNS)).astype(np.int64)


def deviations(scale, means, events):
    """Standard deviations, people's part, at the means where the bound of the variance is taken."""
    noise = 0.0 if scale.noise is None else scale.noise.standard_deviation * scale.step / events
    low, high = scale.ends

    def spread(at):
        return np.maximum((high - at) * (at - low), 0.0)

    middle = sum(RANGE) / 2
    worth = spread(middle) / (spread(middle) / events + noise**2)
    pulled = (worth * np.clip(means, *RANGE) + 4 * middle) / (worth + 4)
    step = np.sqrt(spread(pulled) / events + noise**2)
    at = np.where(pulled < middle, np.minimum(pulled + step, middle), np.maximum(pulled - step, middle))
    gaussian = noise if scale.noise is not None and scale.noise.family == "gaussian" else 0.0
    return np.sqrt(spread(at) / events + gaussian**2)


def reaches(normals, scales, level):
    """The quantile for each of many normal parts: between those of some dozens, it is all but straight."""
    some = np.linspace(normals.min(), normals.max(), 30) if np.ptp(normals) > 0 else normals[:1]
    return np.interp(normals, some, [ErrorLaw(float(one), scales).quantile(level) for one in some])


@functools.cache
def simulated(privacy, people, means, sizes):
    """What many tests release, their differences, and a function from levels to how far their intervals reach."""
    scale = scale_for(RANGE, PRIVACY[privacy])
    sums = [totals(privacy, scale, people, m, n, seed) for seed, (m, n) in enumerate(zip(means, sizes, strict=True))]
    found = [scale.low + scale.step * (one / n) for one, n in zip(sums, sizes, strict=True)]
    normals = np.hypot(*(deviations(scale, one, n) for one, n in zip(found, sizes, strict=True)))
    laplace = scale.noise is not None and scale.noise.family == "laplace"
    scales = tuple(scale.noise.scale * scale.step / n for n in sizes) if laplace else ()
    return scale, sums, found[1] - found[0], lambda level: reaches(normals, scales, level)


@every("privacy, people, means, sizes", CASES)
def test_intervals_of_differences_hold_the_truth_as_often_as_they_say(privacy, people, means, sizes):
    """Four deviations of luck, and the lattice of sums of few ones and zeros, which no noise smears (0.006)."""
    truth = 4.0 * (means[1] - means[0])
    *_, differences, reach = simulated(privacy, people, means, sizes)
    for confidence in (0.8, 0.95, 0.995):
        held = np.mean(np.abs(differences - truth) <= reach(1 - confidence))
        luck = 4 * math.sqrt(confidence * (1 - confidence) / RUNS)
        assert held >= confidence - luck - 0.006 * (privacy == "none")
        if means == (0.5, 0.5) and people == "all or nothing":  # where the bound is the variance itself
            assert held <= confidence + luck + 0.006 * (privacy == "none")


@every("case", CASES)
def test_the_simulation_says_what_ab_test_says(case):
    _privacy, _, _, sizes = case
    scale, sums, differences, far = simulated(*case)
    reach = far(0.01)
    for run in range(4):
        arms = [ReleasedMean(i, n, int(sums[i][run]), scale) for i, n in enumerate(sizes)]
        found = sv.ab_test(dict(zip("AB", arms, strict=True)), confidence=0.99).differences[0]
        expected = np.clip([differences[run] - reach[run], differences[run] + reach[run]], -4.0, 4.0)
        assert (found.low, found.high) == pytest.approx(tuple(expected), abs=2e-4)


@every("pairs", ["control", "all"])
def test_all_intervals_of_a_family_hold_together(pairs):
    """Four arms, 120 tests through evaluations: a family of 3 or 6 at 90%; four deviations of luck are 0.11."""
    evaluations = sv.PrivateEvaluations((0.0, 1.0), sv.PureDP(0.3), noise=sv.SimulatedNoise(5))
    coins, means = np.random.default_rng(9), {"A": 0.5, "B": 0.5, "C": 0.45, "D": 0.1}
    held, means_held = [], []
    for _ in range(120):
        arms = {name: evaluations.open(120) for name in means}
        for name, one in arms.items():
            one.tell(coins.random(120) < means[name])
        found = sv.ab_test(arms, pairs=pairs, confidence=0.9)
        truths = {one: means[one.arm] - means[one.against] for one in found.differences}
        held.append(all(one.low <= truth <= one.high for one, truth in truths.items()))
        means_held.append(all(one.low <= means[one.name] <= one.high for one in found.arms))
    assert np.mean(held) >= 0.9 - 0.11
    assert np.mean(means_held) >= 0.9 - 0.11
