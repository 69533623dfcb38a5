"""One fixed point for ever: the best in hindsight, whoever knows it."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sottovoce._arrays import Floats
from sottovoce._checks import vector
from sottovoce.domains import Ball, Domain, Hypersimplex
from sottovoce.lab.baselines.base import COMPARISON, EVENTS, Baseline
from sottovoce.lab.baselines.plans import BaselinePlan


class BestFixed(Baseline):
    """One fixed point for every event: the best in hindsight, if it is that of `environment.comparator(horizon)`.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`; the losses play no part.
    point
        What to play: a point of the set.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.NoisyLinear(sv.domains.Simplex(4))
    >>> best = environment.comparator(1_000).point
    >>> learner = sv.lab.baselines.BestFixed(environment.domain, horizon=1_000, loss_range=(0.0, 1.0), point=best)
    >>> abs(sv.lab.simulate(learner, environment).final_regret) < 1e-9
    True
    """

    name: ClassVar[str] = "best-fixed"
    _why: ClassVar[str] = COMPARISON

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        point: ArrayLike,
        lipschitz: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(domain, horizon=horizon, loss_range=loss_range, lipschitz=lipschitz, seed=seed)
        self._point = vector("point", point, domain.dimension).copy()
        if not domain.contains(self._point, 1e-5 * domain.diameter):
            raise ValueError(f"point must be in {domain!r}: take environment.comparator(horizon).point, or project it")
        self._point.setflags(write=False)
        self.plan = BaselinePlan(self.name, "knows the answer", self.horizon, order="0 against the point it plays")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances with fixed seeds, on which the shared tests of all baselines run."""
        domains = (Ball(3), Hypersimplex(6, 2))
        corners = [domain.extreme_point(np.arange(domain.dimension) - 1.0) for domain in domains]
        return [
            cls(domain, horizon=60, loss_range=(0.0, 1.0), point=corner)
            for domain, corner in zip(domains, corners, strict=True)
        ]

    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        return np.tile(self._point, (min(most, EVENTS), 1)), None

    def _learn(self, memo: Any, losses: Floats) -> None:
        """Learn nothing."""

    @property
    def point(self) -> Floats:
        """The point."""
        return self._point
