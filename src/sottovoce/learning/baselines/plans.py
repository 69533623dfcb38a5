"""What a baseline prints about itself, and parameters that several of them share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sottovoce.learning.planning.problem import Problem

__all__ = ["BaselinePlan", "one_point_radius"]


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

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        named = self.parameters.items()
        shown = [(name, f"{value:.4g}" if isinstance(value, float) else str(value)) for name, value in named]
        known = "no explicit bound"
        if math.isfinite(self.bound):
            known = f"at most {self.bound / self.horizon:.4g} per event"
        return (*shown, ("regret", f"{known} over {self.horizon:,} events; grows as {self.order}"))

    def __str__(self) -> str:
        return "\n".join([f"Plan: {self.name} ({self.source})", *(f"  {name:<8} {text}" for name, text in self.rows)])


def one_point_radius(problem: Problem) -> float:
    """T^(-1/4) sqrt(R d C r / (3 (L r + C))), FKM's radius (delta), at most half of the inner radius.

    C is half the range of the losses, which are shifted so that their middle is 0. The cap is for short horizons, where
    the theorem does not hold yet.
    """
    domain = problem.domain
    inner, outer, size = domain.inner_radius, domain.outer_radius, problem.width / 2
    constant = problem.lipschitz_in(problem.stage("plain"))
    balanced = math.sqrt(outer * domain.affine_dimension * size * inner / (3 * (constant * inner + size)))
    return float(min(balanced * problem.horizon**-0.25, inner / 2))
