"""Share one budget between three shops: the problem that CONTRIBUTING adds."""

from typing import ClassVar, Self

from sottovoce.domains import Simplex
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation import NoisyLinear


class Shops(DecisionProblem):
    """Share a budget between shops, by what visitors say."""

    name: ClassVar[str] = "shops"
    title: ClassVar[str] = "Which shop gets how much"
    story: ClassVar[str] = "A town shares a budget between shops. Each visitor says how disappointed they were."
    losses: str = "linear"

    def __init__(self, *, shops: int = 3, seed: int = 0) -> None:
        self.environment = NoisyLinear(Simplex(shops), seed=seed)

    def explain(self, point) -> list[tuple[str, str]]:
        return [(f"shop {i + 1}", f"{share:.0%}") for i, share in enumerate(point)]

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls()]
