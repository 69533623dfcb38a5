"""What every algorithm to compare with says of itself, whatever it sees and promises."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from sottovoce._arrays import Floats
from sottovoce._checks import whole
from sottovoce.domains import Ball, Domain, Hypersimplex, Simplex
from sottovoce.errors import HorizonReached
from sottovoce.plans.problem import Problem
from sottovoce.privacy import ApproxDP, Guarantee, PureDP, SimulatedNoise


class Compared:
    """An algorithm with a name, and with a few examples that the shared tests run on."""

    name: ClassVar[str]
    private: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
    full_information: ClassVar[bool] = False
    domain: Domain
    horizon: Any
    _sets: ClassVar[Sequence[Domain]] = (Ball(3), Simplex(4), Hypersimplex(6, 2))  # of the examples
    _guarantees: ClassVar[Sequence[Guarantee]] = (PureDP(1.0), ApproxDP(1.0, 1e-6), PureDP(0.5))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances with fixed seeds, on which the shared tests of all baselines run."""
        given: dict[str, Any] = {"horizon": 60, "loss_range": (0.0, 1.0), "seed": 1}
        kind: Any = cls
        if not cls.private:
            return [kind(domain, **given) for domain in cls._sets]
        pairs = zip(cls._sets, cls._guarantees, strict=False)
        return [kind(domain, privacy=privacy, noise=SimulatedNoise(1), **given) for domain, privacy in pairs]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, horizon={self.horizon}, {self._standing()})"

    def _standing(self) -> str:
        """Say how far it has come."""
        raise NotImplementedError


class Observing(Compared):
    """An algorithm that sees the gradient of every event at its point, and asks and tells nothing."""

    full_information: ClassVar[bool] = True
    round: Any  # events that were observed
    _point: Floats

    @property
    def point(self) -> Floats:
        """What to play next."""
        return self._point

    def _begin(
        self,
        domain: Domain,
        horizon: int,
        loss_range: tuple[float, float],
        privacy: Guarantee,
        lipschitz: float | None,
        seed: int | None,
    ) -> Problem:
        losses = "linear" if self.linear_only else "convex"
        problem = Problem(domain, whole("horizon", horizon), loss_range, privacy, lipschitz=lipschitz, losses=losses)
        self.domain, self.horizon = domain, problem.horizon
        self.seed = None if seed is None else whole("seed", seed, least=0)
        self._longest = problem.lipschitz_in(problem.placement("plain"))  # G
        return problem

    @property
    def remaining(self) -> int:
        """Events that are left."""
        return int(self.horizon - self.round)

    def _check_remaining(self) -> None:
        if not self.remaining:
            raise HorizonReached(f"all of horizon={self.horizon} events are over; make a new one with a longer horizon")

    def _standing(self) -> str:
        return f"round={self.round}"
