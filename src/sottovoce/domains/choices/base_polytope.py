"""Base polytopes of submodular functions."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Mask, Vector
from sottovoce._checks import number, vector
from sottovoce.domains._geometry import permutations
from sottovoce.domains._geometry.block_sums import less_block_means, product_ball, zero_sum_hull
from sottovoce.domains._geometry.hull import Hull
from sottovoce.domains._geometry.inner_ball import InnerBall
from sottovoce.domains._geometry.largest_ball import largest_ball
from sottovoce.domains._subsets import Order, all_masks
from sottovoce.domains.base import Domain, Fixed, how_many
from sottovoce.domains.choices._submodularity import as_set_function, check_submodular
from sottovoce.domains.set_functions import (
    ConcaveOfCardinality,
    FacilityLocation,
    FromCallable,
    GraphCut,
    SetFunction,
    WeightedCoverage,
)

_EXHAUSTIVE = 10  # largest class of elements for which all subsets are valued, to find the largest ball


class BasePolytope(Fixed, Domain):
    """Ways to share out the value of the whole so that no group gets more than its own value: x(S) <= F(S).

    Parameters
    ----------
    function : SetFunction, or callable
        A submodular function F, 0 at the empty set: one of `sottovoce.domains.set_functions`, or a Python function from
        a boolean mask to a number. The latter is tried by `check_submodular`; the former are submodular by
        construction.
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
        """Return one for each ready function, and one for a plain one."""
        rng = np.random.default_rng(5)
        return (
            cls(ConcaveOfCardinality([0.0, 4.0, 7.0, 8.0, 8.0, 6.0])),
            cls(WeightedCoverage([{0, 1}, {1, 2}, {2, 0, 3}, {4, 5}, {5}], [1.0, 2.0, 0.5, 1.0, 3.0, 1.0])),
            cls(GraphCut([(0, 1), (1, 2), (2, 0), (2, 3), (4, 5)], [1.0, 2.0, 0.5, 3.0, 1.0])),
            cls(GraphCut([(0, 1), (1, 2), (2, 0), (2, 3)], directed=True)),
            cls(FacilityLocation(rng.random((5, 7)))),
            cls(_root_of_sum, 4),
        )

    def extreme_point(self, cost: ArrayLike) -> Vector:
        """Return what each element adds to the cheaper ones (Edmonds' greedy, 1970); the first of equals first."""
        order = vector("cost", cost, self.dimension).argsort(kind="stable")
        vertex = np.empty(self.dimension)
        vertex[order] = self.function.gains(order)
        return vertex

    @cached_property
    def _steps(self) -> Vector | None:
        """The falling steps of a function of cardinality; None for others."""
        return np.diff(self.function.values) if isinstance(self.function, ConcaveOfCardinality) else None

    @cached_property
    def _components(self) -> Order | None:
        return self.function.components()

    @cached_property
    def _hull(self) -> Hull:
        return super()._hull if self._components is None else zero_sum_hull(self.extreme_point, self._components)

    @cached_property
    def _inner_ball(self) -> InnerBall:
        labels = self._components
        if labels is None and self.affine_dimension == self.dimension - 1:
            labels = np.zeros(self.dimension, dtype=np.int64)
        return super()._inner_ball if labels is None else product_ball(self.extreme_point, labels, self._ball)

    def _ball(self, block: Order) -> InnerBall | None:
        """Return the largest ball in the polytope of one class of elements, where it can be had exactly."""
        if len(block) == 1:
            return InnerBall(np.array([self.function(block)]), 0.0)
        if self._steps is not None:
            return InnerBall(np.full(len(block), self._steps.mean()), permutations.inner_radius(self._steps))
        if len(block) > _EXHAUSTIVE:
            return None
        masks = all_masks(len(block))
        values = np.array([self.function(block[mask]) for mask in masks])
        return largest_ball(masks[1:-1].astype(np.float64), values[1:-1], total=float(values[-1]))

    @cached_property
    def _outer_radius(self) -> float:
        return super()._outer_radius if self._steps is None else permutations.outer_radius(self._steps)

    @cached_property
    def _diameter(self) -> float:
        return super()._diameter if self._steps is None else permutations.diameter(self._steps)

    @property
    def _has_center(self) -> bool:
        return self._steps is not None

    @property
    def _has_dimension(self) -> bool:
        return self._components is not None

    @property
    def affine_dimension(self) -> int:
        """Number of elements less the number of classes between which F merely adds up."""
        if self._components is None:
            return super().affine_dimension
        return self.dimension - len(np.unique(self._components))

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Subtract the mean of each class between which F merely adds up."""
        if self._components is None:
            return super().tangent(vectors)
        return less_block_means(self._vectors(vectors), self._components)

    def nearest(self, y: ArrayLike) -> Vector | None:
        """Return the projection of `y` by isotonic regression, for functions of cardinality; None for others."""
        return None if self._steps is None else permutations.nearest(vector("y", y, self.dimension), self._steps)

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the polytope; exact for functions of cardinality."""
        if self._steps is None:
            return super().contains(x, tolerance)
        x = vector("x", x, self.dimension)
        return permutations.distance(x, self._steps) <= number("tolerance", tolerance, above=0.0)

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw vertices with mean `x`; for functions of cardinality by fewer than n swaps, each the toss of a coin."""
        if self._steps is None:
            return super().round(x, rng, size)
        count = how_many(size)
        return self._drawn(permutations.draw(self._settled(x, self._steps), self._steps, rng, count), size)

    def decompose(self, x: ArrayLike) -> tuple[Floats, Vector]:
        """Return vertices and their weights with mean `x`; at most n of them for functions of cardinality."""
        if self._steps is None:
            return super().decompose(x)
        return permutations.mixture(self._settled(x, self._steps), self._steps)

    def _settled(self, x: ArrayLike, steps: Vector) -> Vector:
        point, away = permutations.settled(vector("x", x, self.dimension), steps)
        if away > permutations.rounding_of(steps):
            raise self._outside(away)
        return point


def _root_of_sum(mask: Mask) -> float:
    """Return the root of a sum of weights, a concave function of a modular one."""
    return float(np.sqrt(np.arange(1, len(mask) + 1) @ mask))
