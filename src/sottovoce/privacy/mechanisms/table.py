"""The table of mechanisms, and private running sums of integer vectors behind one interface.

A mechanism is a value (mechanism.py), exported by its own file, where it also says who are neighbours and why it is
private. Adding one is that file and a line in the table below; an unknown name is an error at the door.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._checks import choice, whole
from sottovoce.privacy.guarantees import Guarantee
from sottovoce.privacy.mechanisms.exact_sum import LOCAL, NONE
from sottovoce.privacy.mechanisms.fresh import FRESH
from sottovoce.privacy.mechanisms.item_sums import ITEM_SUMS
from sottovoce.privacy.mechanisms.mechanism import Mechanism, Sensitivity
from sottovoce.privacy.mechanisms.probe_sums import PROBE_SUMS
from sottovoce.privacy.mechanisms.tree import TREE
from sottovoce.privacy.noise import Noise

MECHANISMS: dict[str, Mechanism] = {one.name: one for one in (PROBE_SUMS, ITEM_SUMS, TREE, FRESH, NONE, LOCAL)}
"""Every mechanism there is, by name."""


def mechanism_named(name: str) -> Mechanism:
    """Return the mechanism of a name, or say which there are.

    Parameters
    ----------
    name
        Of a mechanism in `MECHANISMS`.

    Examples
    --------
    >>> mechanism_named("tree")
    Mechanism('tree')
    """
    return MECHANISMS[choice("mechanism", name, tuple(MECHANISMS))]


def mechanism_for(guarantee: Guarantee, wanted: Mechanism) -> Mechanism:
    """Return what is in force: `wanted`, unless no noise is added here, since none is needed or owners add it.

    Parameters
    ----------
    guarantee
        What is to be kept.
    wanted
        The mechanism to use where noise is added here.

    Examples
    --------
    >>> from sottovoce.privacy import LocalDP, PureDP
    >>> mechanism_for(PureDP(1.0), TREE), mechanism_for(LocalDP(1.0), TREE)
    (Mechanism('tree'), Mechanism('local'))
    """
    plain = (one for one in MECHANISMS.values() if one.unasked and not one.noised and one.serves(guarantee))
    return next(plain, wanted)


class RunningSums(Protocol):
    """Streams running sums: integers in, floats out."""

    @property
    def round(self) -> int:
        """Rounds that were taken in."""

    @property
    def last(self) -> NDArray[np.float64]:
        """What the last of them released."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""

    def start(self) -> NDArray[np.float64]:
        """Return the sum before any data."""

    def add(self, vector: Integers) -> NDArray[np.float64]:
        """Take in the next round's vector, whole or not at all; return the noisy sum of all rounds so far.

        Parameters
        ----------
        vector
            Integers, one for each coordinate.
        """


@dataclass(frozen=True)
class SumError:
    """Standard deviation of the noise in one coordinate of a running sum, in steps of the grid.

    Attributes
    ----------
    rms
        Root mean square over the sums 1..length.
    worst
        The largest of them.
    noise
        What is drawn.
    """

    noise: Noise
    rms: float
    worst: float
    _variance: Callable[[int], float]  # of the t-th sum
    _length: int

    def at(self, t: int) -> float:
        """Return the standard deviation of the t-th running sum.

        Parameters
        ----------
        t
            From 1.
        """
        return math.sqrt(self._variance(whole("t", t, most=self._length)))

    def __repr__(self) -> str:
        return f"SumError(rms={self.rms:.6g}, worst={self.worst:.6g}, noise={self.noise})"


def sum_error(
    mechanism: str, guarantee: Guarantee, *, l1: int, l2: float, length: int, dimension: int, **options: Any
) -> SumError:
    """Return how much noise a coordinate of the running sums will have, before anything is run.

    `options` are the mechanism's own, as `padding` of the tree.

    Parameters
    ----------
    mechanism
        Its name.
    guarantee
        What is to be kept.
    l1, l2
        Norms of what one contribution changes in one round's vector, at most.
    length
        How many rounds there are.
    dimension
        Of the vectors.
    **options
        Of the mechanism, as `padding` of the tree.

    Examples
    --------
    >>> from sottovoce.privacy import ZCDP
    >>> for mechanism in ("tree", "fresh"):
    ...     error = sum_error(mechanism, ZCDP(rho=0.5), l1=1000, l2=1000.0, length=1000, dimension=1)
    ...     print(mechanism, round(error.rms / 1000, 2))
    tree 7.03
    fresh 22.37
    """
    known = tuple(one.name for one in MECHANISMS.values() if one.variances is not None)
    found, sensitivity = MECHANISMS[choice("mechanism", mechanism, known)], Sensitivity(l1, l2, length, dimension)
    noise = found.noise(guarantee, sensitivity)
    assert noise is not None
    assert found.variances is not None
    unit = noise.standard_deviation**2
    found.check_options(options)
    variance, mean, worst = found.variances(length, **options)
    return SumError(noise, math.sqrt(unit * mean), math.sqrt(unit * worst), lambda t: unit * variance(t), length)
