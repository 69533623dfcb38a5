r"""Honaker-averaged tree: every node is estimated from itself and from its children. About a quarter less noise.

What is released: after round t, every node that ends with round t, left and right children alike, each noised once. A
node covers 2^j consecutive rounds. Its estimate averages its own noisy value and the sum of its children's estimates,
weighted by their inverse variances; the running sum adds one estimate for each 1-bit of t.

Neighbours: streams in which one *round's* vector moves by at most `l1` (or `l2`) in norm, per contribution.

Sensitivity: a round is in one node of each size, and the nodes that N rounds complete have sizes 1, 2, 4, .. up to N,
so a round reaches at most `honaker_levels(N)` = floor(log2 N) + 1 released nodes.

Proof. As for the plain tree: reveal every node as it completes; its noise is independent of all that was revealed
before, so at most `honaker_levels` factors of the likelihood ratio differ from 1. Laplace: epsilon = levels * l1/scale.
Gaussian: mu = sqrt(levels) * l2/scale. K contributions: K times as much. Averages and sums are post-processing.

The estimate is Honaker's "from below" (2015), which needs the past only. With noise of variance 1 a node of size 2^j
has variance 1/(1 + 1/(2 v_{j-1})), v_0 = 1, which is 2^j/(2^(j+1) - 1).

Tests: tests/privacy/test_honaker.py (released nodes enumerated for all N to 70; neighbours with noise held fixed).
"""

import math
from functools import lru_cache

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number, whole
from sottovoce.privacy.calibration import noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sottovoce.privacy.mechanisms._nodes import node_variances
from sottovoce.privacy.mechanisms._state import MechanismState, ReleasesRounds
from sottovoce.privacy.mechanisms._vectors import check_vector
from sottovoce.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from sottovoce.privacy.noise import Noise, Sampler, add


def honaker_levels(length: int) -> int:
    """How many released nodes one round's data can reach, if `length` sums are released.

    Examples
    --------
    >>> honaker_levels(1000), honaker_levels(1024), honaker_levels(1)
    (10, 11, 1)
    """
    return whole("length", length).bit_length()


def node_variance(level: int) -> float:
    """Variance of the estimate of a node of 2^level rounds, for noise of variance 1.

    Examples
    --------
    >>> node_variance(0), round(node_variance(1), 4), round(node_variance(20), 4)
    (1.0, 0.6667, 0.5)
    """
    return 1 / (2 - 2.0**-level)


@lru_cache(maxsize=1024)
def honaker_noise(guarantee: Guarantee, *, l1: int, l2: float, length: int, dimension: int) -> Noise:
    """Return the least noise per node that keeps the guarantee, if `length` sums are released.

    Parameters
    ----------
    guarantee
        What is to be kept.
    l1, l2
        Norms of what one contribution changes in one round's vector, at most.
    length
        How many sums are released.
    dimension
        Of the vectors.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import PureDP
    >>> honaker_noise(PureDP(epsilon=1.0), l1=300, l2=100.0, length=1000, dimension=10)
    Noise(family='laplace', scale=3000.0)
    """
    contributions, reached = guarantee.contributions, honaker_levels(length)
    return noise_for(
        guarantee,
        l1=contributions * reached * whole("l1", l1),
        l2=contributions * math.sqrt(reached) * number("l2", l2, above=0),
        numbers=contributions * reached * whole("dimension", dimension),
    )


class HonakerSums(ReleasesRounds):
    """Streams private running sums from averaged nodes, in O(dimension * log length) memory.

    Parameters
    ----------
    length
        How many sums will be released.
    dimension
        Length of each integer vector.
    sampler
        Draws the noise of one coordinate of one node; see `honaker_noise` for its scale.

    Examples
    --------
    >>> from sottovoce.privacy.noise import Noise, SimulatedNoise
    >>> sums = HonakerSums(8, 2, SimulatedNoise(0).sampler(Noise("laplace", 10.0)))
    >>> [sums.add(np.array([100, -100])).shape for _ in range(3)], sums.round
    ([(2,), (2,), (2,)], 3)
    """

    def __init__(self, length: int, dimension: int, sampler: Sampler) -> None:
        self.length = whole("length", length)
        self.dimension = whole("dimension", dimension)
        self._sampler = sampler
        self._state = MechanismState(0, None, {})

    @property
    def _open(self) -> dict[int, tuple[Integers, Floats]]:
        """Left children: exact sum and estimate, by level."""
        nodes: dict[int, tuple[Integers, Floats]] = self._state.memory
        return nodes

    def start(self) -> Floats:
        """Return the sum before any data."""
        return np.zeros(self.dimension)

    def add(self, vector: Integers) -> Floats:
        """Take in the next round's vector; return the noisy sum of all rounds so far."""
        vector = check_vector(vector, self.dimension)
        if self.round >= self.length:
            raise RuntimeError(f"this tree releases {self.length} sums, and all were released")
        t = self.round + 1
        top = (t & -t).bit_length() - 1  # nodes of levels 0..top end with round t
        nodes = {level: node for level, node in self._open.items() if level > top} | {top: self._complete(vector, top)}
        released = np.asarray(sum(estimate for _, estimate in nodes.values()))
        self._state = MechanismState(t, released, nodes)  # a round is taken in whole or not at all
        return released.copy()

    def _complete(self, vector: Integers, top: int) -> tuple[Integers, Floats]:
        """Noise every node that ends now, from the leaf up; return the exact sum and the estimate of the last."""
        noise = self._sampler.draw((top + 1) * self.dimension).reshape(top + 1, self.dimension)
        exact = vector.copy()  # the caller may erase its own
        estimate = add(exact, noise[0]).astype(np.float64)
        for level in range(1, top + 1):
            left_exact, left_estimate = self._open[level - 1]
            exact = left_exact + exact
            own = add(exact, noise[level])
            below = 2 * node_variance(level - 1)  # variance of the sum of the children's estimates
            estimate = (below * own + (left_estimate + estimate)) / (below + 1)
        return exact, estimate


def _noise(guarantee: Guarantee, sensitivity: Sensitivity) -> Noise:
    return honaker_noise(
        guarantee, l1=sensitivity.l1, l2=sensitivity.l2, length=sensitivity.length, dimension=sensitivity.dimension
    )


HONAKER = Mechanism(
    name="honaker",
    takes=("vectors",),
    releases="sums",
    guarantees=(PureDP, ApproxDP, ZCDP),
    noise=_noise,
    open=lambda sensitivity, sampler: HonakerSums(sensitivity.length, sensitivity.dimension, sampler),
    variances=lambda length: node_variances(length, node_variance),
    reach=honaker_levels,
    unasked=True,
)
