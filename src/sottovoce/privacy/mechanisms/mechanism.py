"""What a release mechanism says of itself: one value, exported by its file and listed in table.py.

Everything that plans, runs, states or attacks a mechanism asks this value. There is no other list of names.

What a mechanism keeps from round to round is one record. A round is in it, with what it released, or it is not: the
record is replaced by one assignment, after the noise was drawn and before anything is handed out. Whoever was kept from
the result by an exception finds it in `last`, and must not hand the round in again: its losses have no budget for a
second noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Integers
from sottovoce._checks import number, whole
from sottovoce.privacy.guarantees import Guarantee
from sottovoce.privacy.noise import Noise, Sampler

Takes = Literal["numbers", "vectors", "items"]
"""How events enter a round: each into one of its numbers, into all coordinates of a vector, or into a few numbers, one
for each item of its decision."""


@dataclass(frozen=True)
class Sensitivity:
    """How far one contribution moves what a mechanism is handed, and how much that is.

    Parameters
    ----------
    l1, l2
        Norms of the change of one round's integers.
    length
        How many rounds are released.
    dimension
        How many integers a round has.
    """

    l1: int
    l2: float
    length: int
    dimension: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", whole("l1", self.l1))
        object.__setattr__(self, "l2", number("l2", self.l2, above=0))
        object.__setattr__(self, "length", whole("length", self.length))
        object.__setattr__(self, "dimension", whole("dimension", self.dimension))


@dataclass(frozen=True)
class Mechanism:
    """A release mechanism.

    Attributes
    ----------
    name
        What users call it.
    takes
        How events may enter the rounds that it releases.
    releases
        "rounds": each round once, by itself, and nothing is kept of it. "sums": running sums of all rounds; between
        rounds un-noised values are kept, so that it can be neither stored nor restored.
    guarantees
        The kinds of guarantee that it keeps.
    noise
        The least noise of one drawn number that keeps a guarantee; None for a mechanism that adds none.
    open
        Starts it: sensitivity, a sampler of that noise, and its own options by name.
    mean_variance
        Of the noise in running sums of what it releases, for a length and its own options, if what is drawn has
        variance 1; None where nobody asks.
    reach
        In how many noised vectors a round is, for a number of released rounds: what the statement counts.
    headroom
        By what factor its sums may exceed those of the rounds.
    noised
        Whether it adds noise at all.
    options
        Names of the choices of a plan that are its own.
    unasked
        Whether plans may take it though nobody asked for it by name. One that does not say so is never taken.
    """

    name: str
    takes: tuple[Takes, ...]
    releases: Literal["rounds", "sums"]
    guarantees: tuple[type[Guarantee], ...]
    noise: Callable[[Guarantee, Sensitivity], Noise | None]
    open: Callable[..., Any]
    mean_variance: Callable[..., float] | None = None
    reach: Callable[[int], int] = lambda length: 1
    headroom: int = 1
    noised: bool = True
    options: tuple[str, ...] = ()
    unasked: bool = False

    def serves(self, guarantee: Guarantee) -> bool:
        """Whether it keeps guarantees of this kind.

        Parameters
        ----------
        guarantee
            What is to be kept.
        """
        return isinstance(guarantee, self.guarantees)

    def start(self, sensitivity: Sensitivity, sampler: Sampler | None, **options: Any) -> Any:
        """Open it for a run; options that are not its own are refused.

        Parameters
        ----------
        sensitivity
            How far one event moves what is released, and how much that is.
        sampler
            Of its noise; None if it adds none.
        **options
            Of its own, as `padding` of the tree.
        """
        unknown = set(options) - set(self.options)
        if unknown:
            raise TypeError(f"mechanism {self.name!r} has no option {', '.join(sorted(unknown))}")
        return self.open(sensitivity, sampler, **options)

    def __repr__(self) -> str:
        return f"Mechanism({self.name!r})"


class MechanismState(NamedTuple):
    """How many rounds were taken in, what the last one released, and what the next one needs. Never changed."""

    round: int
    last: Any
    memory: Any

    def __repr__(self) -> str:
        return f"MechanismState(round={self.round}, <withheld>)"  # a tree's memory holds un-noised sums


class ReleasesRounds:
    """Base of all that releases rounds: what it keeps is one record."""

    _state = MechanismState(0, None, None)

    round = property(attrgetter("_state.round"), doc="Rounds that were released.")

    @property
    def last(self) -> NDArray[Any]:
        """What the last of them released."""
        return np.array(self._state.last)


def check_vector(vector: Any, dimension: int) -> Integers:
    """Return `vector` if it is int64 of the right length; the message never holds its values.

    Examples
    --------
    >>> check_vector(np.array([1, 2]), 2)
    array([1, 2])
    """
    checked = np.asarray(vector)
    if checked.shape != (dimension,) or checked.dtype != np.int64:
        raise ValueError(f"vector must be int64 of shape ({dimension},), got {checked.dtype} {checked.shape}")
    return checked
