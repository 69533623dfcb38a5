"""Algorithms to compare with: each is `PrivateBandit` with a plan of its own, or with a policy that plays in phases.

A phase is a few actions, each played so often, and one released sum of losses for each of them. What is released: for
every phase, one integer per action, with the noise that the promise needs (privacy/mechanisms/probe_sums.py, where the
proof stands), or with none where nothing is promised. An event is in one number of one phase, so the whole run is as
private as one number, however a phase depends on earlier ones. Which event plays which action is drawn by public coins.

What a policy believes is one value, replaced as a whole, and a function of released sums: so is every phase.

A phase that is not told to its end does not keep others waiting: events that are asked meanwhile play its actions, by
lot, and are not read.

Tests: tests/lab/baselines/test_contract.py, tests/lab/baselines/test_arms.py, tests/lab/baselines/test_fidelity.py.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._sums import Probed
from sottovoce.domains import Ball, Domain, Hypersimplex, Simplex
from sottovoce.errors import StateRefused
from sottovoce.learning.private_bandit import PrivateBandit
from sottovoce.oco.noisy_oco import NoisyOCO
from sottovoce.plans.designs import DesignOptions
from sottovoce.plans.draft import ProbeDraft, probe_noise_of
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import (
    ZCDP,
    ApproxDP,
    Guarantee,
    NoiseSource,
    NoPrivacy,
    PureDP,
    SimulatedNoise,
)

_MEANWHILE = 256  # events of a round that is played while a phase waits for its losses
_EXAMPLES: dict[type[Guarantee], Guarantee] = {PureDP: PureDP(1.0), ApproxDP: ApproxDP(1.0, 1e-6), ZCDP: ZCDP(0.5)}


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
    """What a policy makes of all that was released: the phase to play next, and what else it knows."""

    phase: Phase
    known: Any = None


class _State(NamedTuple):
    number: int  # phases that were taken in
    belief: Belief


class Policy(Explorer):
    """What is different from one baseline to the next: what it begins with, and what it makes of a phase's sums.

    It plays its phases one a round.

    Parameters
    ----------
    problem
        The set, the horizon, the range of losses and what is promised.
    scale
        Of the noise of a sum, in units of loss: Laplace, or the deviation of Gaussian noise; 0 if there is none.
    seed
        Of what it draws by lot between phases.
    """

    squares: ClassVar[bool] = False  # whether `learn` is told of squares, too

    def __init__(self, problem: Problem, scale: float = 0.0, seed: Any = 0) -> None:
        self.problem, self.scale, self.seed = problem, scale, seed
        self.grid_steps = 0  # of the losses' grid, where it learns from squares
        self.set_up()
        self._known = _State(0, self.start())
        self._opened = -1, 0  # the phase that was begun last, and after how many events

    def set_up(self) -> None:  # most need none
        """Prepare what follows from these alone."""

    @abstractmethod
    def start(self) -> Belief:
        """Return the belief before any loss."""

    @abstractmethod
    def learn(self, belief: Belief, sums: Floats, squares: Floats | None = None) -> Belief:
        """Return the belief after a phase.

        Parameters
        ----------
        belief
            The belief before it.
        sums
            Of losses, noise included, one for each of its actions.
        squares
            Sums of (loss - middle)^2/B likewise, where they are asked for.
        """

    @property
    def epsilon(self) -> float:
        """Of pure privacy, for which the scale is B/epsilon; infinite if there is no noise."""
        return self.problem.width / self.scale if self.scale else math.inf

    def bound(self) -> float:
        """Bound the expected regret; infinite if there is no bound with constants."""
        return math.inf

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

    def resume(self, point: Floats, record: Record) -> NoReturn:
        """Refuse: its rounds are never taken up again."""
        raise StateRefused("a baseline is for comparisons: it has no state to save")

    def take_in(self, number: int, sums: Floats, squares: Floats | None) -> None:
        """Learn from the sums of a phase, once."""
        if number == self._known.number:
            self._known = _State(number + 1, self.learn(self._known.belief, sums, squares))

    def knowledge(self) -> _State:
        """Return what was learned."""
        return self._known

    def go_back(self, knowledge: _State) -> None:
        """Know no more than what `knowledge` returned."""
        self._known = knowledge


@dataclass(frozen=True)
class PolicyPlan(Plan):
    """The plan of a policy: what it prints is the policy's.

    Attributes
    ----------
    source, order
        Where the algorithm comes from, and how its source says that regret grows.
    """

    source: str = ""
    order: str = "T"

    @property
    def what(self) -> str:
        """The algorithm and its mechanism."""
        return f"{self.name} with {self.mechanism}"

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        return (
            ("method", f"{self.what} ({self.source})"),
            ("noise", self._noising()),
            ("regret", f"{self._costing()}; grows as {self.order}"),
        )


class Baseline(PrivateBandit):
    """An algorithm with a name. A subclass says its policy, or its plan.

    Parameters
    ----------
    domain, horizon, loss_range, lipschitz, seed, noise
        As for `PrivateBandit`.
    privacy
        One of `promises`; left out where there are none.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    order: ClassVar[str]
    promises: ClassVar[tuple[type[Guarantee], ...]] = ()  # what may be promised
    private: ClassVar[bool]  # whether anything is
    linear_only: ClassVar[bool] = False
    policy: ClassVar[type[Policy]]
    sets: ClassVar[Sequence[Domain]] = (Ball(3), Simplex(4), Hypersimplex(6, 2))  # of the examples

    def __init_subclass__(cls) -> None:
        cls.private = bool(cls.promises)

    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        loss_range: tuple[float, float],
        privacy: Guarantee | None = None,
        lipschitz: float | None = None,
        seed: int | None = None,
        noise: NoiseSource | None = None,
    ) -> None:
        given: dict[str, Any] = {"lipschitz": lipschitz, "losses": "linear" if self.linear_only else "convex"}
        self._lot = np.random.SeedSequence(seed).entropy  # of decisions that are drawn between rounds
        self._made: Policy | None = None
        problem = Problem(domain, horizon, loss_range, self._promised(privacy), **given)
        super().__init__(
            domain,
            horizon=horizon,
            loss_range=loss_range,
            privacy=problem.privacy,
            plan=self._planned(problem),
            seed=seed,
            noise=noise,
            **given,
        )

    def _promised(self, privacy: Guarantee | None) -> Guarantee:
        """Return a guarantee that this algorithm can keep, or say why this is none."""
        if not self.private and (privacy is None or isinstance(privacy, NoPrivacy)):
            return NoPrivacy()
        if not isinstance(privacy, self.promises):
            possible = " or ".join(one.__name__ for one in self.promises) or "left out"
            raise TypeError(f"privacy must be {possible} for {self.name}, got {privacy!r}")
        return privacy

    def _planned(self, problem: Problem) -> Plan:
        """Return the plan for a problem: that of a policy, unless there is another."""
        noise = probe_noise_of(problem)
        policies = [self.policy(problem, scale, self._lot) for scale in (noise.in_loss_units, 0.0)]
        ceiling = problem.horizon * problem.width
        bound, without_privacy = (min(one.bound(), ceiling) for one in policies)
        self._made = policies[0]
        # To the planner it is a design all of whose events explore: one number for each action, released once.
        events = policies[0].round_size(0)
        options = DesignOptions(rate=1.0, probe_events=events)
        plan = ProbeDraft(problem, problem.placement("plain"), options, events, known=noise, name=self.name, step=1.0)
        own = {"bound": bound, "bound_without_privacy": without_privacy, "source": self.source, "order": self.order}
        return PolicyPlan(**{**vars(plan.finish()), **own})

    def _build(self, *arguments: Any) -> None:
        """Let the policy find points and actions; how losses are noised and released stays `PrivateBandit`'s."""
        super()._build(*arguments)
        if self._made is not None:
            epoch: Any = self._policy.first
            self._made.grid_steps = epoch.grid.steps if self._made.squares else 0
            gradient = epoch.learner.gradient
            epoch.explorer = self._made
            epoch.learner = NoisyOCO(self.domain, gradient=gradient, step=1.0, point_map=self._made.leader)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return a few fresh instances with fixed seeds, on which the shared tests of all baselines run."""
        promises: Sequence[Guarantee | None] = [_EXAMPLES[one] for one in cls.promises] or [None]
        given: dict[str, Any] = {"horizon": 60, "loss_range": (0.0, 1.0), "seed": 1}
        return [
            cls(domain, privacy=promises[i % len(promises)], noise=SimulatedNoise(1) if cls.private else None, **given)
            for i, domain in enumerate(cls.sets)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, horizon={self.horizon}, closed_rounds={self.round})"


class PhaseExploration(Exploration):
    """One phase: who plays what is a uniformly random order of exactly so many events for each action."""

    def __init__(self, policy: Policy, phase: Phase, number: int, coins: np.random.Generator) -> None:
        self._policy, self._phase, self._number = policy, phase, number
        self.numbers, self.squares = len(phase.counts), policy.grid_steps
        if phase.reads:
            self._order = coins.permutation(np.repeat(np.arange(self.numbers), phase.counts))

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events."""
        actions, counts, reads = self._phase
        if reads:
            index, sign = self._order[start : start + size], np.ones(size, dtype=np.int64)
        else:
            index, sign = coins.choice(len(counts), size=size, p=counts / counts.sum()), np.zeros(size, dtype=np.int64)
        wanted = None if reads else sign.astype(bool)
        return Draw(actions[index], wanted, Probed(self.numbers, index, sign, self.squares))

    def estimate(self, sums: Floats, weights: Floats, squares: Floats | None = None) -> Floats:
        """Let the policy learn; there is no gradient."""
        if self._phase.reads:
            self._policy.take_in(self._number, sums, squares)
        return np.zeros(self._phase.actions.shape[1])

    def record(self) -> Record:
        """Return nothing: baselines save no state."""
        return {}
