"""Small configurations of the optimizer, cheap enough to be run by the thousand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sottovoce.auditing.playing.transcripts import harness_for
from sottovoce.domains import Domain
from sottovoce.learning import Plan, PrivateBandit
from sottovoce.plans.options import DecisionFacts
from sottovoce.privacy import Guarantee, NoiseSource, SimulatedNoise


@dataclass(frozen=True, eq=False)
class Configuration(DecisionFacts):
    """All that decides an optimizer, as a value: called with a seed and a source of noise it makes a fresh one.

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
        A name for tables; by default exploration and mechanism of the plan.

    Examples
    --------
    >>> import sottovoce as sv
    >>> small = Configuration(sv.domains.Ball(2), sv.PureDP(1.0), horizon=24, choices={"probes": 2})
    >>> small(0, sv.SimulatedNoise(0)).remaining
    24
    """

    domain: Domain
    privacy: Guarantee
    horizon: int | None
    choices: Mapping[str, Any] = field(default_factory=dict)
    loss_range: tuple[float, float] = (0.0, 1.0)
    label: str | None = None
    patience: int | str | None = None
    kind = "optimizer"

    @cached_property
    def plan(self) -> Plan:
        """The plan of every optimizer made here: public, and slow to make, so it is made once."""
        return self._make(0, SimulatedNoise(0), **self.choices).plan

    @property
    def planned(self) -> dict[str, Any]:
        """The ready plan; or, if the horizon is unknown, the choices that every epoch's plan is made with."""
        return {"plan": self.plan} if self.horizon is not None else dict(self.choices)

    def __call__(self, seed: int, noise: NoiseSource) -> PrivateBandit:
        """Return a fresh optimizer."""
        return self._make(seed, noise, **self.planned)

    def _make(self, seed: int, noise: NoiseSource | None, **planned: Any) -> PrivateBandit:
        return PrivateBandit(
            self.domain,
            horizon=self.horizon,
            loss_range=self.loss_range,
            privacy=self.privacy,
            patience=self.patience,
            seed=seed,
            noise=noise,
            **{**self.facts(), **planned},
        )


class _OfAnother:
    """A subject that is another one, played in its own way."""

    subject: Any

    def __getattr__(self, name: str) -> Any:
        if name == "subject" or name.startswith("__"):  # while it is copied
            raise AttributeError(name)
        return getattr(self.subject, name)

    def __call__(self, seed: int, noise: NoiseSource) -> Any:
        """Return a harness that plays it so."""
        harness: Any = harness_for(self.subject(seed, noise), noise)
        self._tell(harness)
        return harness

    def _tell(self, harness: Any) -> None:
        """Tell a harness in which way."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CountedConfiguration(_OfAnother):
    """The same as another subject, whose every call says for whom it is.

    Parameters
    ----------
    subject
        A `Configuration`, `StudyConfiguration` or `EvaluationConfiguration`.
    people
        How many come often: neighbouring worlds differ in all events of one of them. Everybody else comes once.
    label
        A name for tables.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import Configuration, align
    >>> small = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), 12, {"probes": 2, "least_events": 2})
    >>> print(align(CountedConfiguration(small, people=2, label="counted")))
    counted: a person costs at most 1 of epsilon = 1, and nothing else shows, in 12 pairs of worlds
    """

    subject: Any
    people: int
    label: str

    def _tell(self, harness: Any) -> None:
        harness.people = self.people


@dataclass(frozen=True, eq=False)
class ChangingConfiguration(_OfAnother):
    """The same as another subject, whose set changes in the middle of a run.

    Parameters
    ----------
    subject
        A `Configuration` or `StudyConfiguration` whose set has names; or one with people who are counted.
    changes
        How many events are asked before each change, and the set that follows.
    label
        A name for tables.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import Configuration, align
    >>> first, second = (sv.domains.Simplex(names) for names in (["tea", "milk"], ["milk", "chai", "mate"]))
    >>> few = {"probes": 2, "least_events": 2}
    >>> small = Configuration(first, sv.PureDP(1.0), 12, few, losses="linear", integral=True)
    >>> print(align(ChangingConfiguration(small, ((4, second),), "changing"), most=8))
    changing: a person costs at most 1 of epsilon = 1, and nothing else shows, in 8 pairs of worlds
    """

    subject: Any
    changes: tuple[tuple[int, Domain], ...]
    label: str

    def _tell(self, harness: Any) -> None:
        harness.changes = self.changes
