"""What a baseline prints about itself, and parameters that several of them share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sottovoce._checks import number
from sottovoce.plans.problem import Problem

_DECADES, _PER_DECADE = 6, 64  # of radii to try: neighbours are 3.7% apart, and bounds are flat where they are least


@dataclass(frozen=True)
class BaselinePlan:
    """The parameters of a baseline, and what its own theorem promises; `print` it.

    Attributes
    ----------
    name, source
        The algorithm, and where it comes from.
    horizon
        T.
    bound
        Upper bound on the expected cumulative regret; NaN where there is none with explicit constants.
    order
        How the source says that regret grows with T.
    parameters
        Names and values.
    order_only
        Whether the bound is an order of magnitude, because it rests on a Lipschitz constant that was not given.

    Examples
    --------
    >>> print(BaselinePlan("fkm", "Flaxman, Kalai & McMahan (2005)", 100, 50.0, "T^(3/4)", {"step": 0.1}))
    Plan: fkm (Flaxman, Kalai & McMahan (2005))
      step     0.1
      regret   at most 0.5 per event over 100 events; grows as T^(3/4)
    """

    name: str
    source: str
    horizon: int
    bound: float = math.nan
    order: str = "T"
    parameters: Mapping[str, object] = field(default_factory=dict)
    order_only: bool = False

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        known = "no explicit bound"
        if math.isfinite(self.bound):
            known = f"{'of the order of' if self.order_only else 'at most'} {self.bound / self.horizon:.4g} per event"
        return (*shown(self.parameters), ("regret", f"{known} over {self.horizon:,} events; grows as {self.order}"))

    def __str__(self) -> str:
        return "\n".join([f"Plan: {self.name} ({self.source})", *(f"  {name:<8} {text}" for name, text in self.rows)])


def shown(parameters: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return parameters as rows of a plan: names and texts."""
    return [(name, f"{value:.4g}" if isinstance(value, float) else str(value)) for name, value in parameters.items()]


def one_point_radius(problem: Problem, factor: float = 1.0) -> float:
    """T^(-1/4) sqrt(R d C r / (3 (L r + C))), FKM's radius (delta), times a factor, at most half of the inner radius.

    C is half the range of the losses, which are shifted so that their middle is 0. The cap is for short horizons, where
    the theorem does not hold yet.
    """
    domain = problem.domain
    inner, outer, size = domain.inner_radius, domain.outer_radius, problem.width / 2
    constant = problem.lipschitz_in(problem.placement("plain"))
    balanced = math.sqrt(outer * domain.affine_dimension * size * inner / (3 * (constant * inner + size)))
    return fitting_radius(problem, balanced * problem.horizon**-0.25, factor)


def least_bound_radius(problem: Problem, bound: Callable[[float], float], factor: float = 1.0) -> float:
    """Return the radius at which a baseline's own bound is least, times a factor, at most half of the inner radius.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Ball(3), 100, (0.0, 1.0), sv.NoPrivacy())
    >>> round(least_bound_radius(problem, lambda radius: 0.01 / radius + radius), 2)
    0.1
    """
    largest = problem.domain.inner_radius / 2
    radii = (largest * 10 ** (-step / _PER_DECADE) for step in range(_DECADES * _PER_DECADE))
    return fitting_radius(problem, min(radii, key=bound), factor)


def fitting_radius(problem: Problem, radius: float, factor: float) -> float:
    """Return a radius times a factor, cut to half of the inner radius, so that there is always room to play inside.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Ball(3), 100, (0.0, 1.0), sv.NoPrivacy())
    >>> fitting_radius(problem, 0.2, 2.0), fitting_radius(problem, 0.2, 4.0)
    (0.4, 0.5)
    """
    largest = problem.domain.inner_radius / 2
    return float(min(min(radius, largest) * number("radius_factor", factor, above=0), largest))
