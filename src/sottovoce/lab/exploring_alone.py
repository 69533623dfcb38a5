"""What exploring costs by itself: the best fixed point, played on a sphere around it."""

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from sottovoce._arrays import Floats
from sottovoce.domains import Domain
from sottovoce.lab.baselines.base import EVENTS
from sottovoce.lab.baselines.best_fixed import BestFixed
from sottovoce.lab.baselines.plans import BaselinePlan
from sottovoce.plans.sphere import Sphere

__all__ = ["ExploringAlone"]


class ExploringAlone(BestFixed):
    """One fixed point for ever, with actions on a sphere around it.

    Its regret against that point is the part of a learner's regret that no learning can avoid at that radius.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed
        As for `PrivateBandit`; the losses play no part.
    point
        Around what to play.
    radius, play
        As for `Sphere`.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3))
    >>> best = environment.comparator(1_000).point
    >>> learner = ExploringAlone(
    ...     environment.domain, horizon=1_000, loss_range=(0.0, 2.0), seed=1, point=best, radius=0.1, play="around"
    ... )
    >>> 0 < sv.lab.simulate(learner, environment).regret_per_event < 0.1
    True
    """

    name: ClassVar[str] = "exploring-alone"

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        point: ArrayLike,
        radius: float,
        play: str,
        lipschitz: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(domain, horizon=horizon, loss_range=loss_range, lipschitz=lipschitz, seed=seed, point=point)
        self._sphere = Sphere(domain, radius, play)
        steepest = self._problem.lipschitz_in(self._problem.placement("plain"))
        pulled = domain.outer_radius / domain.inner_radius if play == "inside" else 0.0
        bound = steepest * radius * (1 + pulled) * self.horizon
        self.plan = BaselinePlan(
            self.name, "knows the answer", self.horizon, bound, "T", {"radius": radius}, order_only=lipschitz is None
        )

    def _begin_round(self, most: int) -> tuple[Floats, Any]:
        directions = self._sphere.directions(self._coins, min(most, EVENTS))
        return self._sphere.actions(self._point, directions), None
