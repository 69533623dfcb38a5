"""Sums without noise, behind the interface of the private ones: without privacy, or where losses come in privatised."""

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._checks import whole
from sottovoce.privacy.guarantees import LocalDP, NoPrivacy
from sottovoce.privacy.mechanisms.mechanism import Mechanism, MechanismState, ReleasesRounds, check_vector
from sottovoce.privacy.noise import within


class ExactSum(ReleasesRounds):
    """Streams exact running sums of integer vectors. NOT PRIVATE.

    Parameters
    ----------
    dimension
        Of the vectors.

    Examples
    --------
    >>> total = ExactSum(dimension=2)
    >>> total.add(np.array([1, 2])), total.add(np.array([10, 20]))
    (array([1., 2.]), array([11., 22.]))
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = whole("dimension", dimension)
        self._state = MechanismState(0, None, np.zeros(self.dimension, dtype=np.int64))

    def start(self) -> NDArray[np.float64]:
        """Return the sum before any data."""
        return np.zeros(self.dimension)

    def release(self, sums: Integers) -> Integers:
        """Return a round's numbers as they are.

        Parameters
        ----------
        sums
            Integers, one for each number of the round.
        """
        released = within(np.array(sums))
        self._state = MechanismState(self.round + 1, released, self._state.memory)
        return released.copy()

    def add(self, vector: Integers) -> NDArray[np.float64]:
        """Take in the next round's `vector`; return the sum of all rounds so far."""
        total = within(self._state.memory + within(check_vector(vector, self.dimension)))
        self._state = MechanismState(self.round + 1, total.astype(np.float64), total)
        return total.astype(np.float64)


NONE = Mechanism(
    name="none",
    takes=("numbers", "vectors", "items"),
    releases="rounds",
    guarantees=(NoPrivacy,),
    noise=lambda guarantee, sensitivity: None,
    open=lambda sensitivity, sampler: ExactSum(sensitivity.dimension),
    noised=False,
    unasked=True,
)

LOCAL = Mechanism(
    name="local",
    takes=("numbers", "vectors"),
    releases="rounds",
    guarantees=(LocalDP,),  # each loss was privatised by its owner, with noise of its own
    noise=lambda guarantee, sensitivity: None,
    open=lambda sensitivity, sampler: ExactSum(sensitivity.dimension),
    noised=False,
    unasked=True,
)
