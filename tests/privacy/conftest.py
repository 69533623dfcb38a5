"""The mechanisms of running sums, each with the file that it is in."""

import pytest

from sottovoce.privacy import FreshSums, TreeAggregator
from sottovoce.privacy.mechanisms import fresh, tree

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
