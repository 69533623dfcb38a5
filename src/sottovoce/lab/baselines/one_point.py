"""One event a round, one step a point: what the first bandit algorithms for convex losses have in common."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.lab.baselines.base import Baseline
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sphere import Sphere, SphereDraft, SphereOptions


class Walk:
    """A point map that goes one step from its last point for each new sum of gradients, and none for the same again.

    Parameters
    ----------
    domain
        The feasible set.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain, self.center = domain, domain.center
        self._at: tuple[int, Floats | None, Floats] = 0, None, domain.center  # steps, the sum that led there, the point

    def __call__(self, dual: Floats) -> Floats:
        """Return the point after one more sum, negated and times the step."""
        steps, last, point = self._at
        if dual is not last:
            point = point if last is None else self.next(point, last, dual, steps)
            self._at = steps + 1, dual, point
        return point

    @abstractmethod
    def next(self, point: Floats, last: Floats, dual: Floats, steps: int) -> Floats:
        """Return the point after another, to which the sum before the newest has led, in so many steps."""


class OnePoint(Baseline):
    """Plays one event a round on a sphere around a point of the shrunk set, and takes one step for each."""

    walk: type[Walk]

    @classmethod
    @abstractmethod
    def chosen(cls, problem: Problem) -> tuple[float, float, float]:
        """Return its radius, its step in coordinates of the whole set, and its bound."""

    def _planned(self, problem: Problem) -> Plan:
        radius, step, bound = self.chosen(problem)
        draft = SphereDraft(problem, problem.placement("plain"), SphereOptions(radius), 1, name=self.name, step=step)
        ceiling = min(bound, problem.horizon * problem.width)
        return replace(draft.finish(), bound=ceiling, bound_without_privacy=ceiling)

    def _build(self, *arguments: Any) -> None:
        super()._build(*arguments)
        learner: Any = self._policy.first.learner
        learner.point_map = self.walk(self.domain)


def sphere_of(problem: Problem, radius: float) -> Sphere:
    """Return the sphere of a radius, at most half of the inner one: there is room to play inside.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = Problem(sv.domains.Ball(3), 100, (0.0, 1.0), sv.NoPrivacy())
    >>> sphere_of(problem, 0.2).radius, sphere_of(problem, 0.8).radius
    (0.2, 0.5)
    """
    return Sphere(problem.domain, min(radius, problem.domain.inner_radius / 2))
