"""Posterior probes: all events play decisions that may be the best, drawn from what was released.

There is no bound against an adversary. What is given in its place is an order of magnitude: for losses drawn from the
prior, Thompson sampling over k dimensions has a regret of at most sqrt(k H T/2) B (Russo and Van Roy 2016), H the
entropy of the best decision, for which plans put k; the noise of privacy adds to the variance of a number, and until
rounds of the least length have seen every dimension, nothing is known.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce._checks import number, whole
from sottovoce.exploration import Explorer, Stage
from sottovoce.exploration.posterior import LinearBelief, PosteriorProbes, RadialBelief, Settings
from sottovoce.learning.explorations import kind
from sottovoce.learning.explorations._common import loss_deviation
from sottovoce.learning.explorations._probe_noise import ProbeNoise, probe_noise_of
from sottovoce.learning.explorations.kind import Chosen, ExplorationKind
from sottovoce.learning.planning.plan import Options, Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import PROBE_SUMS, LocalDP, Mechanism, mechanism_for
from sottovoce.privacy.local import LaplaceChannel

__all__ = ["POSTERIOR", "PosteriorDraft", "PosteriorOptions"]

_LINEAR_PROBES, _CONVEX_PROBES = 12, 8
_SHORT, _FEWER_PROBES = 5000.0, 6  # events times epsilon below which a round has fewer probes
_LINEAR_LEAST, _CONVEX_LEAST = 32.0, 4.0  # events of a probe, at first, over epsilon
_LINEAR_LEAST_FREE, _CONVEX_LEAST_FREE = 24, 4  # and without noise
_COARSE = 1 / 16  # deviation of a number of privatised reports that is good enough at first, in B
_FULL_TEMPER, _FULL_CONVEX_TEMPER = 50.0, 10.0  # dimensions up to which posterior samples are taken as they are


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
    temper
        What deviations of a posterior sample are multiplied by.
    sentinel
        Whether one probe of every fourth round is drawn from a short memory, whatever the evidence says.
    """

    model: str
    probes: int
    least_events: int
    round_growth: float
    round_cap: float
    temper: float = 1.0
    sentinel: bool = False
    order_only: ClassVar[bool] = True
    steps: ClassVar[bool] = False

    @property
    def begins_with(self) -> tuple[str, ...]:
        """Which of `features`, `prior` and `segments` such a plan can make use of."""
        return ("features", "prior", "segments") if self.model == "linear" else ("prior", "segments")

    @property
    def rests_on(self) -> str:
        """What has to be true for it to do well."""
        convex = "convex (least well if piecewise linear in 30 dimensions or more)"
        shape = "linear in the decision" if self.model == "linear" else convex
        return f"mean losses that are {shape}, and stay, drift slowly, or change now and then; no bound if they do not"

    def words(self) -> str:
        """How such a plan explores."""
        guard = "; a sentinel looks out for silent changes" if self.sentinel else ""
        return (
            f"{self.probes} decisions a round that may be the best, by a {self.model} model of what was released{guard}"
        )

    def pace(self, horizon: int, batch_size: int) -> str:
        """How long rounds are."""
        longest = max(batch_size, round(self.round_cap * horizon))
        upto = f" to {longest:,}" if longest > batch_size else ""
        return f"of {batch_size:,}{upto} events ({horizon:,} in all)"


@dataclass(frozen=True)
class PosteriorDraft:
    """Free choices of a plan, before noise and the order of the regret follow from them."""

    problem: Problem
    model: str
    probes: int
    least_events: int
    round_growth: float
    round_cap: float
    temper: float
    sentinel: bool = False
    mechanism: Mechanism = PROBE_SUMS

    def finish(self) -> Plan:
        """Derive noise and order."""
        problem, noise = self.problem, probe_noise_of(self.problem, self.mechanism)
        return Plan(
            name="auto",
            mechanism=mechanism_for(problem.privacy, self.mechanism).name,
            position="plain",
            horizon=problem.horizon,
            batch_size=min(problem.horizon, self.probes * self.least_events),
            options=PosteriorOptions(
                self.model,
                self.probes,
                self.least_events,
                self.round_growth,
                self.round_cap,
                self.temper,
                self.sentinel,
            ),
            step=None,
            delay=0,
            method="auto",
            gap=0.0,
            max_calls=0,
            baseline=problem.middle,
            bits=noise.bits,
            noise=noise.noise,
            noise_in_loss_units=noise.in_loss_units,
            bound=self._order(noise.deviation),
            bound_without_privacy=self._order(0.0),
            no_learning=problem.horizon * problem.width,
        )

    def _order(self, deviation: float) -> float:
        problem = self.problem
        dimensions = min(problem.domain.rough_dimension, problem.effective_dimension)
        events = max(self.least_events, self.round_cap * problem.horizon / self.probes)
        variance = _largest_variance(problem) + deviation**2 / events
        first = dimensions * self.least_events if deviation else dimensions
        return dimensions * math.sqrt(2 * variance * problem.horizon) + first * problem.width / 2


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> Iterator[Iterator[PosteriorDraft]]:
    yield iter([_draft(problem, mechanism, chosen)])


