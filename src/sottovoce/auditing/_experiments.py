"""What is audited: a way to run neighbouring worlds, many times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sottovoce.auditing.attacks.observations import Observations, observed
from sottovoce.auditing.playing.crowds import Crowd
from sottovoce.auditing.playing.schedules import play
from sottovoce.auditing.playing.transcripts import harness_for
from sottovoce.auditing.subjects.mechanism_alone import MechanismAlone
from sottovoce.auditing.subjects.owners import OwnersChannel
from sottovoce.privacy import NoiseSource

MakeOptimizer = Callable[[int, NoiseSource], Any]


class Experiment(Protocol):
    """Runs people who are each in one of two worlds, by a coin."""

    @property
    def crowds(self) -> Sequence[Any]:
        """The people who are in a run together: each says in words how its two worlds differ."""

    @property
    def chunk(self) -> int:
        """How many runs to ask for at a time."""

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run one of the crowds, each person in a world that a coin chooses."""


@dataclass(frozen=True)
class BanditExperiment:
    """Fresh optimizers (or studies), each played from its first ask to its last tell."""

    make: MakeOptimizer
    crowds: tuple[Crowd, ...]
    rounds: tuple[int, ...]
    seed: int
    chunk: int = 50

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run one of the crowds. The public coins are the same in every run: an adversary knows them anyway."""
        people = self.crowds[crowd]
        worlds = coins.random((runs, len(people))) < 0.5
        played = [play(harness_for(self.make(self.seed, source), source), people, people.world(one)) for one in worlds]
        return observed(played, self.rounds, worlds)


@dataclass(frozen=True)
class MechanismExperiment:
    """A mechanism alone."""

    mechanism: MechanismAlone | OwnersChannel
    people: tuple[tuple[int, ...], ...]
    chunk: int = 2500

    @property
    def crowds(self) -> list[list[str]]:
        """One person each: in which rounds."""
        return [[f"round{'s' * (len(one) > 1)} {', '.join(str(t + 1) for t in one)}"] for one in self.people]

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run it; runs of the first world come first, which shows nothing to an attack that looks at one at a time."""
        high = int(coins.binomial(runs, 0.5))
        parts = [(None, runs - high), (self.people[crowd], high)]
        seen = [self.mechanism.observe(person, count, source) for person, count in parts if count]
        return replace(Observations.joined(seen), worlds=np.arange(runs)[:, None] >= runs - high)
