"""Base polytopes of submodular functions."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Mask, Vector
from sottovoce._checks import vector
from sottovoce.domains._flatness import BlockSums
from sottovoce.domains._geometry.hull import affine_hull
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.largest_ball import largest_ball
from sottovoce.domains._subsets import Order, all_masks, components_of
from sottovoce.domains.set_functions import (
    FromCallable,
    SetFunction,
    WeightedCoverage,
    as_set_function,
    check_submodular,
)

_EXHAUSTIVE = 10  # largest class of elements for which all subsets are valued, to find the largest ball


class BasePolytope(BlockSums):
    """Ways to share out the value of the whole so that no group gets more than its own value: x(S) <= F(S).

    Parameters
    ----------
    function : SetFunction, or callable
        A submodular function F, 0 at the empty set: one of `sottovoce.domains.set_functions`, or a Python function from
        a boolean mask to a number. The latter is tried by `check_submodular`; the former are submodular by
        construction. Concave functions of the number of elements are those of `Permutahedron`.
    ground_size : int, optional
        Number of elements, for a plain function.
    labels : list of names, optional
        Names of the elements.

    Examples
    --------
    >>> from sottovoce.domains.set_functions import WeightedCoverage
    >>> domain = BasePolytope(WeightedCoverage([{0, 1}, {1, 2}, {2, 3}]))
    >>> domain.extreme_point([0.0, 1.0, -1.0])
    array([2., 0., 2.])
    >>> BasePolytope(lambda mask: min(mask.sum(), 2), ground_size=4).extreme_point([4.0, 1.0, 2.0, 3.0])
    array([0., 1., 1., 0.])
    """

    chosen_as = "amounts"

    def __init__(
        self,
        function: SetFunction | Callable[[Mask], float],
        ground_size: int | None = None,
        *,
        labels: Any = None,
    ) -> None:
        self.function = as_set_function(function, ground_size)
        self.dimension = self.function.ground_size
        self._name(labels)
        if isinstance(self.function, FromCallable):
            check_submodular(self.function)

    def __repr__(self) -> str:
        return f"BasePolytope({self.function!r})"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return one for the ready function, and one for a plain one."""
        return (
            cls(WeightedCoverage([{0, 1}, {1, 2}, {2, 0, 3}, {4, 5}, {5}], [1.0, 2.0, 0.5, 1.0, 3.0, 1.0])),
            cls(_root_of_sum, 4),
        )

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return what each element adds to the cheaper ones (Edmonds' greedy, 1970); the first of equals first."""
        order = vector("cost", cost, self.dimension).argsort(kind="stable")
        vertex = np.empty(self.dimension)
        vertex[order] = self.function.gains(order)
        return vertex

    @cached_property
    def _components(self) -> Order:
        """Classes of elements between which F merely adds up: those that the function knows, or that its oracle shows.

        The hull's projection takes the mean off each class: coordinates of one class, and no others, meet in it.
        """
        known = self.function.components()
        if known is not None:
            return known
        basis = affine_hull(self.extreme_point, self.dimension).basis
        first, second = np.nonzero(np.abs(basis.T @ basis) > 1e-9)
        return components_of(first, second, self.dimension)

    @property
    def _has_dimension(self) -> bool:
        return self.function.components() is not None

    def _ball(self, block: Order) -> InnerBall | None:
        if len(block) == 1:
            return InnerBall(np.array([self.function(block)]), 0.0)
        if len(block) > _EXHAUSTIVE:
            return None
        masks = all_masks(len(block))
        values = np.array([self.function(block[mask]) for mask in masks])
        return largest_ball(masks[1:-1].astype(np.float64), values[1:-1], total=float(values[-1]))


def _root_of_sum(mask: Mask) -> float:
    """Return the root of a sum of weights, a concave function of a modular one."""
    return float(np.sqrt(np.arange(1, len(mask) + 1) @ mask))