def _draft(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> PosteriorDraft:
    """The one candidate: all by formula, with constants that were chosen by simulation."""
    noise = probe_noise_of(problem, mechanism)
    linear = _is_linear(problem)
    probes = chosen.get("probes") or _probes(problem, noise, linear=linear)
    least = chosen.get("least_events") or _least(problem, noise, probes, linear=linear)
    # How much of a number's variance is noise, in rounds of a fiftieth of the horizon: larger sums pay where it is.
    share = 0.0
    if noise.noise is not None:
        share = 1 / (1 + problem.horizon * _epsilon(problem, noise) ** 2 / (1600 * probes))
    if linear:
        # Of all coordinates, features or not: what each has beside its features is explored, too.
        temper = min(1.0, (_FULL_TEMPER / problem.domain.dimension) ** (1 / 3))
        cap = 0.01 + 0.01 * share  # shorter rounds notice a change sooner
        return PosteriorDraft(problem, "linear", probes, least, 0.1, cap, temper, mechanism=mechanism)
    growth, cap, temper = 0.08 + 0.2 * share, 0.02 + 0.04 * share, 1 - 0.3 * share
    temper *= min(1.0, (_FULL_CONVEX_TEMPER / problem.domain.rough_dimension) ** (1 / 4))
    return PosteriorDraft(problem, "radial", probes, least, growth, cap, temper, mechanism=mechanism)


def _is_linear(problem: Problem) -> bool:
    return problem.losses == "linear" or problem.integral


def _epsilon(problem: Problem, noise: ProbeNoise) -> float:
    """The epsilon at which Laplace noise would be as large as the noise that there is."""
    return math.sqrt(2) * problem.width / noise.deviation


def _probes(problem: Problem, noise: ProbeNoise, *, linear: bool) -> int:
    if not linear:
        return _CONVEX_PROBES
    short = noise.noise is not None and problem.horizon * _epsilon(problem, noise) < _SHORT
    return _FEWER_PROBES if short else _LINEAR_PROBES


def _least(problem: Problem, noise: ProbeNoise, probes: int, *, linear: bool) -> int:
    if noise.noise is not None:
        least = (_LINEAR_LEAST if linear else _CONVEX_LEAST) / _epsilon(problem, noise)
        least = max(least, 1.0 if linear else 4.0)
    elif isinstance(problem.privacy, LocalDP):
        least = _largest_variance(problem) / (_COARSE * problem.width) ** 2 / (1 if linear else 16)
    else:
        least = _LINEAR_LEAST_FREE if linear else _CONVEX_LEAST_FREE
    return max(1, round(min(least, problem.horizon / (10 * probes))))


def _build(problem: Problem, plan: Plan, stage: Stage) -> Explorer:
    options = plan.options
    assert isinstance(options, PosteriorOptions)
    noise = 0.0
    if plan.noise is not None:
        noise = plan.noise.standard_deviation * plan.grids(problem.loss_range)[0].step
    settings = Settings(
        horizon=plan.horizon,
        width=problem.width,
        middle=problem.middle,
        noise=noise,
        heavy=plan.noise is not None and plan.noise.family == "laplace",
        variances=_variances(problem, options.model),
        probes=options.probes,
        least=options.least_events,
        growth=options.round_growth,
        cap=options.round_cap,
        temper=options.temper,
        sentinel=options.sentinel,
        segments=0 if problem.segments is None else 1,
    )
    domain, earlier = problem.domain, None
    if problem.prior is not None:
        earlier = problem.prior.as_history(problem.middle)
    if options.model == "radial":
        return PosteriorProbes(stage, RadialBelief(domain, settings, earlier=earlier))
    features = None if problem.features is None else problem.features.rows
    believable = None if domain.oracle_costs == "any" else domain.believable
    belief = LinearBelief(
        domain.extreme_point, domain.dimension, settings, features=features, believable=believable, earlier=earlier
    )
    return PosteriorProbes(stage, belief)


def _variances(problem: Problem, model: str) -> tuple[float, float, float]:
    """Least, first and largest variance of one loss at one decision; of one report, where losses are privatised."""
    most = _largest_variance(problem)
    if isinstance(problem.privacy, LocalDP):
        return most / 2, most, most
    return (most / 100, most / 2, most) if model == "linear" else (most / 256, most / 4, most)


def _largest_variance(problem: Problem) -> float:
    """The largest variance of one loss; of one report, where losses are privatised, which is known."""
    if not isinstance(problem.privacy, LocalDP):
        return (problem.width / 2) ** 2
    channel = problem.channel_of_owners
    if isinstance(channel, LaplaceChannel):
        return (problem.width / 2) ** 2 + (channel.noise.standard_deviation * channel.grid.step) ** 2
    return loss_deviation(problem) ** 2


def _temper(problem: Problem, value: Any) -> float:
    return number("temper", value, above=0, at_most=2)


POSTERIOR = ExplorationKind(
    gives="numbers",
    options=PosteriorOptions,
    choices={
        "probes": lambda problem, value: whole("probes", value, least=2, most=problem.horizon),
        "least_events": lambda problem, value: whole("least_events", value, most=problem.horizon),
        "temper": _temper,
        "sentinel": kind.flag,
    },
    drafts=_drafts,
    build=_build,
    bounded=False,
    any_costs=lambda problem: not _is_linear(problem),
    serves=lambda problem: problem.play == "inside",
    why_not="it plays decisions of the set, and play='around' leaves it",
)
