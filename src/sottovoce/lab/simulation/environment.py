"""What an environment is: a sequence of losses fixed in advance, and the best fixed point against it in hindsight."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sottovoce._arrays import Integers, Vector
from sottovoce.playing import BLOCK, World


@dataclass(frozen=True, slots=True)
class Comparator:
    """The best fixed point in hindsight, with a certificate.

    Parameters
    ----------
    point : array of shape (n,)
        A feasible point.
    certificate : float
        Frank-Wolfe gap at the point: per event, no feasible point is better than this one by more.

    Examples
    --------
    >>> import sottovoce as sv
    >>> best = sv.lab.NoisyLinear(sv.domains.Simplex(4)).comparator(10_000)
    >>> best.point.shape, best.certificate
    ((4,), 0.0)
    """

    point: Vector
    certificate: float


class Environment(World, ABC):
    """A sequence of convex losses over a domain, the same however it is cut into blocks.

    The losses do not react to the actions: event number t holds the same loss function whatever was played before it.
    Regret is then pathwise: the played actions and the comparator meet the same losses.

    Attributes
    ----------
    domain : Domain
        Where the losses are defined; they have values around it too, for optimizers that play there.
    loss_range : tuple of float
        Holds every loss at every point of the domain. Around it a loss may lie outside; the optimizer then clips it.
    lipschitz : float
        No loss changes faster than this along the affine hull of the domain.
    segments : Segments or None
        Whom events are for, if that is known of each: see `SegmentedEnvironment`.

    Examples
    --------
    Losses of a new kind need their values, and the best point against the first `horizon` of them.

    >>> import numpy as np
    >>> import sottovoce as sv
    >>> class FirstCoordinate(sv.lab.Environment):
    ...     loss_range, lipschitz, domain = (-1.0, 1.0), 1.0, sv.domains.Ball(2)
    ...
    ...     def losses(self, start, actions):
    ...         return actions[:, 0]
    ...
    ...     def comparator(self, horizon):
    ...         return sv.lab.Comparator(np.array([-1.0, 0.0]), 0.0)
    >>> FirstCoordinate().cumulative_loss(np.array([0.5, 0.0]), [10, 100])
    array([ 5., 50.])
    """

    loss_range: tuple[float, float]
    lipschitz: float

    @abstractmethod
    def losses(self, start: int, actions: Vector) -> Vector:
        """Return the losses of consecutive events.

        Parameters
        ----------
        start
            The first event, from 0.
        actions
            A row for each of them.
        """

    @abstractmethod
    def comparator(self, horizon: int) -> Comparator:
        """Return the fixed point that is best over the first `horizon` events.

        Parameters
        ----------
        horizon
            How many events, from the first.
        """

    def best(self, marks: Sequence[int] | Integers) -> Vector:
        """Return what the best fixed point has cost after each number of events in `marks` (strictly ascending)."""
        return self.cumulative_loss(self.comparator(int(marks[-1])).point, marks)

    def certificate(self, horizon: int) -> float:
        """Return how much more per event what `best` plays may cost than the best there is.

        Parameters
        ----------
        horizon
            How many events, from the first.
        """
        return self.comparator(horizon).certificate

    def cumulative_loss(self, point: Vector, marks: Sequence[int] | Integers) -> Vector:
        """Return what playing `point` for ever has cost after each number of events in `marks` (strictly ascending)."""
        totals = np.empty(len(marks))
        position, total = 0, 0.0
        for i, mark in enumerate(marks):
            while position < mark:
                size = min(BLOCK, int(mark) - position)
                total += float(self.losses(position, np.broadcast_to(point, (size, len(point)))).sum())
                position += size
            totals[i] = total
        return totals

    def __repr__(self) -> str:
        """Return the call that makes the environment: its arguments are kept by their names, the set as `domain`."""
        _, *names = inspect.signature(type(self)).parameters
        settings = [f"{name}={plain_value(getattr(self, name))}" for name in names if name in vars(self)]
        return f"{type(self).__name__}({', '.join([repr(self.domain), *settings])})"

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all environments run."""
        return []


def plain_value(value: Any) -> str:
    """Return a setting as it is printed: floats without needless digits.

    Examples
    --------
    >>> plain_value(0.30), plain_value("inside")
    ('0.3', "'inside'")
    """
    return f"{value:g}" if isinstance(value, float) else repr(value)
