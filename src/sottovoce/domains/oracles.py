"""Every question to a set's linear oracle passes here: it is counted, and an oracle of one's own is asked at one scale.

Solvers have absolute tolerances: to HiGHS a reduced cost of 1e-8 is nothing, and to a cost of that size any point is
optimal. So an oracle that was not written for this library sees costs whose largest entry is between 1/2 and 1, and not
the tiny ones that a projection ends with. The factor is a power of two: nothing is rounded, and the best point stays
the best.
"""

import functools
import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Vector
from sottovoce._checks import vector
from sottovoce._wait_notice import watched
from sottovoce.errors import DomainError

Method = Callable[[Any, Any], Any]


class _Tally(threading.local):
    calls = 0


_tally = _Tally()


def calls_of_this_thread() -> int:
    """Return how often this thread has asked sets for an extreme point; a set that asks its parts counts once.

    What something costs is the difference of before and after.
    """
    return _tally.calls


def watched_calls(what: str) -> AbstractContextManager[None]:
    """Say at a terminal, if this takes longer than a second, what is being done and what it has asked of an oracle."""
    _tally.calls += 0  # let the thread have a count of its own, which the one that looks can read
    own, before = vars(_tally), _tally.calls
    return watched(what, lambda: f"{own['calls'] - before:,} calls of its oracle" if own["calls"] > before else "")


def counted(method: Method) -> Method:
    """Return the method of a class, counting its calls."""

    @functools.wraps(method)
    def extreme_point(self: Any, cost: Any) -> Any:
        before = _tally.calls
        try:
            return method(self, cost)
        finally:
            _tally.calls = before + 1  # whatever it has asked in its turn

    return extreme_point


def from_any_scale(method: Method) -> Method:
    """Return the method of a class, asked at one scale, and its answers checked."""

    @functools.wraps(method)
    def extreme_point(self: Any, cost: Any) -> Vector:
        return ask_at_one_scale(functools.partial(method, self), cost, self.dimension)

    return extreme_point


def ask_at_one_scale(oracle: Callable[[Vector], ArrayLike], cost: ArrayLike, dimension: int) -> Vector:
    """Return an oracle's answer to a cost of any scale: checked, and in an array of its own.

    The oracle may write into what it is handed; it is a copy.

    Examples
    --------
    >>> asked = []
    >>> ask_at_one_scale(lambda cost: asked.append(cost) or np.zeros(2), [3e-40, -2.0e-41], 2), asked[0].round(3)
    (array([0., 0.]), array([ 0.817, -0.054]))
    """
    wanted = vector("cost", cost, dimension)
    _, exponent = math.frexp(float(np.abs(wanted).max()))  # of nothing but zeros: 0, and they stay what they are
    answer = oracle(np.ldexp(wanted, -exponent))
    if answer is None:
        raise DomainError("the oracle returned None: a solver that found no answer says why in its own result")
    try:
        point = np.array(answer, dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError(f"the oracle must return an array of shape ({dimension},), got {answer!r:.80}") from None
    if point.shape != (dimension,):
        raise DomainError(f"the oracle must return an array of shape ({dimension},), got {point.shape}")
    if not np.isfinite(point).all():
        raise DomainError(f"the oracle must return finite coordinates, got {point!r}")
    return point
