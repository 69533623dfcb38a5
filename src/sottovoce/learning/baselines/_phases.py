"""Private algorithms in phases: a few actions, each played so often, and one released sum for each of them.

What is released: for every phase, one noisy integer per action, the sum of the losses of the events that played it
(privacy/mechanisms/probe_sums.py, where the proof stands). An event is in one number of one phase, so the whole run is
as private as one number, however a phase depends on earlier ones. Which event plays which action is drawn by public
coins.

What an algorithm believes is one value, replaced as a whole, and a function of released sums: so is every phase.

A phase that is not told to its end does not keep others waiting: events that are asked meanwhile play its actions, by
lot, and are not read.

Tests: tests/learning/baselines/test_arms.py, tests/learning/baselines/test_privacy.py.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.domains import Hypersimplex, Simplex
from sottovoce.errors import StateRefused
from sottovoce.exploration import Draw, Exploration, Explorer, Probed, Record
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.baselines.planned import PrivatelyPlanned, central
from sottovoce.learning.explorations._probe_noise import common_fields, probe_noise_of
from sottovoce.learning.explorations.designs import DesignOptions
from sottovoce.learning.oco.noisy_oco import NoisyOCO
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import Guarantee, NoiseSource, PureDP, SimulatedNoise

__all__ = ["Belief", "OwnPlan", "Phase", "PhasedAlgorithm", "PrivatelyPhased", "phased_plan", "pure"]

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
        named = self.parameters.items()
        shown = [(name, f"{value:.4g}" if isinstance(value, float) else str(value)) for name, value in named]
        return (
            ("method", f"{self.what} ({self.source})"),
            *shown,
            ("noise", self._noising()),
            ("regret", f"{self._costing()}; grows as {self.order}"),
            *(("note", note) for note in self.notes),
        )


def phased_plan(problem: Problem, *, phase: Phase, bounds: tuple[float, float], **said: Any) -> OwnPlan:
    """Return the plan of an algorithm in phases: the noise of one number, the first phase, and what it says."""
    # To the planner it is a design all of whose events explore: one number for each action, released once.
    options = DesignOptions(rate=1.0, probe_events=phase.size, control_variate=False)
    common = common_fields(problem, problem.stage("plain"), noise=probe_noise_of(problem))
    ceiling = problem.horizon * problem.width
    return OwnPlan(
        **{
            **common,
            "batch_size": min(problem.horizon, phase.size),
            "options": options,
            "step": 1.0,
            "delay": 0,
            "method": "auto",
            "bound": min(bounds[0], ceiling),
            "bound_without_privacy": min(bounds[1], ceiling),
            "no_learning": ceiling,
            **said,
        }
    )


def pure(privacy: Guarantee, who: str) -> PureDP:
    """Return a guarantee that Laplace noise keeps, or say why this is none."""
    if not isinstance(central(privacy), PureDP):
        raise TypeError(f"privacy must be PureDP for {who}, whose noise is Laplace noise, got {privacy!r}")
    assert isinstance(privacy, PureDP)
    return privacy


class _Known(NamedTuple):
    number: int  # phases that were taken in
    belief: Belief


class PhasedExplorer(Explorer):
    """Plays the phases of an algorithm, one a round."""

    def __init__(self, algorithm: PhasedAlgorithm) -> None:
        self._algorithm = algorithm
        self._known = _Known(0, algorithm.start())
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
            return PhaseExploration(self, belief.phase._replace(reads=False), number)
        self._opened = number, passed
        return PhaseExploration(self, belief.phase, number)

    def learn(self, number: int, sums: Floats) -> None:
        """Take in the sums of a phase, once."""
        if number == self._known.number:
            self._known = _Known(number + 1, self._algorithm.learn(self._known.belief, sums))

    def knowledge(self) -> _Known:
        """Return what was learned."""
        return self._known

    def go_back(self, knowledge: _Known) -> None:
        """Know no more than what `knowledge` returned."""
        self._known = knowledge

    def resume(self, point: Floats, record: Record) -> NoReturn:
        """Refuse: baselines save no state."""
        raise _no_state()


class PhaseExploration(Exploration):
    """One phase: who plays what is a uniformly random order of exactly so many events for each action."""

    def __init__(self, explorer: PhasedExplorer, phase: Phase, number: int) -> None:
        self._explorer, self._phase, self._number = explorer, phase, number
        self.numbers = len(phase.counts)
        self.progress = phase.counts  # events of each action that are left

    def draw(self, coins: np.random.Generator, size: int) -> Draw:
        """Return the next events."""
        actions, counts, reads = self._phase
        if not reads:
            index = coins.choice(len(counts), size=size, p=counts / counts.sum())
            nothing = np.zeros(size, dtype=np.int64)
            return Draw(actions[index], nothing.astype(bool), Probed(self.numbers, index, nothing))
        taken = coins.multivariate_hypergeometric(self.progress, size, method="marginals")
        index = coins.permutation(np.repeat(np.arange(len(counts)), taken))
        self.progress = self.progress - taken
        return Draw(actions[index], None, Probed(self.numbers, index, np.ones(size, dtype=np.int64)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Let the algorithm learn; there is no gradient."""
        if self._phase.reads:
            self._explorer.learn(self._number, sums)
        return np.zeros(self._phase.actions.shape[1])

    def record(self) -> NoReturn:
        """Refuse: baselines save no state."""
        raise _no_state()


def _no_state() -> StateRefused:
    return StateRefused("a baseline is for comparisons: it has no state to save")


class PrivatelyPhased(PrivatelyPlanned):
    """A private baseline whose actions come in phases, from a short list of vertices. Subclasses say which."""

    def __init__(
        self,
        problem: Problem,
        algorithm: PhasedAlgorithm,
        plan: OwnPlan,
        *,
        seed: int | None,
        noise: NoiseSource | None,
    ) -> None:
        self._algorithm = algorithm
        super().__init__(
            problem.domain,
            horizon=problem.horizon,
            loss_range=problem.loss_range,
            privacy=problem.privacy,
            plan=plan,
            losses="linear",
            lipschitz=problem.lipschitz,
            seed=seed,
            noise=noise,
        )

    def _make_epoch(self, length: int, first: int, previous: Epoch | None) -> Epoch:
        """Exchange how actions are found; how losses are noised and released stays `PrivateBandit`'s."""
        epoch = super()._make_epoch(length, first, previous)
        explorer = PhasedExplorer(self._algorithm)
        gradient = epoch.learner.gradient
        epoch.exchange(explorer, NoisyOCO(self.domain, gradient=gradient, step=1.0, point_map=explorer.leader))
        return epoch

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances with fixed seeds, on which the shared tests of all baselines run."""
        make: Any = cls  # subclasses take what all baselines take
        options = {"horizon": 60, "loss_range": (0.0, 1.0), "privacy": PureDP(1.0), "seed": 1}
        return [make(domain, noise=SimulatedNoise(1), **options) for domain in (Simplex(4), Hypersimplex(5, 2))]
