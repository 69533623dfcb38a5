"""Posterior probes: every event plays a decision that may be the best; each decision's losses are one number.

A round draws m decisions from what is believed and deals its events out among them, in passes over all decisions, each
in an order of its own: who plays what is decided by public coins. The round's released numbers change what is believed:
a sum of losses for each decision, and beside it one of their squares, unless owners privatise their losses. One event
is in one sum, and in the squares beside it. The length of a round follows from released numbers and positions alone.

There is no bound against an adversary. What is given in its place is an order of magnitude: for losses drawn from the
prior, Thompson sampling over k dimensions has a regret of at most sqrt(k H T/2) B (Russo and Van Roy 2016), H the
entropy of the best decision, for which plans put k; the noise of privacy adds to the variance of a number, and until
rounds of the least length have seen every dimension, nothing is known.

Tests: tests/plans/test_posterior.py.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, number, whole
from sottovoce._sums import Probed
from sottovoce.domains.specification import as_stored
from sottovoce.models import LinearBelief, RadialBelief
from sottovoce.models.belief import GaussianBelief
from sottovoce.models.measurements import Numbers, rows_in, rows_record, written
from sottovoce.models.pace import ModelSettings
from sottovoce.plans.decisions import kept
from sottovoce.plans.draft import ProbeDraft, ProbeNoise, loss_deviation, probe_noise_of
from sottovoce.plans.explorer import DealtExploration, Explorer, Record
from sottovoce.plans.kind import Chosen, ExplorationKind
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import LocalDP, Mechanism


class PosteriorProbes(Explorer):
    """Rounds whose decisions are drawn from what is believed.

    Parameters
    ----------
    placement
        Where the play takes place.
    belief
        What is believed.
    squares
        The steps of the losses' grid, where squares are released, too; else 0.
    """

    belief: GaussianBelief

    def __init__(self, placement: Placement, belief: GaussianBelief, squares: int = 0) -> None:
        self.placement, self.belief, self.squares = placement, belief, squares

    def round_size(self, passed: int) -> int:
        """Events of a probe, times the probes."""
        settings, pace = self.belief.settings, self.belief.pace
        return pace.events(settings, passed) * pace.probes(settings, passed)

    def choose(self, passed: int, size: int, coins: np.random.Generator) -> Record:
        """Draw the round's decisions."""
        probes = self.belief.draw(self.count(passed, size), passed, passed // max(1, size), coins)
        return {**rows_record(kept(probes)), "end": passed + size}

    def count(self, passed: int, size: int) -> int:
        """Decisions of a round of `size` events that begins after `passed` others: fewer if it is a short last one."""
        settings, pace = self.belief.settings, self.belief.pace
        return min(pace.probes(settings, passed), max(1, size // pace.events(settings, passed)))

    def resume(self, point: Floats, record: Record) -> "PosteriorExploration":
        """Return the round that `record` was taken of."""
        return PosteriorExploration(self, point, record)


class PosteriorExploration(DealtExploration):
    """One round: a few decisions, and who plays which.

    Parameters
    ----------
    explorer, point, record
        As for `Exploration`.
    """

    def __init__(self, explorer: PosteriorProbes, point: Floats, record: Record) -> None:
        super().__init__(explorer, point, record, kept(rows_in(record)))
        self.squares, self.numbers = explorer.squares, self.stride

    def _weights(self, index: Integers) -> Probed:
        return Probed(self.numbers, index, np.ones(len(index), dtype=np.int64), self.squares)

    def learn(self, belief: Any, sums: Floats, weights: Floats, squares: Floats | None = None) -> None:
        """Let a belief know what was released of each decision."""
        played = weights > 0
        counts = weights[played]
        if not len(counts):  # all people of the round had given all their losses
            return
        known, probes = self._explorer.belief.known_names, written(self._rows)[played]
        probes = probes if known is None else known.wide(probes)
        spread = None if squares is None else squares[played] / counts
        belief.learn(Numbers(probes, sums[played] / counts, counts, self._end, spread))

    def is_possible(self) -> bool:
        """Whether the decisions are of the set, and no more than there may be."""
        return self.numbers <= self._explorer.belief.settings.probes and super().is_possible()

    def can_begin(self, passed: int, size: int) -> bool:
        """Whether it has as many decisions as it should, and ends where it does."""
        return super().can_begin(passed, size) and self.numbers == self._explorer.count(passed, size)

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """All losses count with a plus, and the weights say how many there are."""
        return np.zeros(self.numbers, dtype=np.int64), weights


_LINEAR_PROBES, _CONVEX_PROBES = 12, 8
_SHORT, _FEWER_PROBES = 5000.0, 6  # events times epsilon below which a round has fewer probes
_LEAST = 32.0  # events of a probe, at first, over epsilon
_LINEAR_LEAST_FREE, _CONVEX_LEAST_FREE = 24, 4  # and without noise
_COARSE = 1 / 16  # deviation of a number of privatised reports that is good enough at first, in B
_FULL_SCALE, _FULL_CONVEX_SCALE = 50.0, 10.0  # dimensions up to which posterior samples are taken as they are


@dataclass(frozen=True)
class PosteriorOptions(Options, exploration="posterior"):
    """What is posterior probes' own in a plan.

    Attributes
    ----------
    model
        "linear" (mean losses are linear in the decision) or "radial" (linear, and curved alike in all directions).
    probes, least_events
        Decisions of a round, and events for each of them at least.
    round_growth, round_cap
        A round has this share of the events that are remembered, and of the horizon at most.
    posterior_scale
        What deviations of a posterior sample are multiplied by.
    """

    model: str
    probes: int
    least_events: int
    round_growth: float
    round_cap: float
    posterior_scale: float = 1.0
    steps: ClassVar[bool] = False

    def __post_init__(self) -> None:
        choice("model", self.model, ("linear", "radial"))

    @property
    def begins_with(self) -> tuple[str, ...]:
        """Which of `features`, `prior` and `segments` such a plan can make use of."""
        return ("features", "prior", "segments") if self.model == "linear" else ("prior", "segments")

    @property
    def rests_on(self) -> str:
        """What has to be true for it to do well."""
        convex = (
            "convex (least well if piecewise linear in 30 dimensions or more, or in some 50,000 events or fewer, where "
            "never learning may lose less)"
        )
        shape = "linear in the decision" if self.model == "linear" else convex
        return f"mean losses that are {shape}, and stay, drift slowly, or change now and then; no bound if they do not"

    def words(self) -> str:
        """How such a plan explores."""
        return f"{self.probes} decisions a round that may be the best, by a {self.model} model of what was released"

    def pace(self, horizon: int, batch_size: int) -> str:
        """How long rounds are."""
        longest = max(batch_size, round(self.round_cap * horizon))
        upto = f" to {longest:,}" if longest > batch_size else ""
        return f"of {batch_size:,}{upto} events ({horizon:,} in all)"


class PosteriorDraft(ProbeDraft):
    """A plan of posterior probes, before noise and the order of the regret follow."""

    def bound_at(self, deviation: float) -> float:
        """Return the order of the regret for noise of a deviation."""
        problem, options = self.problem, self.options
        dimensions = min(problem.domain.rough_dimension, problem.effective_dimension)
        events = max(options.least_events, options.round_cap * problem.horizon / options.probes)
        variance = loss_deviation(problem) ** 2 + deviation**2 / events
        first = dimensions * options.least_events if deviation else dimensions
        return dimensions * math.sqrt(2 * variance * problem.horizon) + first * problem.width / 2


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> list[PosteriorDraft]:
    """The one candidate: all by formula, with constants that were chosen by simulation."""
    noise = probe_noise_of(problem, mechanism)
    linear = problem.linear
    short = linear and noise.noise is not None and problem.horizon * _epsilon(problem, noise) < _SHORT
    usual = _FEWER_PROBES if short else _LINEAR_PROBES if linear else _CONVEX_PROBES
    probes = chosen.get("probes") or usual
    least = chosen.get("least_events") or _least(problem, noise, probes, linear=linear)
    # How much of a number's variance is noise, in rounds of a fiftieth of the horizon: larger sums pay where it is.
    share = 0.0
    if noise.noise is not None:
        share = 1 / (1 + problem.horizon * _epsilon(problem, noise) ** 2 / (1600 * probes))
    if linear:
        # Of all coordinates, features or not: what each has beside its features is explored, too.
        posterior_scale = min(1.0, (_FULL_SCALE / problem.domain.dimension) ** (1 / 3))
        growth, cap = 0.1, 0.01 + 0.01 * share  # shorter rounds notice a change sooner
    else:
        growth, cap, posterior_scale = 0.08 + 0.2 * share, 0.02 + 0.04 * share, 1 - 0.3 * share
        posterior_scale *= min(1.0, (_FULL_CONVEX_SCALE / problem.domain.rough_dimension) ** (1 / 4))
    options = PosteriorOptions("linear" if linear else "radial", probes, least, growth, cap, posterior_scale)
    return [PosteriorDraft(problem, problem.placement("plain"), options, probes * least, mechanism, noise)]


def _epsilon(problem: Problem, noise: ProbeNoise) -> float:
    """The epsilon at which Laplace noise would be as large as the noise that there is."""
    return math.sqrt(2) * problem.width / noise.deviation


def _least(problem: Problem, noise: ProbeNoise, probes: int, *, linear: bool) -> int:
    if noise.noise is not None:
        least = max(_LEAST / _epsilon(problem, noise), 1.0 if linear else 4.0)
    elif isinstance(problem.privacy, LocalDP):
        least = loss_deviation(problem) ** 2 / (_COARSE * problem.width) ** 2 / (1 if linear else 16)
    else:
        least = _LINEAR_LEAST_FREE if linear else _CONVEX_LEAST_FREE
    return max(1, round(min(least, problem.horizon / (10 * probes))))


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    settings = ModelSettings(
        horizon=plan.horizon,
        width=problem.width,
        middle=problem.middle,
        noise=plan.noise_deviation(problem.loss_range),
        heavy=plan.noise is not None and plan.noise.family == "laplace",
        variances=_variances(problem, plan.model),
        probes=plan.probes,
        least=plan.least_events,
        growth=plan.round_growth,
        cap=plan.round_cap,
        posterior_scale=plan.posterior_scale,
        segments=0 if problem.segments is None else 1,
    )
    squares = 0 if isinstance(problem.privacy, LocalDP) else plan.grids(problem.loss_range)[0].steps
    domain, earlier = problem.domain, None
    if problem.prior is not None:
        earlier = problem.prior.as_tried(problem.middle, problem.names)
    if plan.model == "radial":
        _check_same_names(problem)
        return PosteriorProbes(placement, RadialBelief(domain, settings, earlier=earlier), squares)
    oracle, n, rows, names = domain.extreme_point, domain.dimension, problem.feature_rows, problem.known_names
    belief = LinearBelief(oracle, n, settings, features=rows, earlier=earlier, known_names=names)
    return PosteriorProbes(placement, belief, squares)


def _check_same_names(problem: Problem) -> None:
    """Refuse a prior of other coordinates, where losses are curved: nothing says what they are without one of these."""
    if problem.prior is None or problem.prior.names is None or problem.domain.labels is None:
        return
    mine, its = as_stored(problem.domain.labels) or (), problem.prior.names
    for name in sorted({*mine} ^ {*its}, key=str):
        whose = "it has" if name in its else "the domain has"
        raise ValueError(
            f"prior is about other things: {whose} a coordinate {name!r}, and the other has none. Where losses are "
            "convex, a prior must be about the same things; with losses='linear' or integral=True it need not be"
        )


def _variances(problem: Problem, model: str) -> tuple[float, float, float]:
    """Least, first and largest variance of one loss at one decision; of one report, where losses are privatised."""
    most = loss_deviation(problem) ** 2
    if isinstance(problem.privacy, LocalDP):
        return most / 2, most, most
    return (most / 1000, most / 2, most) if model == "linear" else (most / 256, most / 4, most)


POSTERIOR = ExplorationKind(
    gives="numbers",
    options=PosteriorOptions,
    choices={
        "probes": lambda problem, value: whole("probes", value, least=2, most=problem.horizon),
        "least_events": lambda problem, value: whole("least_events", value, most=problem.horizon),
        "posterior_scale": lambda problem, value: number("posterior_scale", value, above=0, at_most=2),
    },
    drafts=_drafts,
    build=_build,
    unasked="auto",
    serves=lambda problem: problem.play == "inside",
    why_not="it plays decisions of the set, and play='around' leaves it",
)
