"""What every algorithm to compare with says of itself, whatever it sees and promises."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from sottovoce.domains import Ball, Domain, Hypersimplex, Simplex
from sottovoce.privacy import ApproxDP, Guarantee, PureDP, SimulatedNoise


class Compared:
    """An algorithm with a name, and with a few examples that the shared tests run on."""

    name: ClassVar[str]
    private: ClassVar[bool] = False
    linear_only: ClassVar[bool] = False
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
