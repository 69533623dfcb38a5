"""What is audited: a way to run either of two neighbouring worlds, many times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sottovoce.auditing.attacks.observations import Observations, observed
from sottovoce.auditing.playing.tellings import play
from sottovoce.auditing.playing.transcripts import seated
from sottovoce.auditing.playing.worlds import Neighbours
from sottovoce.auditing.subjects.mechanism_alone import MechanismAlone
from sottovoce.auditing.subjects.owners import OwnersChannel
from sottovoce.privacy import NoiseSource

__all__ = ["BanditExperiment", "Experiment", "MakeOptimizer", "MechanismExperiment"]

MakeOptimizer = Callable[[int, NoiseSource], Any]


class Experiment(Protocol):
    """Runs either world of several pairs of them."""

    @property
    def pairs(self) -> Sequence[Any]:
        """The neighbouring worlds to tell apart: each says in words what it is."""
        ...

    @property
    def chunk(self) -> int:
        """How many runs to ask for at a time."""
        ...

    def observe(self, pair: int, world: int, runs: int, source: NoiseSource) -> Observations:
        """Run world 0 or 1 of one pair."""
        ...


@dataclass(frozen=True)
class BanditExperiment:
    """Fresh optimizers (or studies), each played from its first ask to its last tell."""

    make: MakeOptimizer
    pairs: tuple[Neighbours, ...]
    rounds: tuple[int, ...]
    seed: int
    chunk: int = 50

    def observe(self, pair: int, world: int, runs: int, source: NoiseSource) -> Observations:
        """Run one world. The public coins are the same in every run: an adversary knows them anyway."""
        played = (play(seated(self.make(self.seed, source), source), self.pairs[pair], world) for _ in range(runs))
        return observed(list(played), self.rounds)


@dataclass(frozen=True)
class MechanismExperiment:
    """A mechanism alone."""

    mechanism: MechanismAlone | OwnersChannel
    people: tuple[tuple[int, ...], ...]
    chunk: int = 2500

    @property
    def pairs(self) -> list[str]:
        """In which rounds the person is."""
        return [f"round{'s' * (len(one) > 1)} {', '.join(str(t + 1) for t in one)}" for one in self.people]

    def observe(self, pair: int, world: int, runs: int, source: NoiseSource) -> Observations:
        """Run one world."""
        return self.mechanism.observe(self.people[pair] if world else None, runs, source)
