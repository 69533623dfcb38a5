"""Smooth convex objectives that a conditional gradient method can minimise."""

import math
from abc import ABC, abstractmethod

import numpy as np

from sottovoce._arrays import Vector
from sottovoce._checks import vector

_HALVINGS = 60
_RELATIVE_WIDTH = 1e-12


class Objective(ABC):
    """A smooth convex function, by value and gradient.

    The gradient may be infinite on the boundary of the set (negative entropy is the usual case): the line search
    treats an infinite slope as what it is, a wall or a cliff.

    Examples
    --------
    >>> class Quartic(Objective):
    ...     def value(self, x):
    ...         return float((x**4).sum() / 4)
    ...
    ...     def gradient(self, x):
    ...         return x**3
    >>> round(Quartic().line_search(np.array([2.0]), np.array([-4.0])), 6)
    0.5
    """

    @abstractmethod
    def value(self, x: Vector) -> float:
        """Return the objective at `x`."""

    @abstractmethod
    def gradient(self, x: Vector) -> Vector:
        """Return the gradient at `x`; entries may be infinite on the boundary."""

    def line_search(self, x: Vector, direction: Vector) -> float:
        """Return the step in [0, 1] that minimises the objective along `direction`.

        Bisection on the slope: by convexity the slope grows with the step. The step returned is the lower end of the
        last bracket, where the slope is not positive, so the objective never rises.

        Parameters
        ----------
        x
            Where it starts.
        direction
            Where it goes.
        """
        moving = direction != 0.0  # a coordinate that stands still adds nothing, even where its slope is infinite
        toward = direction[moving]

        def slope(step: float) -> float:
            with np.errstate(divide="ignore", invalid="ignore"):
                return float(self.gradient(x + step * direction)[moving].dot(toward))

        if slope(1.0) <= 0.0:
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if slope(middle) <= 0.0:  # NaN (infinities of both signs) counts as too far
                low = middle
            else:
                high = middle
            if high - low <= _RELATIVE_WIDTH * high:
                break
        return low


class Quadratic(Objective):
    """Half the squared distance to a target: minimising it is the Euclidean projection.

    Parameters
    ----------
    target : array of shape (n,)
        The point to be projected.

    Examples
    --------
    >>> objective = Quadratic([1.0, 2.0])
    >>> objective.value(np.zeros(2))
    2.5
    >>> objective.line_search(np.zeros(2), np.array([2.0, 4.0]))
    0.5
    """

    __slots__ = ("target",)

    def __init__(self, target: Vector) -> None:
        self.target = vector("target", target, np.size(target))

    def __repr__(self) -> str:
        return f"Quadratic(dimension={self.target.size})"

    def value(self, x: Vector) -> float:
        """Return half the squared distance to the target."""
        away = x - self.target
        return 0.5 * float(away.dot(away))

    def gradient(self, x: Vector) -> Vector:
        """Return the displacement from the target."""
        return x - self.target

    def line_search(self, x: Vector, direction: Vector) -> float:
        """Return the minimising step in closed form."""
        descent = float((self.target - x).dot(direction))
        length = float(direction.dot(direction))
        if descent <= 0.0:
            return 0.0
        return min(descent / length, 1.0) if length > 0.0 else 1.0


class Entropy(Objective):
    """Negative entropy plus a linear term: sum of x log x, plus <linear, x>.

    Over the simplex its minimiser is softmax(-linear). It is 1-strongly convex wherever coordinates are at most 1.

    Parameters
    ----------
    linear : array of shape (n,)
        Coefficients of the linear term.

    Examples
    --------
    >>> objective = Entropy([0.0, 0.0])
    >>> round(objective.value(np.array([0.5, 0.5])), 6)
    -0.693147
    >>> objective.gradient(np.array([1.0, 0.0]))
    array([  1., -inf])
    """

    __slots__ = ("linear",)

    def __init__(self, linear: Vector) -> None:
        self.linear = vector("linear", linear, np.size(linear))

    def __repr__(self) -> str:
        return f"Entropy(dimension={self.linear.size})"

    def value(self, x: Vector) -> float:
        """Return sum of x log x plus <linear, x>; 0 log 0 is 0, and below 0 the value is infinite."""
        if x.min() < 0.0:
            return math.inf
        positive = x[x > 0.0]
        return float(positive.dot(np.log(positive)) + self.linear.dot(x))

    def gradient(self, x: Vector) -> Vector:
        """Return 1 + log x + linear; minus infinity at 0."""
        with np.errstate(divide="ignore"):
            return 1.0 + np.log(np.maximum(x, 0.0)) + self.linear
