"""What a way of exploring says of itself: one value, exported by its file and listed in this package's `__init__`.

Everything that plans, checks, builds or describes a way of exploring asks this value. There is no other list of names.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sottovoce._checks import choice, number, whole
from sottovoce.plans.explorer import Explorer
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Mechanism, Takes

Chosen = Mapping[str, Any]
"""Single choices that a caller has made, by name, checked."""

Check = Callable[[Problem, Any], Any]
"""Returns a choice as it is kept, or refuses it."""


@dataclass(frozen=True)
class ExplorationKind:
    """A way of exploring.

    Attributes
    ----------
    gives
        How its events enter a round: each into one number, or each into all coordinates. Decides which mechanisms fit.
    options
        The record of what is its own in a plan; it has the name, too.
    choices
        What a caller may choose of it, with checks, besides what is common to all.
    drafts
        Plans to consider, for a problem, a mechanism and what was chosen, those of one position together: of each
        position, the one with the least bound is taken.
    build
        The explorer of a plan.
    losses
        For which losses it is meant.
    why_not
        What to say when the losses are of another kind.
    bounded
        Whether its plans reckon with any sequence of losses. One that does not say so has no bound, and promises none.
    feedback
        What people tell: one loss of a decision, or one for each of its items. One that does not say so is for the
        first.
    unasked
        Which plan may take it though nobody asked for it: "auto", before all others; "worst-case", if its bound is the
        least, and "auto" where none of the first kind serves. One that does not say so is never taken.
    serves
        Which problems it is for, of those with such losses.
    preferred
        Whether it is taken, where it fits, whatever the bounds of others are.
    worth
        By what factor its bound is overstated, compared with others'.
    settled
        The last touch to the best draft, outside the search, unless the caller has chosen otherwise.
    """

    gives: Takes
    options: type[Options]
    choices: Mapping[str, Check]
    drafts: Callable[[Problem, Mechanism, Chosen], Iterable[Any]]
    build: Callable[[Problem, Plan, Placement], Explorer]
    losses: tuple[str, ...] = ("convex", "linear")
    why_not: str = ""
    bounded: bool = False
    feedback: str = "decision"
    unasked: Literal["auto", "worst-case"] | None = None
    serves: Callable[[Problem], bool] = lambda problem: True
    preferred: bool = False
    worth: float = 1.0
    settled: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What users call it."""
        return self.options.exploration

    def fits(self, mechanism: Mechanism) -> bool:
        """Whether a mechanism can release what its events are summed into.

        Parameters
        ----------
        mechanism
            Of `MECHANISMS`.
        """
        return self.gives in mechanism.takes

    def __repr__(self) -> str:
        return f"ExplorationKind({self.name!r})"


AROUND_POINT: Mapping[str, Check] = {
    "radius": lambda problem, value: number("radius", value, above=0),
    "batch_size": lambda problem, value: whole("batch_size", value, most=problem.horizon),
    "position": lambda problem, value: choice("position", value, ("plain", "rounded")),
}
"""Choices of whatever explores at a radius around a point, in rounds of one size."""


def step_multiplier(problem: Problem, value: Any) -> float:
    """Check what the adaptive step is multiplied by."""
    return number("step_multiplier", value, above=0)
