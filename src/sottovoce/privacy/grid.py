"""Integer grids: a private loss and a public direction become integers before anything else touches them.

A loss f is clipped to [low, high] and becomes round((f - low)/B * 2^bits), an integer in [0, 2^bits], B = high - low.
Replacing one loss moves that integer by at most 2^bits: the sensitivity does not rest on the caller's good behaviour.
The rounding errs by at most B/2^(bits+1) per loss. Where people tell rewards, a reward r is the loss -r: its sign
turns here, before it is clipped, and nothing that comes after knows of rewards.

A unit direction u becomes round(u * 2^bits). Its norms on the grid are at most those of u plus the rounding of each
coordinate: l1 <= sqrt(n) 2^bits + n/2, l2 <= 2^bits + sqrt(n)/2. Sensitivities use these bounds, not those of u; and
`quantise` checks them, on the integers, since u comes from a set that anybody may have written: a direction that is not
finite, or not a unit vector, is refused. (The bound on l1 follows from that on l2.)

Clipping and rounding keep an integer of a loss within [0, 2^bits] whatever the range is: rounding is monotone, so that
f - low is at most high - low, and their quotient at most 1, after rounding as before.

Overflow: a sum over `events` events is at most events * 2^loss_bits * (2^direction_bits + 1) in every coordinate, and
`bits_for` chooses the bits so that this stays below 2^61.

Tests: tests/privacy/test_integer_guards.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number, whole
from sottovoce._losses import as_float, as_floats
from sottovoce.errors import DomainError, InvalidLoss
from sottovoce.privacy.noise import LARGEST_SUM

MOST_BITS = 18
_LEAST_BITS = 6
_ROUNDING = 2.0**-25  # far more than that of a float, and its square still more than that of a sum of floats


@dataclass(frozen=True)
class LossGrid:
    """The integer grid of losses.

    Parameters
    ----------
    low, high
        The range; losses outside are clipped to it.
    bits
        2^bits steps are the width of the range.
    rewards
        Whether rewards are told, of which these are the losses.

    Examples
    --------
    >>> grid = LossGrid(0.0, 2.0, bits=4)
    >>> grid.quantise([0.5, 99.0, -3.0])
    array([ 4, 16,  0])
    >>> grid.missing * grid.step + grid.low
    1.0
    """

    low: float
    high: float
    bits: int = MOST_BITS
    rewards: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", number("loss_range[0]", self.low))
        object.__setattr__(self, "high", number("loss_range[1]", self.high))
        if not self.low < self.high:
            raise ValueError(f"loss_range must be (low, high) with low < high, got ({self.low!r}, {self.high!r})")
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"loss_range is too wide for floating point: ({self.low!r}, {self.high!r})")
        whole("bits", self.bits, most=40)

    @property
    def width(self) -> float:
        """B, the range that losses are clipped to."""
        return self.high - self.low

    @cached_property
    def steps(self) -> int:
        """The sensitivity: how far replacing one loss can move its integer."""
        return int(2**self.bits)

    @property
    def step(self) -> float:
        """Length of one step of the grid."""
        return self.width / self.steps

    @cached_property
    def missing(self) -> int:
        """What a loss that never comes counts as: the integer of the middle of the range."""
        return self.steps // 2

    leaves_out_missing, per_slot = False, 1

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest integer of a loss."""
        return 0, self.steps

    def coarsened(self, integers: Integers, factor: int) -> Integers:
        """Return integers on a grid that is coarser by a factor: the nearest ones.

        Parameters
        ----------
        integers
            Of losses.
        factor
            A power of 2.
        """
        return np.asarray((integers + factor // 2) // factor)

    def valid(self, integers: Integers) -> bool:
        """Whether `integers` can be those of losses."""
        return bool(((integers >= 0) & (integers <= self.steps)).all())

    def quantise(self, losses: Any) -> Integers:
        """Return the integers of a block of losses. Refuses NaN and infinity, without saying which or what.

        Parameters
        ----------
        losses
            Numbers, of any shape.
        """
        values = -as_floats(losses) if self.rewards else as_floats(losses)
        if not np.isfinite(values).all():
            raise InvalidLoss(
                "a loss is not a finite number; nothing of this block was recorded. Fix it, and tell again"
            )
        clipped = np.clip(values, self.low, self.high)
        return np.rint((clipped - self.low) / self.width * self.steps).astype(np.int64)

    def quantiser(self) -> Callable[[Any], int]:
        """Return a function of one loss, equal to `quantise` to the last bit, for loops that take one at a time."""
        low, high, width, steps, rewards = self.low, self.high, self.width, self.steps, self.rewards

        def quantise_one(loss: Any) -> int:
            if type(loss) is not float:
                loss = as_float(loss)
            if rewards:
                loss = -loss
            if not low <= loss <= high:
                if not math.isfinite(loss):
                    raise InvalidLoss("the loss is not a finite number; it was not recorded. Fix it, and tell again")
                loss = low if loss < low else high
            place: float = (loss - low) / width * steps
            return round(place)

        return quantise_one


@dataclass(frozen=True)
class DirectionGrid:
    """The integer grid of public unit directions.

    Parameters
    ----------
    bits
        2^bits steps are the length of a unit vector.

    Examples
    --------
    >>> DirectionGrid(bits=4).quantise(np.array([[0.6, -0.8]]))
    array([[ 10, -13]])
    """

    bits: int = MOST_BITS

    def __post_init__(self) -> None:
        whole("bits", self.bits, most=40)

    @property
    def step(self) -> float:
        """Length of one step of the grid."""
        return float(2.0**-self.bits)

    def quantise(self, directions: Floats) -> Integers:
        """Return the integers of a block of directions; refuse any that is longer on the grid than a unit vector.

        Parameters
        ----------
        directions
            Unit vectors, in rows.
        """
        if not (np.abs(directions) <= 1 + _ROUNDING).all():  # NaN is not, either
            raise _no_unit_vector()
        integers = np.rint(directions * 2.0**self.bits)
        dimension = directions.shape[-1]
        squares = np.einsum("...i,...i->...", integers, integers)  # floats: rounded by less than the margin
        margin = dimension * _ROUNDING**2
        if squares.size and not squares.max() <= self.largest_l2(dimension) ** 2 * (1 - margin):
            raise _no_unit_vector()
        return integers.astype(np.int64)

    def largest_l1(self, dimension: int) -> int:
        """Largest l1 norm, in steps, of a rounded unit vector.

        Parameters
        ----------
        dimension
            Of the vectors.
        """
        return math.isqrt(dimension * 4**self.bits) + 1 + (dimension + 1) // 2

    def largest_l2(self, dimension: int) -> float:
        """Largest l2 norm, in steps, of a rounded unit vector.

        Parameters
        ----------
        dimension
            Of the vectors.
        """
        return math.nextafter(2.0**self.bits + math.sqrt(dimension) / 2, math.inf)


def _no_unit_vector() -> DomainError:
    return DomainError(
        "a direction is not finite, or longer than 1: no loss may be summed along it. The set's `tangent` is broken; "
        "see sv.domains.check_domain"
    )


def bits_for(events: int) -> int:
    """Return the bits of the finest grids on which a sum over `events` events provably stays below 2^61.

    Parameters
    ----------
    events
        Of the whole run.

    Examples
    --------
    >>> bits_for(10**12)
    10
    """
    for bits in range(MOST_BITS, _LEAST_BITS - 1, -1):
        if events * 2**bits * (2**bits + 1) < LARGEST_SUM:
            return bits
    raise ValueError(f"horizon = {events} is too long to be summed in 64 bits; split it into several runs")
