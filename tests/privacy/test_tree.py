"""TreeBasedAgg: equal to the paper's appendix, sensitive exactly where it is said to be, noised as calibrated."""

import math

import numpy as np
import pytest

from sampling import every
from sottovoce.auditing._sources import Silence
from sottovoce.privacy import ApproxDP, Sensitivity, TreeAggregator, levels, tree_noise

LENGTHS = range(1, 71)


class RecordedNoise:
    """Draws distinct, recognisable noise, and remembers it."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.draws = []

    def draw(self, size):
        drawn = self.rng.integers(-(10**6), 10**6, size)
        self.draws.append(drawn)
        return drawn


class PaperTree:
    """Algorithms TreeBasedAgg-Initialization, TreeBasedAgg and PrivateSum, transcribed line by line.

    Leaves are labelled by binary words of ceil(log2 T) letters; the parent of z0 and z1 is z; the root is the empty.
    """

    def __init__(self, length, noise_of):
        self.length = length
        self.bits = math.ceil(math.log2(length)) if length > 1 else 0
        self.noise_of = noise_of
        self.sums = {}

    def word(self, t):
        return format(t, "b").zfill(self.bits)[-self.bits :] if self.bits else ""

    def ancestors(self, word):
        return {word[:size] for size in range(len(word) + 1)}

    def released_nodes(self, t):
        if t == self.length:
            return {""}
        path = self.ancestors(self.word(t))
        return {node[:-1] + "0" for node in path if node.endswith("1") and node[:-1] in path}

    def private_sum(self, vector, t):
        for node in self.ancestors(self.word(t - 1)):
            self.sums[node] = self.sums.get(node, 0) + vector
        nodes = self.released_nodes(t)
        return sum(self.sums[node] + self.noise_of(node) for node in sorted(nodes)), len(nodes)


def node_of(length, t):
    """The node that is released for the first time at t: PaperTree's name for it."""
    tree = PaperTree(length, None)
    (fresh,) = tree.released_nodes(t) - (tree.released_nodes(t - 1) if t > 1 else set())
    return fresh


@every("length", LENGTHS)
@every("padding", [False, True])
def test_equals_the_papers_appendix(length, padding):
    rng = np.random.default_rng(length)
    vectors = rng.integers(-100, 100, (length, 3))
    recorded = RecordedNoise()
    ours = TreeAggregator(length, 3, recorded, root=True, padding=padding)
    named = {}
    paper = PaperTree(length, named.__getitem__)
    assert np.array_equal(ours.start(), _sum(recorded.draws[-1], 3) if padding else np.zeros(3))
    for t, vector in enumerate(vectors, start=1):
        released = ours.add(vector)
        drawn = recorded.draws[-1].reshape(-1, 3)
        named[node_of(length, t)] = drawn[0]
        expected, count = paper.private_sum(vector, t)
        assert len(drawn) == 1 + (max(0, paper.bits - count) if padding else 0)
        assert np.array_equal(released, expected + drawn[1:].sum(axis=0))


def _sum(draws, dimension):
    return draws.reshape(-1, dimension).sum(axis=0)


@every("length", LENGTHS)
@every("root", [False, True])
def test_data_of_a_round_reaches_no_more_released_nodes_than_stated(length, root):
    tree = PaperTree(length, None)
    released = set().union(*(tree.released_nodes(t) for t in range(1, length + root)))
    reached = [len(tree.ancestors(tree.word(t)) & released) for t in range(length)]
    assert max(reached) <= levels(length, root)
    assert root or levels(length) == (math.ceil(math.log2(length)) if length > 1 else 0)
    if length > 1:
        assert max(reached) == levels(length, root)  # and no fewer: the bound is not padded


def test_delta_below_what_the_grid_can_tell_is_refused():
    coarse = Sensitivity(l1=4, l2=4.0, length=10**6, dimension=100)
    with pytest.raises(ValueError, match="delta"):
        tree_noise(ApproxDP(1.0, 1e-12), coarse)


@every("root", [False, True])
def test_no_sum_is_released_beyond_the_last(root):
    tree = TreeAggregator(3, 1, Silence(), root=root)
    for _ in range(2 + root):
        tree.add(np.array([1]))
    with pytest.raises(RuntimeError, match="all were released"):
        tree.add(np.array([1]))
