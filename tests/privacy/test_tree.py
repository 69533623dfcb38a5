"""TreeBasedAgg: equal to the paper's appendix, sensitive exactly where it is said to be, noised as calibrated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import every
from sottovoce.privacy import (
    ApproxDP,
    Noise,
    Sensitivity,
    SimulatedNoise,
    TreeAggregator,
    levels,
    tree_noise,
)

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


class NoNoise:
    def draw(self, size):
        return np.zeros(size, dtype=np.int64)


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


@given(st.integers(2, 40), st.integers(0, 39), st.integers(-1000, 1000), st.booleans())
@settings(max_examples=60)
def test_replacing_one_round_changes_only_the_nodes_above_it(length, where, change, root):
    """Noise held fixed: a node's value moves by the change if it covers the round, and not at all otherwise."""
    where %= length
    vectors = np.random.default_rng(1).integers(-100, 100, (length, 1))
    other = vectors.copy()
    other[where] += change
    moved = _node_values(vectors, root)
    for (covers, value), (_, replaced) in zip(moved, _node_values(other, root), strict=True):
        assert replaced - value == (change if where in covers else 0)
    assert sum(where in covers for covers, _ in moved) <= levels(length, root)


def _node_values(vectors, root):
    """(rounds covered, noisy value) of every node, in order of release."""
    length = len(vectors)
    tree = TreeAggregator(length, 1, RecordedNoise(), root=root)
    paper = PaperTree(length, None)
    values = []
    for t in range(1, length + root):
        tree.add(vectors[t - 1])
        node = node_of(length, t)
        covers = {leaf for leaf in range(length) if node in paper.ancestors(paper.word(leaf))}
        values.append((covers, tree._noisy[min(tree._noisy)][0]))
    return values


def test_released_noise_has_the_right_variance():
    """One noise per 1-bit of t. 4000 trees: a variance is within 12% with probability above 1 - 1e-6."""
    noise = Noise("gaussian", 1000.0)
    trees = [TreeAggregator(8, 500, SimulatedNoise(seed).sampler(noise)) for seed in range(8)]
    for t in range(1, 8):
        spread = np.concatenate([tree.add(np.zeros(500, dtype=np.int64)) for tree in trees])
        assert np.var(spread) == pytest.approx(t.bit_count() * 1e6, rel=0.12)


def test_padding_makes_the_noise_of_every_sum_equal():
    noise = Noise("laplace", 1000.0)
    trees = [TreeAggregator(8, 500, SimulatedNoise(seed).sampler(noise), padding=True) for seed in range(8)]
    for _ in range(7):
        spread = np.concatenate([tree.add(np.zeros(500, dtype=np.int64)) for tree in trees])
        assert np.var(spread) == pytest.approx(3 * 2e6, rel=0.2)  # heavier tails: 20% at 1e-6


def test_memory_is_logarithmic():
    tree = TreeAggregator(2**12, 2, NoNoise())
    kept = 0
    for _ in range(2**12 - 1):
        tree.add(np.ones(2, dtype=np.int64))
        kept = max(kept, len(tree._open) + len(tree._noisy))
    assert kept <= 2 * 12


def test_delta_below_what_the_grid_can_tell_is_refused():
    coarse = Sensitivity(l1=4, l2=4.0, length=10**6, dimension=100)
    with pytest.raises(ValueError, match="delta"):
        tree_noise(ApproxDP(1.0, 1e-12), coarse)


@every("root", [False, True])
def test_no_sum_is_released_beyond_the_last(root):
    tree = TreeAggregator(3, 1, NoNoise(), root=root)
    for _ in range(2 + root):
        tree.add(np.array([1]))
    with pytest.raises(RuntimeError, match="all were released"):
        tree.add(np.array([1]))
