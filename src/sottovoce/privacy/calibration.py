"""The least noise that keeps a guarantee, for a release whose sensitivity is known.

A mechanism releases a vector of integers, all that it ever releases put end to end, and one person's data moves it by
at most `l1` (sum of moves) and `l2` (root of the sum of squares), whatever was released before. Discrete Laplace noise
then gives epsilon = l1/scale, discrete Gaussian noise mu = l2/scale (gaussian.py), both adaptively: given the past,
each number's noise is fresh.

Tests: every mechanism's own, against dp-accounting.
"""

from sottovoce._checks import number, whole
from sottovoce.privacy import gaussian
from sottovoce.privacy.guarantees import ZCDP, ApproxDP, Guarantee, LocalDP, PureDP
from sottovoce.privacy.noise import Noise, laplace_for

_LEAST_GAUSSIAN = 4.0  # steps of the grid; below, the discrete and the rounded Gaussian differ too much
_SAFETY = 1 + 1e-12  # on the safe side of a dozen roundings


def noise_for(guarantee: Guarantee, *, l1: int, l2: float, numbers: int) -> Noise:
    """Return the least noise that keeps the guarantee.

    Parameters
    ----------
    guarantee
        What to promise: PureDP gets Laplace noise, ApproxDP and ZCDP Gaussian.
    l1, l2
        How far one person (all of its contributions together) can move the vector of all released integers.
    numbers
        How many of the released integers one person's data can reach: discreteness is charged to these alone, since
        the others are drawn alike for both neighbours.

    Examples
    --------
    >>> noise_for(PureDP(epsilon=0.5), l1=100, l2=100.0, numbers=1)
    Noise(family='laplace', scale=200.0)
    """
    if isinstance(guarantee, PureDP):
        return laplace_for(l1, guarantee.epsilon)
    number("l2", l2, above=0)
    if isinstance(guarantee, ZCDP):
        return Noise("gaussian", _scale(l2, guarantee.mu))
    if isinstance(guarantee, ApproxDP):
        return Noise("gaussian", _approximate_scale(guarantee, l2, whole("numbers", numbers)))
    if isinstance(guarantee, LocalDP):
        raise TypeError(f"{guarantee!r} is kept on the owner's side: make a channel with sottovoce.privacy.local")
    raise TypeError(f"integer noise cannot give {guarantee!r}; use PureDP, ApproxDP or ZCDP")


def least_noise_for(guarantee: Guarantee, *, l1: int, l2: float, numbers: int) -> Noise:
    """Return the least noise of either family: where delta is allowed, too, Laplace noise may hide few numbers better.

    Pure privacy implies the approximate kind at the same epsilon.

    Examples
    --------
    >>> least_noise_for(ApproxDP(epsilon=1.0, delta=1e-6), l1=1000, l2=1000.0, numbers=1)
    Noise(family='laplace', scale=1000.0)
    """
    if not isinstance(guarantee, ApproxDP):
        return noise_for(guarantee, l1=l1, l2=l2, numbers=numbers)
    pure = laplace_for(l1, guarantee.epsilon)
    try:
        gaussian = noise_for(guarantee, l1=l1, l2=l2, numbers=numbers)
    except ValueError:  # a delta too small for the grid
        return pure
    return min(gaussian, pure, key=lambda one: one.standard_deviation)


def _scale(l2: float, mu: float) -> float:
    return max(_LEAST_GAUSSIAN, l2 / mu * _SAFETY)


def _approximate_scale(guarantee: ApproxDP, l2: float, numbers: int) -> float:
    """Continuous Gaussian at a delta that leaves room for what discreteness can add (see gaussian.py)."""
    for room in (1e-9, 1e-6, 1e-3, 0.5):
        mu = gaussian.mu_for(guarantee.epsilon, guarantee.delta * (1 - room))
        scale = _scale(l2, mu)
        if gaussian.rounding_delta(scale, numbers, guarantee.epsilon) <= guarantee.delta * room:
            return scale
    raise ValueError(f"delta = {guarantee.delta:g} is too small for the grid of this run; raise delta or use PureDP")
