r"""TreeBasedAgg: private running sums of integer vectors, with the noise of a logarithm of them.

What is released: after round t, the sum of one noisy node for each 1-bit of t; every node, once noised, may be
published. A node covers 2^j consecutive rounds; it is noised once, when its last round comes in.

Neighbours: streams in which one *round's* vector moves by at most `l1` (or `l2`) in norm, per contribution. That is
what replacing one loss does: it moves one summand of one round.

Sensitivity: only left children are ever read (those whose right sibling holds the present), so a round reaches at most
`levels(N)` = ceil(log2 N) released nodes while the N-th sum is not released, and one more if it is (the root).

Proof. Reveal every node as it completes. Its noise is independent of all that was revealed before, so, given the past,
its likelihood ratio between neighbours is that of one Laplace (or Gaussian) release of a vector that moved by at most
l1 (l2), or not at all; at most `levels` factors differ from 1, whatever later vectors do with earlier outputs. Laplace:
epsilon = levels * l1/scale. Gaussian: mu = sqrt(levels) * l2/scale. K contributions move the vector of all nodes by at
most K times as much. Running sums, and all that is made of them, are post-processing.

Tests: tests/privacy/test_tree.py (against a literal transcription of the paper's appendix; neighbours with noise held
fixed; calibration against dp-accounting).
"""

import math
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.privacy.calibration import noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sottovoce.privacy.mechanisms.mechanism import Mechanism, MechanismState, ReleasesRounds, Sensitivity, check_vector
from sottovoce.privacy.noise import Noise, Sampler, add, within


def levels(length: int, root: bool = False) -> int:
    """How many released nodes one round's data can reach.

    Parameters
    ----------
    length
        N, how many rounds there are.
    root
        Whether the N-th sum is released, too.

    Examples
    --------
    >>> levels(1000), levels(1000, root=True), levels(1)
    (10, 11, 0)
    """
    return (whole("length", length) - 1).bit_length() + root


def _reached(length: int) -> int:
    """How many released nodes one round's data can reach if `length` sums are released, and the root is not."""
    return max(1, levels(length + 1))


@lru_cache(maxsize=1024)
def tree_noise(guarantee: Guarantee, sensitivity: Sensitivity) -> Noise:
    """Return the least noise per node that keeps the guarantee.

    Parameters
    ----------
    guarantee
        What is to be kept.
    sensitivity
        How far one contribution moves one round's vector, and how many sums are released.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import ZCDP, PureDP
    >>> sensitivity = Sensitivity(l1=300, l2=100.0, length=1023, dimension=10)
    >>> tree_noise(PureDP(epsilon=1.0), sensitivity)
    Noise(family='laplace', scale=3000.0)
    >>> round(tree_noise(ZCDP(rho=0.5), sensitivity).scale, 2)
    316.23
    """
    contributions, reached = guarantee.contributions, _reached(sensitivity.length)
    return noise_for(
        guarantee,
        l1=contributions * reached * sensitivity.l1,
        l2=contributions * math.sqrt(reached) * sensitivity.l2,
        numbers=(sensitivity.length + 1) * sensitivity.dimension,
    )


class _Nodes(NamedTuple):
    """Left children whose parent is open, by level: their exact sums, and their released values."""

    open: dict[int, Integers]
    noisy: dict[int, Floats]


class TreeAggregator(ReleasesRounds):
    """Streams private running sums (TreeBasedAgg of the paper's appendix), in O(dimension * log length) memory.

    Parameters
    ----------
    length
        N, the number of rounds.
    dimension
        Length of each integer vector.
    sampler
        Draws the noise of one coordinate of one node; see `tree_noise` for its scale.
    root
        Whether the N-th sum will be released too. `tree_noise` does not pay for it: a round reaches one node more.
    padding
        Draw ceil(log2 N) noises for every sum, as the paper does for a coupling argument. Costs accuracy, and buys no
        privacy here.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import PureDP
    >>> from sottovoce.privacy.noise import Noise, SimulatedNoise
    >>> noise = tree_noise(PureDP(epsilon=1.0), Sensitivity(l1=10, l2=10.0, length=7, dimension=2))
    >>> tree = TreeAggregator(8, 2, SimulatedNoise(0).sampler(noise))
    >>> [tree.add(np.array([100, -100])).shape for _ in range(3)]
    [(2,), (2,), (2,)]
    >>> tree.round
    3
    """

    def __init__(
        self, length: int, dimension: int, sampler: Sampler, *, root: bool = False, padding: bool = False
    ) -> None:
        self.length = whole("length", length)
        self.dimension = whole("dimension", dimension)
        self.root, self.padding = root, padding
        self._sampler = sampler
        self._state = MechanismState(0, None, _Nodes({}, {}))
        self._height = levels(self.length)

    def start(self) -> Floats:
        """Return the sum before any data: zero, or the padding noise alone."""
        return _total(self._draw(self._height if self.padding else 0))

    def add(self, vector: Integers) -> Floats:
        """Take in the next round's `vector`; return the noisy sum of all rounds so far."""
        vector = check_vector(vector, self.dimension)
        last = self.length if self.root else self.length - 1
        if self.round >= last:
            raise RuntimeError(f"this tree releases {last} sums, and all were released")
        t = self.round + 1
        nodes = 1 if t == self.length else t.bit_count()
        noise = self._draw(1 + (max(0, self._height - nodes) if self.padding else 0))
        nodes_now = self._with_node(t, vector, noise[0])
        released = reduce(np.add, nodes_now.noisy.values(), _total(noise[1:]))
        self._state = MechanismState(t, released, nodes_now)  # a round is taken in whole or not at all
        return released.copy()

    def _with_node(self, t: int, vector: Integers, noise: Integers) -> "_Nodes":
        """Close the one node that ends with round t: that of the lowest 1-bit of t, or the root at t = N."""
        level = self._height if t == self.length else (t & -t).bit_length() - 1
        before: _Nodes = self._state.memory
        exact = within(vector.copy())  # the caller may erase its own
        for child, node in before.open.items():
            exact = within(exact + node) if child < level else exact
        noisy = add(exact, noise).astype(np.float64)
        return _Nodes(
            {child: node for child, node in before.open.items() if child > level} | {level: exact},
            {child: node for child, node in before.noisy.items() if child > level} | {level: noisy},
        )

    def _draw(self, vectors: int) -> Integers:
        return self._sampler.draw(vectors * self.dimension).reshape(vectors, self.dimension)


def _total(vectors: Integers) -> Floats:
    return np.asarray(vectors.sum(axis=0, dtype=np.float64))


def _open(sensitivity: Sensitivity, sampler: Sampler, *, padding: bool = False) -> TreeAggregator:
    return TreeAggregator(sensitivity.length + 1, sensitivity.dimension, sampler, padding=padding)


def _mean_variance(length: int, *, padding: bool = False) -> float:
    """Of the sums 1..length: a noise for each of their nodes, or as many as the tree has levels if they are padded."""
    if padding:
        return float(levels(length + 1))
    ones = 0  # 1-bits of all of 0..length: half of every whole period, and what is beyond the half of the last
    for level in range(length.bit_length()):
        periods, beyond = divmod(length + 1, 2 << level)
        ones += (periods << level) + max(0, beyond - (1 << level))
    return ones / length


TREE = Mechanism(
    name="tree",
    takes=("vectors",),
    releases="sums",
    guarantees=(PureDP, ApproxDP, ZCDP),
    noise=tree_noise,
    open=_open,  # of one round more, whose sum is never released
    mean_variance=_mean_variance,
    reach=_reached,
    options=("padding",),
    unasked=True,
)
