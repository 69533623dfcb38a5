"""One fixed point for ever: the best in hindsight, whoever knows it."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._checks import vector
from sottovoce.domains import Domain
from sottovoce.lab.baselines.base import Baseline, Belief, Phase
from sottovoce.lab.baselines.uniform_random import Unread
from sottovoce.plans.problem import Problem


class _OnePoint(Unread):
    """One point for ever."""

    point: Any

    def start(self) -> Belief:
        """Play the point."""
        return Belief(Phase(self.point[None], np.array([self.problem.horizon]), reads=False))


class BestFixed(Baseline):
    """One fixed point for every event: the best in hindsight, if it is that of `environment.comparator(horizon)`.

    Parameters
    ----------
    domain
        The feasible set.
    point
        What to play: a point of the set.
    **given
        As for every `Baseline`; the losses play no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Simplex(4))
    >>> best = environment.comparator(1_000).point
    >>> learner = sv.lab.baselines.BestFixed(environment.domain, horizon=1_000, loss_range=(0.0, 1.0), point=best)
    >>> abs(sv.lab.simulate(learner, environment).final_regret) < 1e-9
    True
    """

    name, source, order, policy = "best-fixed", "knows the answer", "0 against the point it plays", _OnePoint

    def __init__(self, domain: Domain, *, point: ArrayLike, **given: Any) -> None:
        self._fixed = vector("point", point, domain.dimension).copy()
        if not domain.contains(self._fixed, 1e-5 * domain.diameter):
            raise ValueError(f"point must be in {domain!r}: take environment.comparator(horizon).point, or project it")
        super().__init__(domain, **given)

    def _policy_for(self, problem: Problem, scale: float) -> _OnePoint:
        policy = _OnePoint(problem)
        policy.point = self._fixed
        return policy

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances, on which the shared tests of all baselines run."""
        given: dict[str, Any] = {"horizon": 60, "loss_range": (0.0, 1.0)}
        return [cls(one, point=one.extreme_point(np.linspace(-1.0, 1.0, one.dimension)), **given) for one in cls.sets]
