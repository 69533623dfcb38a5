"""What is audited: a way to run one of two neighbouring worlds, many times."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sottovoce.auditing.observations import Observations
from sottovoce.auditing.transcripts import play
from sottovoce.learning import PrivateBandit
from sottovoce.privacy import NoiseSource

__all__ = ["BanditExperiment", "Experiment", "MakeOptimizer"]

MakeOptimizer = Callable[[int, NoiseSource], PrivateBandit]


class Experiment(Protocol):
    """Runs either of two worlds: one in which nobody differs, one in which one person's losses are the highest."""

    @property
    def rounds(self) -> int:
        """In how many rounds the person may take part."""
        ...

    @property
    def chunk(self) -> int:
        """How many runs to ask for at a time."""
        ...

    def observe(self, person: int | None, runs: int, source: NoiseSource) -> Observations:
        """Run one world: the person takes part in round `person` (from 0), or (None) does not differ."""
        ...


@dataclass(frozen=True)
class BanditExperiment:
    """Fresh optimizers, each played from its first ask to its last tell."""

    make: MakeOptimizer
    rounds: int
    contributions: int
    seed: int
    chunk: int = 100

    def observe(self, person: int | None, runs: int, source: NoiseSource) -> Observations:
        """Run one world. The public coins are the same in every run: an adversary knows them anyway."""
        transcripts = [play(self.make(self.seed, source), person, self.contributions) for _ in range(runs)]
        return Observations(
            np.array([transcript.released for transcript in transcripts]),
            np.array([transcript.actions for transcript in transcripts]),
        )
