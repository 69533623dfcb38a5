"""Share one budget between three shops: the problem that CONTRIBUTING adds."""

from typing import ClassVar, Self

from sottovoce.domains import Simplex
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation.worlds import NoisyLinear


class Shops(DecisionProblem):
    """Share a budget between shops, by what visitors say."""

    name: ClassVar[str] = "shops"
    title: ClassVar[str] = "Which shop gets how much"
    story: ClassVar[str] = "A town shares a budget between shops. Each visitor says how disappointed they were."
    losses: str = "linear"

    def __init__(self, *, shops: int = 3, seed: int = 0) -> None:
        self.environment = NoisyLinear(Simplex([f"shop {one}" for one in range(1, shops + 1)]), seed=seed)

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls()]
