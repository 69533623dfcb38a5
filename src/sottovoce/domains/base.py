"""What a feasible set must offer (a linear oracle), and what follows from it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats, Integers, Vector
from sottovoce._checks import generator, number, vector, whole
from sottovoce._threads import single_threaded
from sottovoce.domains._geometry import outer_bounds
from sottovoce.domains._geometry.hull import Hull, affine_hull, is_point, mean_of_vertices
from sottovoce.domains._geometry.inner_ball import InnerBall, inner_ball
from sottovoce.domains._geometry.orbits import Orbit
from sottovoce.domains._labels import HasLabels
from sottovoce.domains.oracles import counted, from_any_scale, watched_calls
from sottovoce.errors import DomainError
from sottovoce.projection import project

FEW = 200  # coordinates up to which geometry that the oracle has to certify is had at once
_LOOKS = 8  # decisions that show whether a set is one of choices
_NEAR = 1e-9  # to 0 or 1


class Domain(HasLabels, ABC):
    """A compact convex set, known by its linear oracle.

    A subclass sets `dimension` and implements `extreme_point`; everything else has a default that is computed from the
    oracle alone, on first use, with a fixed seed. A family that knows better overrides: `center`, `inner_radius` and
    `outer_radius` belong together, since both radii are measured from the centre. Coordinates that have names get them
    by `self.labels = [...]`; then `chosen` says in them what a decision is.

    Your oracle may be a solver with tolerances of its own: the costs that it is handed have entries between -1 and 1,
    the largest at least 1/2 (or all are 0), whatever the scale at which the set was asked; and its answers are judged
    to a millionth of the set's extent.

    Examples
    --------
    The cross-polytope, in five lines:

    >>> class CrossPolytope(Domain):
    ...     def __init__(self, dimension):
    ...         self.dimension = dimension
    ...
    ...     def extreme_point(self, cost):
    ...         vertex = np.zeros(self.dimension)
    ...         largest = np.abs(cost).argmax()
    ...         vertex[largest] = -np.sign(cost[largest]) or 1.0
    ...         return vertex
    >>> domain = CrossPolytope(3)
    >>> domain.affine_dimension, domain.contains([0.3, 0.3, 0.3]), domain.contains([0.5, 0.5, 0.5])
    (3, True, False)
    """

    dimension: int
    """Number of coordinates of a point (n)."""

    written: ClassVar[str] = ""
    """How such a set is written on the command line, by example: "hypersimplex:20,5". Empty: it is made in Python."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "written" not in vars(cls):
            cls.written = ""  # a name on the command line is one set's own, not that of sets derived from it
        own = vars(cls).get("extreme_point")
        if own is not None and not isinstance(own, staticmethod | classmethod):
            setattr(cls, "extreme_point", counted(own if _is_ours(cls) else from_any_scale(own)))  # noqa: B010

    @abstractmethod
    def extreme_point(self, cost: Vector) -> Vector:
        """Return a point of the set, an extreme one, that minimises <cost, x>.

        Parameters
        ----------
        cost
            A number for each coordinate, of any sign.
        """

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few small instances, on which the contract suite runs."""
        return ()

    @classmethod
    def from_numbers(cls, *numbers: int) -> Self:
        """Return the set that the whole numbers after its name on the command line describe.

        Parameters
        ----------
        *numbers
            As they are written after the name: 20 and 5 for `hypersimplex:20,5`.
        """
        make: Any = cls
        made: Self = make(*numbers)
        return made

    @classmethod
    def summary(cls) -> str:
        """Return what the family is, in one line."""
        return (cls.__doc__ or cls.__name__).strip().splitlines()[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dimension={self.dimension})"

    @cached_property
    def _hull(self) -> Hull:
        with single_threaded(), watched_calls(f"finding the dimension of {self!r}"):
            return affine_hull(self.extreme_point, self.dimension)

    @cached_property
    def _inner_ball(self) -> InnerBall:
        with single_threaded(), watched_calls(f"proving that a ball is in {self!r}"):
            return inner_ball(self.extreme_point, self._hull)

    @cached_property
    def _frames(self) -> tuple[outer_bounds.Frame, ...]:
        return outer_bounds.frames(self.extreme_point, self._hull)

    @cached_property
    def chooses_items(self) -> bool:
        """Whether decisions are zeros and ones, as far as a few random ones show."""
        costs = np.random.default_rng(0).standard_normal((_LOOKS, self.dimension))
        return all(as_choice(self.extreme_point(cost)) is not None for cost in costs)

    @cached_property
    def most_chosen(self) -> int:
        """How many coordinates of a decision are 1 at most, of a set whose decisions are zeros and ones."""
        return round(float(self.extreme_point(np.full(self.dimension, -1.0)).sum()))

    @cached_property
    def least_chosen(self) -> int:
        """How many coordinates of a decision are 1 at least."""
        return round(float(self.extreme_point(np.ones(self.dimension)).sum()))

    @property
    def affine_dimension(self) -> int:
        """Dimension of the affine hull (d): at most `dimension`, and less for a flat set."""
        return len(self._hull.basis)

    @property
    def center(self) -> Vector:
        """The point from which `inner_radius` and `outer_radius` are measured; read-only."""
        return self._inner_ball.center

    @property
    def inner_radius(self) -> float:
        """Certified radius (r) of a ball around `center`, within the affine hull, that is in the set; 0 for a point."""
        if type(self).center is not Domain.center:
            raise DomainError(f"{type(self).__name__} overrides center, and so must override inner_radius too")
        return self._inner_ball.radius

    @cached_property
    def outer_radius(self) -> float:
        """Certified upper bound (R) on the distance of any point of the set from `center`."""
        return outer_bounds.outer_radius(self.extreme_point, self._frames, self.center)

    @cached_property
    def diameter(self) -> float:
        """Certified upper bound (D) on the distance of any two points of the set."""
        return min(outer_bounds.diameter(self.extreme_point, self._frames), 2 * self.outer_radius)

    @property
    def middle(self) -> Vector:
        """A point among the vertices that is quickly found: `center`, unless certifying that one takes long; read-only.

        That is where no formula is known and there are many coordinates; it is the mean of a few vertices then.
        """
        return self.center if self.dimension <= FEW else self._quick_middle

    @property
    def rough_dimension(self) -> int:
        """`affine_dimension`, or an upper bound where finding that takes long; 0 for single points alone."""
        return self.affine_dimension if self.dimension <= FEW else self._quick_dimension

    @property
    def _has_center(self) -> bool:
        """Whether the centre is known by formula."""
        return type(self).center is not Domain.center

    @property
    def _has_dimension(self) -> bool:
        """Whether the affine dimension is known by formula."""
        return type(self).affine_dimension is not Domain.affine_dimension

    def orbit(self) -> Orbit | None:
        """How the cheapest vertex for a cost of standard normals is spread around the centre, if known by symmetry."""
        return None

    @cached_property
    def _quick_middle(self) -> Vector:
        if self._has_center:
            return self.center
        return read_only(mean_of_vertices(self.extreme_point, self.dimension))

    @cached_property
    def _quick_dimension(self) -> int:
        if self._has_dimension:
            return self.affine_dimension
        return 0 if is_point(self.extreme_point, self.dimension) else self.dimension

    def tangent(self, vectors: ArrayLike) -> Floats:
        """Project vectors, of shape (n,) or (m, n), on the direction space of the affine hull.

        Parameters
        ----------
        vectors
            One vector, or rows of them.
        """
        rows, basis = self._vectors(vectors), self._hull.basis
        return rows if len(basis) == self.dimension else (rows @ basis.T) @ basis

    def nearest(self, y: ArrayLike) -> Vector | None:
        """Return the projection of `y` where a family has a formula for it; None says to ask the oracle instead.

        `sottovoce.projection.project` does that, for every set.

        Parameters
        ----------
        y
            A point in or outside the set.
        """
        return None

    def contains(self, x: ArrayLike, tolerance: float = 1e-6) -> bool:
        """Say whether `x` is within the distance `tolerance` of the set.

        Where a family knows no better, it is decided by certificates of one projection: the point p that it returns is
        in the set, so the distance is at most ||x - p||, and by the separating hyperplane at p it is at least ||x - p||
        - gap/||x - p||. True is always certified; False may be said of a distance between 3/4 of the tolerance and the
        tolerance.

        Parameters
        ----------
        x
            A point, of shape (n,).
        tolerance
            A distance.
        """
        x = vector("x", x, self.dimension)
        tolerance = number("tolerance", tolerance, above=0.0)
        answer = self._within(x, tolerance)
        return self._within_by_projection(x, tolerance) if answer is None else answer

    def _within(self, x: Vector, tolerance: float) -> bool | None:
        """Say whether a point is within a distance of the set, where a family knows; None asks for a projection."""
        nearest = self.nearest(x)
        return None if nearest is None else math.dist(x, nearest) <= tolerance

    def _within_by_projection(self, x: Vector, tolerance: float) -> bool:
        nearest = project(self.extreme_point, x, gap=(tolerance / 4) ** 2)
        apart = math.dist(x, nearest.point)
        if apart <= tolerance:
            return True
        if nearest.converged or apart - nearest.gap / apart > tolerance:
            return False
        raise DomainError(
            f"cannot decide to {tolerance:g} whether the set holds x: the distance is between "
            f"{max(apart - nearest.gap / apart, 0.0):.3g} and {apart:.3g}; allow a larger tolerance"
        )

    def round(self, x: ArrayLike, rng: np.random.Generator, size: int | None = None) -> Floats:
        """Draw random vertices with mean `x`: one of shape (n,), or `size` of them, (size, n).

        The default draws from the convex decomposition that projecting x on the set gives.

        Parameters
        ----------
        x
            A point of the set.
        rng
            Where the coins come from; they are public.
        size
            How many vertices; None for one, without the leading axis.
        """
        generator("rng", rng)
        count = 1 if size is None else whole("size", size, least=0)
        rows = self._draw(vector("x", x, self.dimension), rng, count)
        return rows[0] if size is None else rows

    def _draw(self, x: Vector, rng: np.random.Generator, count: int) -> Floats:
        """Draw so many vertices with mean x; a family that knows better does it here."""
        atoms, weights = self.decompose(x)
        return atoms[rng.choice(len(atoms), p=weights, size=count)]

    def decompose(self, x: ArrayLike) -> tuple[Floats, Vector]:
        """Return vertices and positive weights, summing to 1, with mean `x`; refuse an x outside the set.

        Parameters
        ----------
        x
            A point of the set.
        """
        x = vector("x", x, self.dimension)
        extent = float(np.linalg.norm(np.ptp(self._hull.vertices, axis=0)))
        nearest = project(self.extreme_point, x, gap=(1e-7 * extent) ** 2)
        self._refuse_outside(math.dist(x, nearest.point), 1e-6 * extent)
        assert nearest.atoms is not None
        assert nearest.weights is not None
        return nearest.atoms, nearest.weights / nearest.weights.sum()

    def _vectors(self, vectors: ArrayLike) -> Floats:
        """Return a fresh array of shape (n,) or (m, n), or say what is wrong."""
        rows = np.array(vectors, dtype=np.float64)
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.dimension:
            raise ValueError(f"vectors must have shape ({self.dimension},) or (m, {self.dimension}), got {rows.shape}")
        if not math.isfinite(rows.sum()) and not np.isfinite(rows).all():  # a sum is cheaper; it may overflow
            raise ValueError("vectors must be finite")
        return rows

    def _refuse_outside(self, distance: float, allowed: float) -> None:
        if distance > allowed:
            raise DomainError(
                f"x must be in {self!r} to be a mean of its vertices; it is {distance:.3g} away: project it first"
            )


def _is_ours(family: type[Domain]) -> bool:
    """Whether a set is of this library: its oracle takes costs of any scale, and that is tested."""
    return family.__module__.partition(".")[0] == __name__.partition(".")[0]


class Fixed:
    """A mixin for domains whose attributes are set once: cached geometry would not notice a change."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or (name == "labels" and self.__dict__.keys() & {"_labels", "_is_made"}):
            raise AttributeError(f"{type(self).__name__} is immutable: make a new one instead of setting {name}")
        super().__setattr__(name, value)


def as_choice(x: Vector) -> Integers | None:
    """Return the coordinates of a decision that are 1, if all others are 0, give or take rounding; None if not.

    Examples
    --------
    >>> as_choice(np.array([0.0, 1.0 - 1e-12, 0.0])), as_choice(np.array([0.5, 0.5]))
    (array([1]), None)
    """
    near = np.rint(x)
    if not (np.abs(x - near) <= _NEAR).all() or not ((near == 0) | (near == 1)).all():
        return None
    return np.flatnonzero(near)


def read_only(values: Vector) -> Vector:
    """Return a copy that cannot be written to."""
    values = np.array(values, dtype=np.float64)
    values.setflags(write=False)
    return values
