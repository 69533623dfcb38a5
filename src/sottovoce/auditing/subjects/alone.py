"""Mechanisms by themselves, audited by the thousand: each of their coordinates serves as a run."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._checks import choice, whole
from sottovoce.auditing.attacks.observations import Observations
from sottovoce.privacy import MECHANISMS, Guarantee, Noise, NoiseSource, Sensitivity
from sottovoce.privacy.noise import Sampler


@dataclass(frozen=True)
class MechanismAlone:
    """A mechanism on worst-case integers: zeros, except that one person moves one round by all that a person may.

    Parameters
    ----------
    name
        "probe-sums", "tree" or "fresh".
    privacy
        The guarantee that its noise is made for.
    rounds
        How many releases there are.
    steps
        How far one contribution moves a number.

    Examples
    --------
    >>> import sottovoce as sv
    >>> MechanismAlone("tree", sv.PureDP(1.0), rounds=3).released((0,), 500, sv.SimulatedNoise(0)).shape
    (500, 3, 1)
    """

    name: str
    privacy: Guarantee
    rounds: int = 7
    steps: int = 2**20
    chunk: ClassVar[int] = 2500  # runs that are made at a time

    def __post_init__(self) -> None:
        choice("name", self.name, tuple(one.name for one in MECHANISMS.values() if one.noised))
        whole("rounds", self.rounds)

    @property
    def noise(self) -> Noise:
        """The noise of one number, as the library calibrates it."""
        noise = MECHANISMS[self.name].noise(self.privacy, self._sensitivity(1))
        assert noise is not None
        return noise

    def _sensitivity(self, copies: int) -> Sensitivity:
        return Sensitivity(self.steps, float(self.steps), self.rounds, copies)

    def open(self, copies: int, sampler: Sampler) -> Any:
        """Open the mechanism `copies` times over: one coordinate each.

        Parameters
        ----------
        copies
            How many.
        sampler
            Of its noise.
        """
        return MECHANISMS[self.name].start(self._sensitivity(copies), sampler)

    @property
    def people(self) -> tuple[tuple[int, ...], ...]:
        """The rounds that a person may be in: with all contributions in the first, middle or last, or spread out."""
        middle, last, count = (self.rounds - 1) // 2, self.rounds - 1, self.privacy.contributions
        alone = [(one,) for one in sorted({0, middle, last})]
        spread = [tuple(range(min(count, self.rounds)))] if count > 1 and self.rounds > 1 else []
        return (*alone, *spread)

    def released(self, person: tuple[int, ...] | None, runs: int, source: NoiseSource) -> Floats:
        """Return what `runs` release, with noise of `source`: the `person` is in these rounds, or does not differ."""
        rounds = person or ()
        count = self.privacy.contributions
        release = self.open(runs, source.sampler(self.noise))
        step = release.release if hasattr(release, "release") else release.add
        released = []
        for t in range(self.rounds):
            share = count if len(rounds) == 1 else 1
            moved = share * self.steps if t in rounds else 0
            released.append(np.asarray(step(np.full(runs, moved, dtype=np.int64)), dtype=np.float64))
        return np.stack(released, axis=1)[:, :, None]

    @property
    def crowds(self) -> list[list[str]]:
        """One person each: in which rounds."""
        return [[f"round{'s' * (len(one) > 1)} {', '.join(str(t + 1) for t in one)}"] for one in self.people]

    def observe(self, crowd: int, runs: int, source: NoiseSource, coins: np.random.Generator) -> Observations:
        """Run both worlds, as coins choose; the first comes first, which shows nothing to who looks at one at a time.

        Parameters
        ----------
        crowd
            Whose, of `crowds`.
        runs, source
            As for `released`.
        coins
            Of the worlds.
        """
        high = int(coins.binomial(runs, 0.5))
        parts = [(None, runs - high), (self.people[crowd], high)]
        released = np.concatenate([self.released(person, count, source) for person, count in parts if count])
        return Observations(released, worlds=np.arange(runs)[:, None] >= runs - high)
