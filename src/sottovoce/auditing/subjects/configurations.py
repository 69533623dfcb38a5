"""Small configurations of optimizers and studies, cheap enough to be run by the thousand."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sottovoce.auditing.playing.transcripts import Harness
from sottovoce.domains import Domain
from sottovoce.learning import Plan, PrivateBandit
from sottovoce.plans.options import DecisionFacts
from sottovoce.privacy import Guarantee, NoiseSource, SimulatedNoise
from sottovoce.studies import Study

_IN_MEMORY = "/dev/shm"


@dataclass(frozen=True, eq=False)
class Configuration(DecisionFacts):
    """All that decides a run, as a value: called with a seed and a source of noise it makes a fresh one, to be played.

    Parameters
    ----------
    domain, privacy, horizon, loss_range, losses, integral, play
        As for `PrivateBandit`.
    lipschitz, features, prior, accept_prior, segments, feedback, most, direction, ...
        As for `PrivateBandit`: all that `sottovoce.plans.options.DecisionFacts` lists.
    choices
        Single choices of the plan, by name.
    patience
        As for `PrivateBandit`, but for ever by default: audits tell late.
    label
        A name for tables.
    stored
        Whether it is a study, in an SQLite file of its own that is deleted in the end: closed and opened again, or put
        back, in the middle of a run.
    people
        How many come often, and are counted: neighbouring worlds differ in all events of one of them, and everybody
        else comes once. 0: nobody is counted.
    changes
        How many events are asked before each change of the set, and the set that follows.
    schedules
        How losses may arrive; by default in all ways that are possible. (Of a study, one at a time, of more than a few
        events, how many are leased ahead depends on the clock, and is shown.)

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import align
    >>> few = {"probes": 2, "least_events": 2}
    >>> first, second = (sv.domains.Simplex(names) for names in (["tea", "milk"], ["milk", "chai", "mate"]))
    >>> small = Configuration(first, sv.PureDP(1.0), 12, few, losses="linear", integral=True, changes=((4, second),))
    >>> small(0, sv.SimulatedNoise(0)).remaining
    12
    >>> print(align(small, label="changing", most=8))
    changing: a person costs at most 1 of epsilon = 1, and nothing else shows, in 8 pairs of worlds
    """

    domain: Domain
    privacy: Guarantee
    horizon: int | None
    choices: Mapping[str, Any] = field(default_factory=dict)
    loss_range: tuple[float, float] = (0.0, 1.0)
    label: str | None = None
    patience: int | str | None = None
    stored: bool = False
    people: int = 0
    changes: tuple[tuple[int, Domain], ...] = ()
    schedules: tuple[str, ...] | None = None
    alignable, by_runs = True, True  # how it can be audited

    @property
    def kind(self) -> str:
        """What it is."""
        return "study" if self.stored else "optimizer"

    @cached_property
    def plan(self) -> Plan:
        """The plan of every run: public, and slow to make, so it is made once."""
        return PrivateBandit(self.domain, noise=SimulatedNoise(0), **self.arguments(0), **self.choices).plan

    @property
    def planned(self) -> dict[str, Any]:
        """The ready plan; or, if the horizon is unknown, the choices that every epoch's plan is made with."""
        return {"plan": self.plan} if self.horizon is not None else dict(self.choices)

    def __call__(self, seed: int, noise: NoiseSource | None) -> Harness:
        """Return a harness for a fresh optimizer or study."""
        played: dict[str, Any] = {"people": self.people, "changes": self.changes}
        if self.stored:
            return Studied(self, seed, noise, **played)
        return Harness(self.optimizer(seed, noise), **played)

    def optimizer(self, seed: int, noise: NoiseSource | None) -> PrivateBandit:
        """Return a fresh optimizer.

        Parameters
        ----------
        seed, noise
            Of its public coins, and its source of noise.
        """
        return PrivateBandit(self.domain, noise=noise, **self.arguments(seed), **self.planned)

    def arguments(self, seed: int) -> dict[str, Any]:
        """Return what both optimizers and studies are made with, the set and the plan apart.

        Parameters
        ----------
        seed
            Of the public coins.
        """
        known = {name: getattr(self, name) for name in ("horizon", "loss_range", "privacy", "patience")}
        return {**known, **self.facts(), "seed": seed}


def scratch_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder of its own; what is audited is what is released, and not whether it survives."""
    in_memory = os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    return tempfile.TemporaryDirectory(prefix="sottovoce-audit-", dir=_IN_MEMORY if in_memory else None)


class Studied(Harness):
    """A harness for a study: what an adversary reads of it are its actions, and all that it shows and exports."""

    def __init__(self, configuration: Configuration, seed: int, noise: NoiseSource | None, **played: Any) -> None:
        self._folder, self._noise = scratch_folder(), noise
        made = self._open(domain=configuration.domain, **configuration.arguments(seed), **configuration.planned)
        super().__init__(made, **played)
        self.own = {self._folder.name: "<folder>", made.export()["configuration"]["identity"]: "<identity>"}

    def _open(self, **options: Any) -> Study:
        url = f"sqlite:///{Path(self._folder.name) / 'study.db'}"
        return Study.open(url, name="audit", noise=self._noise, **options)

    def renew(self, how: str) -> None:
        """Close the study, and open it again: as the same incarnation, or as one that was put back from a backup."""
        self._optimizer.close()
        self._optimizer = self._open(restored=how == "restored")
        self._listen()

    def close(self) -> None:
        """Close the study, and delete its file."""
        self._optimizer.close()
        self._folder.cleanup()
