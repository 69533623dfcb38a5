"""Fresh noise in every round: the simplest running sum. Its noise grows as the root of the number of rounds.

What is released: every round's integer vector with its own noise. The running sum is the sum of these.

Neighbours: streams in which one round's vector moves by at most `l1` (or `l2`) in norm, per contribution.

Sensitivity: one contribution is in one round, so it moves the vector of all released numbers by l1 (l2); K of them by
at most K times as much (all may fall into one round).

Proof. Given the past, a round's noise is fresh, and the rounds that hold none of the person's data have a likelihood
ratio of 1. Laplace: the ratios of the others multiply to at most exp(K*l1/scale). Gaussian: their mu add up in squares
to at most (K*l2/scale)^2. This holds for any number of rounds, and however later vectors depend on earlier outputs.

Tests: tests/privacy/test_mechanisms.py.
"""

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.privacy.calibration import noise_for
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from sottovoce.privacy.mechanisms.mechanism import Mechanism, MechanismState, ReleasesRounds, Sensitivity, check_vector
from sottovoce.privacy.noise import Noise, Sampler, add


def fresh_noise(guarantee: Guarantee, sensitivity: Sensitivity) -> Noise:
    """Return the least noise per coordinate of a round that keeps the guarantee.

    Parameters
    ----------
    guarantee
        What is to be kept.
    sensitivity
        How far one contribution moves one round's vector.

    Examples
    --------
    >>> from sottovoce.privacy.guarantees import PureDP
    >>> fresh_noise(PureDP(epsilon=0.1), Sensitivity(l1=300, l2=100.0, length=7, dimension=10))
    Noise(family='laplace', scale=3000.0)
    """
    people, moved = guarantee.contributions, sensitivity
    return noise_for(guarantee, l1=people * moved.l1, l2=people * moved.l2, numbers=people * moved.dimension)


class FreshSums(ReleasesRounds):
    """Streams private running sums whose every round has noise of its own, in O(dimension) memory.

    Parameters
    ----------
    dimension
        Length of each integer vector.
    sampler
        Draws the noise of one coordinate; see `fresh_noise` for its scale.

    Examples
    --------
    >>> from sottovoce.privacy.noise import Noise, SimulatedNoise
    >>> sums = FreshSums(2, SimulatedNoise(0).sampler(Noise("laplace", 10.0)))
    >>> [sums.add(np.array([100, -100])).shape for _ in range(3)], sums.round
    ([(2,), (2,), (2,)], 3)
    """

    def __init__(self, dimension: int, sampler: Sampler) -> None:
        self.dimension = whole("dimension", dimension)
        self._sampler = sampler
        self._state = MechanismState(0, None, np.zeros(self.dimension))  # the sum of all that was released

    def start(self) -> Floats:
        """Return the sum before any data."""
        return np.zeros(self.dimension)

    def release(self, vector: Integers) -> Integers:
        """Return the next round's vector with its noise.

        Parameters
        ----------
        vector
            Integers, one for each coordinate.
        """
        released = self._noised(vector)
        self._state = MechanismState(self.round + 1, released, self._state.memory)
        return released.copy()

    def add(self, vector: Integers) -> Floats:
        """Take in the next round's `vector`; return the noisy sum of all rounds so far."""
        total: Floats = self._state.memory + self._noised(vector)
        self._state = MechanismState(self.round + 1, total, total)
        return total.copy()

    def _noised(self, vector: Integers) -> Integers:
        return add(check_vector(vector, self.dimension), self._sampler.draw(self.dimension))


FRESH = Mechanism(
    name="fresh",
    takes=("vectors",),
    releases="rounds",
    guarantees=(PureDP, ApproxDP, ZCDP),
    noise=fresh_noise,
    open=lambda sensitivity, sampler: FreshSums(sensitivity.dimension, sampler),
    mean_variance=lambda length: (length + 1) / 2,
    unasked=True,
)
