"""Mechanisms that are wrong on purpose, caught by runs alone; `test_breaks.py` has many more, caught by alignment.

The noise is simulated from fixed seeds, so the outcomes are facts. With other seeds a false alarm (an intact twin is
refuted) has probability 0.001 at most. A miss is rarer than 0.001 if bounds are normal: over 40 seeds none was missed,
and the mean bound lay 3.5 standard deviations or more above the claim. Sizes and budgets were chosen for that: with
fewer runs, Laplace noise drawn twice and a level left out were missed at times.
"""

import numpy as np
import pytest

import sottovoce as sv
from sampling import sampled
from sottovoce.auditing import Configuration, MechanismAlone, audit
from sottovoce.privacy import Noise

SEED = 11


def frames(privacy):
    """Three rounds, two of them released: one number each."""
    choices = {"exploration": "frames", "batch_size": 4, "directions": 1}
    return Configuration(sv.domains.Simplex(2), privacy, 12, choices)


def caught(subject, runs=4000):
    found = audit(subject, runs=runs, noise_seed=SEED)
    print(found)
    return not found.passed


PURE = sv.PureDP(1.0)


class ReleasedTwice:
    """Every round is released twice, and the two are averaged: less noise than was paid for."""

    def __init__(self, release):
        self._release = release

    def release(self, sums):
        return (self._release.release(sums) + self._release.release(sums)) / 2


class MechanismReleasedTwice(MechanismAlone):
    def open(self, copies, sampler):
        return ReleasedTwice(super().open(copies, sampler))


def test_laplace_noise_drawn_twice():
    """Only its tail gives it away, so it takes more runs: of the mechanism alone."""
    assert caught(MechanismReleasedTwice("probe-sums", PURE, rounds=2), runs=40_000)


class SharedGenerator:
    """Noise of the right scale from the stream of the public coins: whoever knows the coins can take it off."""

    simulated = False

    def __init__(self, seed):
        self._generator = np.random.default_rng(seed)

    def sampler(self, noise):
        self._noise = noise
        return self

    def draw(self, size):
        return np.rint(self._generator.laplace(scale=self._noise.scale, size=size)).astype(np.int64)


def test_a_shared_generator():
    intact = frames(PURE)
    found = audit(lambda seed, noise: intact(seed, SharedGenerator(seed)), runs=400)
    assert found.epsilon_lower > 2.0
    assert (found.right, found.wrong) == (found.trials, 0)  # told apart every time


class Short(MechanismAlone):
    """A mechanism alone, calibrated for fewer nodes than a round is in."""

    factor = 1.0

    @property
    def noise(self):
        right = super().noise
        return Noise(right.family, right.scale * self.factor)


def short(factor):
    return type("Shorter", (Short,), {"factor": factor})


FAULTS = [(2 / 3, sv.PureDP(1.0)), (3**-0.5, sv.PureDP(1.0)), (2 / 3, sv.ZCDP(0.5))]


@pytest.mark.parametrize(("factor", "privacy"), sampled(FAULTS, 1))
def test_finer_faults_of_a_tree_of_seven_rounds(factor, privacy):
    """A level of three that is left out, and a sensitivity that is short by the root of three."""
    assert caught(short(factor)("tree", privacy), runs=100_000)


def test_a_fault_under_real_noise():
    """Missed less than once in 10^5: the bound is expected eight standard errors above the claim."""
    assert not audit(short(0.5)("fresh", sv.PureDP(1.0), rounds=2), runs=20_000).passed
