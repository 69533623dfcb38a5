"""Private algorithms in phases: a few actions, each played so often, and one released sum for each of them.

What is released: for every phase, one noisy integer per action, the sum of the losses of the events that played it
(privacy/mechanisms/probe_sums.py, where the proof stands). An event is in one number of one phase, so the whole run is
as private as one number, however a phase depends on earlier ones. Which event plays which action is drawn by public
coins.

What an algorithm believes is one value, replaced as a whole, and a function of released sums: so is every phase.

A phase that is not told to its end does not keep others waiting: events that are asked meanwhile play its actions, by
lot, and are not read.

Tests: tests/lab/baselines/test_arms.py, tests/lab/baselines/test_privacy.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._sums import Probed
from sottovoce.domains import Domain, Hypersimplex, Simplex
from sottovoce.lab.baselines.planned import PrivatelyPlanned, Stateless, central
from sottovoce.lab.baselines.plans import shown
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.oco.noisy_oco import NoisyOCO
from sottovoce.plans.designs import DesignOptions
from sottovoce.plans.draft import ProbeNoise, common_fields, probe_noise_of
from sottovoce.plans.explorer import Draw, Exploration, Record
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import PROBE_SUMS, Guarantee, Mechanism, PureDP

_MEANWHILE = 256  # events of a round that is played while a phase waits for its losses


class Phase(NamedTuple):
    """Actions, one a row, and how many events play each; `reads` False: their losses are of no use."""

    actions: Floats
    counts: Integers
    reads: bool = True

    @property
    def size(self) -> int:
        """Its events."""
        return int(self.counts.sum())

    @property
    def mean(self) -> Floats:
        """The mean action."""
        return np.asarray(self.counts @ self.actions / self.size)


class Belief(NamedTuple):
    """What an algorithm makes of all that was released: the phase to play next, and what else it knows."""

    phase: Phase
    known: Any


class PhasedAlgorithm(ABC):
    """An algorithm in phases: what it begins with, and what it makes of a phase's sums."""

    @abstractmethod
    def start(self) -> Belief:
        """Return the belief before any loss."""

    @abstractmethod
    def learn(self, belief: Belief, sums: Floats) -> Belief:
        """Return the belief after a phase: `sums` of losses, noise included, one for each of its actions."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, object]:
        """What a plan says of it: names and values."""

    @abstractmethod
    def bound(self, horizon: int) -> float:
        """Bound the expected regret over so many events."""


@dataclass(frozen=True)
class OwnPlan(Plan):
    """The plan of an algorithm that chooses actions in its own way: what it prints is that algorithm's.

    Attributes
    ----------
    source, order
        Where the algorithm comes from, and how its source says that regret grows.
    parameters
        Names and values.
    released
        How many rounds are released at most, where that matters; as many as fit by default.
    """

    source: str = ""
    order: str = "T"
    parameters: Mapping[str, object] = field(default_factory=dict)
    released: int = 0

    @property
    def rounds(self) -> int:
        """At most."""
        return self.released or super().rounds

    @property
    def what(self) -> str:
        """The algorithm and its mechanism."""
        return f"{self.name} with {self.mechanism}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        return (
            ("method", f"{self.what} ({self.source})"),
            *shown(self.parameters),
            ("noise", self._noising()),
            ("regret", f"{self._costing()}; grows as {self.order}"),
            *(("note", note) for note in self.notes),
        )


def own_plan(
    problem: Problem, mechanism: Mechanism, noise: ProbeNoise, *, bounds: Sequence[float], **said: Any
) -> OwnPlan:
    """Return the plan of an algorithm that takes no steps of its own, with bounds in private and without privacy."""
    placement, ceiling = problem.placement("plain"), problem.horizon * problem.width
    given = {
        **common_fields(problem, placement, mechanism, noise),
        "step": 1.0,
        "gap": 1e-6 * placement.working.diameter**2,
        "max_calls": 10_000,
        "delay": 0,
        "method": "auto",
        "bound": min(bounds[0], ceiling),
        "bound_without_privacy": min(bounds[1], ceiling),
        "no_learning": ceiling,
    }
    return OwnPlan(**{**given, **said})


class _PhaseState(NamedTuple):
    number: int  # phases that were taken in
    belief: Belief


class PhasedExplorer(Stateless):
    """Plays the phases of an algorithm, one a round."""

    def __init__(self, algorithm: PhasedAlgorithm) -> None:
        self._algorithm = algorithm
        self._known = _PhaseState(0, algorithm.start())
        self._opened = -1, 0  # the phase that was begun last, and after how many events

    def leader(self, dual: Floats) -> Floats:
        """Return the mean action of the phase that comes next; a dual vector plays no part."""
        return self._known.belief.phase.mean

    def _is_due(self, passed: int) -> bool:
        """Whether the phase is to begin here: it has not begun, or its beginning, just here, was cut short."""
        number, place = self._opened
        return number != self._known.number or place == passed

    def round_size(self, passed: int) -> int:
        """Return the size of the phase, or of a round that is played while it waits for its losses."""
        return self._known.belief.phase.size if self._is_due(passed) else _MEANWHILE

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "PhaseExploration":
        """Begin the phase, unless it is begun and waits for its losses."""
        number, belief = self._known
        if not self._is_due(passed):
            return PhaseExploration(self, belief.phase._replace(reads=False), number, coins)
        self._opened = number, passed
        return PhaseExploration(self, belief.phase, number, coins)

    def learn(self, number: int, sums: Floats) -> None:
        """Take in the sums of a phase, once."""
        if number == self._known.number:
            self._known = _PhaseState(number + 1, self._algorithm.learn(self._known.belief, sums))

    def knowledge(self) -> _PhaseState:
        """Return what was learned."""
        return self._known

    def go_back(self, knowledge: _PhaseState) -> None:
        """Know no more than what `knowledge` returned."""
        self._known = knowledge


class PhaseExploration(Exploration):
    """One phase: who plays what is a uniformly random order of exactly so many events for each action."""

    def __init__(self, explorer: PhasedExplorer, phase: Phase, number: int, coins: np.random.Generator) -> None:
        self._explorer, self._phase, self._number = explorer, phase, number
        self.numbers = len(phase.counts)
        if phase.reads:
            self._order = coins.permutation(np.repeat(np.arange(self.numbers), phase.counts))

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events."""
        actions, counts, reads = self._phase
        if not reads:
            index = coins.choice(len(counts), size=size, p=counts / counts.sum())
            nothing = np.zeros(size, dtype=np.int64)
            return Draw(actions[index], nothing.astype(bool), Probed(self.numbers, index, nothing))
        index = self._order[start : start + size]
        return Draw(actions[index], None, Probed(self.numbers, index, np.ones(size, dtype=np.int64)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Let the algorithm learn; there is no gradient."""
        if self._phase.reads:
            self._explorer.learn(self._number, sums)
        return np.zeros(self._phase.actions.shape[1])

    def record(self) -> Record:
        """Return nothing: baselines save no state."""
        return {}


class PrivatelyPhased(PrivatelyPlanned):
    """A private baseline whose actions come in phases, from a short list of vertices. Subclasses say which."""

    linear_only: ClassVar[bool] = True
    _sets: ClassVar[Sequence[Domain]] = (Simplex(4), Hypersimplex(5, 2))
    _guarantees: ClassVar[Sequence[Guarantee]] = (PureDP(1.0), PureDP(1.0))
    source: ClassVar[str]
    order: ClassVar[str]
    promise: ClassVar[type[Guarantee]] = PureDP  # Laplace noise; ZCDP: Gaussian

    @abstractmethod
    def _algorithm_for(self, problem: Problem, scale: float) -> PhasedAlgorithm:
        """Return the algorithm, for sums whose noise has a scale, in units of loss."""

    def _kept(self, privacy: Guarantee) -> Guarantee:
        if not isinstance(central(privacy), self.promise):
            noise = "Laplace" if self.promise is PureDP else "Gaussian"
            said = f"{self.promise.__name__} for {self.name}, whose noise is {noise} noise"
            raise TypeError(f"privacy must be {said}, got {privacy!r}")
        return privacy

    def _planned(self, problem: Problem) -> Plan:
        self._algorithm = self._algorithm_for(problem, probe_noise_of(problem).in_loss_units)
        algorithms = self._algorithm, self._algorithm_for(problem, 0.0)
        # To the planner it is a design all of whose events explore: one number for each action, released once.
        events = self._algorithm.start().phase.size
        return own_plan(
            problem,
            PROBE_SUMS,
            probe_noise_of(problem),
            bounds=[one.bound(problem.horizon) for one in algorithms],
            name=self.name,
            batch_size=min(problem.horizon, events),
            options=DesignOptions(rate=1.0, probe_events=events, control_variate=False),
            source=self.source,
            order=self.order,
            parameters=self._algorithm.parameters,
        )

    def _exchange(self, epoch: Epoch) -> None:
        explorer = PhasedExplorer(self._algorithm)
        gradient = epoch.learner.gradient
        epoch.exchange(explorer, NoisyOCO(self.domain, gradient=gradient, step=1.0, point_map=explorer.leader))
