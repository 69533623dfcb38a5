"""Honaker's tree: which nodes are released, and that averaging is the best use of them."""

import numpy as np
import pytest

from sampling import every
from sottovoce.privacy import HonakerSums, honaker_levels
from sottovoce.privacy.mechanisms import honaker
from sottovoce.privacy.mechanisms.honaker import node_variance
from sottovoce.privacy.noise import add as real_add


def nodes(length):
    """All complete dyadic nodes within 1..length, as (first, last) rounds, in order of release."""
    found = [
        (first, first + 2**level - 1)
        for level in range(length.bit_length())
        for first in range(1, length + 1, 2**level)
        if first + 2**level - 1 <= length
    ]
    return sorted(found, key=lambda node: (node[1], -node[0]))


@every("length", range(1, 71))
def test_every_released_node_is_known_and_a_round_reaches_no_more_than_stated(monkeypatch, no_noise, length):
    """Rounds hold powers of two, so that a sum says which rounds are in it."""
    exact = [1 << (t % 60) for t in range(length)]
    seen = []
    monkeypatch.setattr(honaker, "add", lambda sums, noise: (seen.append(int(sums[0])), real_add(sums, noise))[1])
    stream = HonakerSums(length, 1, no_noise())
    for value in exact:
        stream.add(np.array([value]))
    expected = nodes(length)
    assert seen == [sum(exact[first - 1 : last]) for first, last in expected]
    reached = [sum(first <= t <= last for first, last in expected) for t in range(1, length + 1)]
    assert max(reached) == honaker_levels(length)


@every("length", [1, 2, 3, 8, 13])
def test_a_sum_is_the_best_linear_estimate_from_the_nodes_below_it(length):
    """Weighted least squares on all nodes inside the sum's own subtrees, noise of variance 1 each."""
    inside = [node for node in nodes(length) if _subtree_of(length, node)]
    design = np.array([[first <= t <= last for t in range(1, length + 1)] for first, last in inside], dtype=float)
    best = np.ones(length) @ np.linalg.inv(design.T @ design) @ np.ones(length)
    stated = sum(node_variance(level) for level in range(10) if length >> level & 1)
    assert stated == pytest.approx(best)
    values = np.random.default_rng(0).integers(-100, 100, len(inside))
    expected = np.ones(length) @ np.linalg.lstsq(design, values.astype(float), rcond=None)[0]
    assert _released(length, dict(zip(inside, values, strict=True))) == pytest.approx(expected)


def _subtree_of(length, node):
    """Whether a node lies within one of the nodes whose estimates make the sum 1..length."""
    first = 1
    for level in reversed(range(length.bit_length())):
        if length >> level & 1:
            if first <= node[0] and node[1] < first + 2**level:
                return True
            first += 2**level
    return False


def _released(length, noise_of):
    class Scripted:
        t = 0

        def draw(self, size):
            self.t += 1
            return np.array([noise_of.get((self.t - 2**level + 1, self.t), 0) for level in range(size)])

    stream = HonakerSums(length, 1, Scripted())
    for _ in range(length):
        released = stream.add(np.array([0]))
    return released[0]


def test_memory_is_logarithmic(no_noise):
    stream, kept = HonakerSums(2**12, 2, no_noise()), 0
    for _ in range(2**12):
        stream.add(np.ones(2, dtype=np.int64))
        kept = max(kept, len(stream._open))
    assert kept <= 13
