"""Noise that can be predicted, for tests that hold it fixed."""

import numpy as np
import pytest

from sottovoce.privacy import FreshSums, TreeAggregator
from sottovoce.privacy.mechanisms import fresh, tree


class FixedNoise:
    """Draws the same noise in every run."""

    def __init__(self, size=10**6):
        self.rng, self.size = np.random.default_rng(99), size

    def draw(self, size):
        return self.rng.integers(-self.size, self.size + 1, size)


class NoNoise:
    def draw(self, size):
        return np.zeros(size, dtype=np.int64)


class FailingNoise(NoNoise):
    broken = True

    def draw(self, size):
        if self.broken:
            raise OSError("no entropy")
        return super().draw(size)


@pytest.fixture
def fixed_noise():
    return FixedNoise


@pytest.fixture
def no_noise():
    return NoNoise


@pytest.fixture
def failing_noise():
    return FailingNoise


MAKERS = {
    "tree": lambda length, dimension, sampler: TreeAggregator(length + 1, dimension, sampler),
    "fresh": lambda length, dimension, sampler: FreshSums(dimension, sampler),
}
MODULES = {"tree": tree, "fresh": fresh}


@pytest.fixture(params=MAKERS)
def mechanism(request):
    return request.param


@pytest.fixture
def make(mechanism):
    """Build the mechanism: make(length, dimension, sampler)."""
    return MAKERS[mechanism]


@pytest.fixture
def module(mechanism):
    """The file of the mechanism: its `add` is the one place where private integers meet their noise."""
    return MODULES[mechanism]
