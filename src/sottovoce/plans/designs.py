"""Designs: linear losses are learned from a few events that play well-chosen probes; the rest play the point itself.

A design is a distribution over probes v with mean c and covariance S of full rank. A round draws one probe; one event
in every `stride`, at a place drawn by public coins, plays it, and only these events report a loss. Their number is
exact, so nothing is divided by a random zero. All other events play the round's point. From the sum of the reported
losses, released, and their count y, which is public,

    theta^ = theta' + S^+ (v - c) (sum/y - b - <theta', v - c>)

is unbiased for the mean loss vector on the direction space, for every b and theta' that the round's coins do not know:
E[S^+ (v - c)(v - c)^T] is the projection on the direction space, and E[v - c] = 0. b and theta' (a control variate)
come from earlier releases, by regularised least squares; the better they are, the less the choice of the probe
matters. The estimate of the round's total loss is its size times theta^.

No inner radius is needed: probes may be vertices. In the rounded position a D-optimal design has S = I and c = 0.

Bound (an order of magnitude, not a guarantee: plans put B/4 for G, and B/2 for what an exploring event costs):
sqrt(2) R_w sqrt(T * energy) + rate T B, with energy (d/rate) (V + y G^2 + s^2/y) per event, y the events of a probe, G
the spread of the mean loss over the design, s^2 the variance of a number's noise, and R_w = sqrt(worst leverage) the
radius in rounded position. A step multiplied by c costs (c + 1/c)/2 on the first term.

Tests: tests/plans/test_designs.py.
"""

import math
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number, whole
from sottovoce._sums import Probed
from sottovoce.domains import Rounded
from sottovoce.plans.draft import OBLIVIOUS, ProbeDraft, bet, loss_deviation, probe_noise_of
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record
from sottovoce.plans.kind import Chosen, ExplorationKind, step_multiplier
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Mechanism


@dataclass(frozen=True)
class DesignOptions(Options, exploration="designs"):
    """What is a design's own in a plan.

    Attributes
    ----------
    rate, probe_events
        Share of events that explore, averaged over the horizon (gamma), and events of a probe (y).
    decay
        The power of time by which the share falls; 1/3 suits what is stationary.
    """

    rate: float
    probe_events: int
    decay: float = 0.0

    rests_on = OBLIVIOUS

    def words(self) -> str:
        """How such a plan explores."""
        law = f", falling as t^-{self.decay:.2g}" if self.decay else ""
        return f"{100 * self.rate:.3g}% of events{law}, {self.probe_events} for each probe; only these report"


class LinearModel:
    """Ridge regression of a round's mean loss on the place of its probe: b and theta', from released values alone.

    Parameters
    ----------
    dimension
        Of the working set.
    spread
        Typical spread of the mean loss over the design (G): the prior on theta.
    """

    def __init__(self, dimension: int, spread: float) -> None:
        self.theta, self.level, self._spread = np.zeros(dimension), 0.0, spread
        self.inverse = np.empty((0, 0))  # of the information matrix of (theta, level); none before the first probe

    def predict(self, offset: Floats) -> float:
        """Mean loss that the model expects of a probe."""
        return float(self.level + self.theta @ offset)

    def learn(self, offset: Floats, mean: float, variance: float, leverage: float, level: float) -> None:
        """Take in the released mean loss of a probe, with the variance that it has beyond the model."""
        row = np.append(offset, 1.0)
        if not self.inverse.size:
            # Prior: <theta, offset> has spread G over the design, the level is the middle of the range give or take G.
            scale = self._spread**2 / max(leverage, 1e-12)
            self.inverse = np.diag(np.append(np.full(len(offset), scale), self._spread**2))
            self.level = level
        pulled = self.inverse @ row
        gain = pulled / (variance + float(row @ pulled))
        surprise = mean - self.predict(offset)
        self.theta = self.theta + gain[:-1] * surprise
        self.level += float(gain[-1] * surprise)
        self.inverse = self.inverse - np.outer(gain, pulled)

    def memory(self) -> Record:
        """Return what was learned, as one value: arrays are replaced, never changed."""
        return {"theta": self.theta, "level": self.level, "inverse": self.inverse}

    knowledge = memory

    def remember(self, memory: Record) -> None:
        """Know what `memory` returned, and no more."""
        self.theta, self.level = np.array(memory["theta"]), float(memory["level"])
        self.inverse = np.array(memory["inverse"])

    go_back = remember


@dataclass(eq=False)
class Designs(Explorer):
    """Rounds that explore with one probe each: a vertex of the D-optimal design, which in rounded position has S = I.

    Parameters
    ----------
    placement
        Where the play takes place: in rounded position.
    options, horizon
        How much is explored when, over so many events.
    middle
        The middle of the loss range: what is believed before anything is known.
    spread
        Typical spread of the mean loss over the design (G).
    noise
        Standard deviation that one release carries beyond the losses' own, in units of loss (0 without privacy).
    loss_variance
        Variance of a loss within a probe (V), for the weights of the model.

    Examples
    --------
    >>> import sottovoce as sv
    >>> domain = sv.domains.Hypersimplex(6, 2)
    >>> placement = Placement(domain, sv.domains.Rounded(domain), integral=True)
    >>> designs = Designs(placement, DesignOptions(0.25, 5), 1000, middle=0.5, spread=0.2)
    >>> coins = np.random.default_rng(0)
    >>> exploration = designs.begin(placement.working.center, 0, designs.round_size(0), coins)
    >>> draw = exploration.draw(coins, 0, 20)
    >>> int(draw.wants_loss.sum()), draw.actions.sum(axis=1).tolist() == [2.0] * 20
    (5, True)
    """

    placement: Placement
    options: DesignOptions
    horizon: int
    middle: float
    spread: float
    noise: float = 0.0
    loss_variance: float = 0.0

    def __post_init__(self) -> None:
        self.model = LinearModel(self.placement.working.dimension, number("spread", self.spread, above=0))

    def stride(self, passed: int) -> int:
        """One in how many events explores in the round that begins after `passed` events."""
        rate, decay = self.options.rate, self.options.decay
        share = (passed + 0.5 * self.options.probe_events / rate + 1) / self.horizon  # about the middle of the round
        return max(1, round(1 / (min(0.5, (1 - decay) * rate * share**-decay) if decay else rate)))

    def round_size(self, passed: int) -> int:
        """Exploring events times the stride."""
        return self.options.probe_events * self.stride(passed)

    def choose(self, passed: int, size: int, coins: np.random.Generator) -> Record:
        """Draw the round's probe, and where it is played."""
        stride, events = self.stride(passed), self.options.probe_events
        places = np.arange(events) * stride + coins.integers(0, stride, size=events)
        return {"action": self.draw_probe(coins), "places": places[places < size], "size": size}

    @property
    def _rounded(self) -> Rounded:
        assert self.placement.rounded is not None
        return self.placement.rounded

    def draw_probe(self, coins: np.random.Generator) -> Floats:
        """Draw a vertex of the design."""
        design, domain = self._rounded.design, self.placement.domain
        if design.by_formula:
            return np.asarray(domain.extreme_point(coins.standard_normal(domain.dimension)))
        return np.asarray(design.vertices[coins.choice(len(design.weights), p=design.weights)])

    def can_draw(self, probe: Floats) -> bool:
        """Whether a probe is a vertex of the design."""
        design, domain = self._rounded.design, self.placement.domain
        if design.by_formula:
            return bool(np.allclose(domain.extreme_point(design.mean - probe), probe))
        return bool((design.vertices == probe).all(axis=1).any())

    def resume(self, point: Floats, record: Record) -> "DesignExploration":
        """Return the round that `record` was taken of."""
        return DesignExploration(self, point, record)

    @property
    def learns(self) -> LinearModel:
        """The control variate."""
        return self.model

    def learn(self, probe: Floats, mean: float | None, count: float, size: int) -> Floats:
        """Return the gradient of the total loss of `size` events, and let the model know for the rounds to come.

        `mean` is what was released of the `count` events that played the `probe`; None if there are none.
        """
        model, offset = self.model, np.asarray(self._rounded.from_original(probe))  # from the mean, whitened
        expected = model.predict(offset) if model.inverse.size else self.middle
        theta = offset * (0.0 if mean is None else mean - expected) + model.theta
        if mean is not None:
            variance = max(self.loss_variance / count + (self.noise / count) ** 2, 1e-12)
            model.learn(offset, mean, variance, float(offset @ offset), self.middle)
        return np.asarray(size * theta)


class DesignExploration(Exploration):
    """One round with one probe."""

    numbers = 1

    def __init__(self, designs: Designs, point: Floats, record: Record) -> None:
        super().__init__(designs, point, record)
        self._size, self._probe = int(record["size"]), np.asarray(record["action"])
        self._places = np.asarray(record["places"], dtype=np.int64)

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events: the probe at its places, the point (or vertices with that mean) elsewhere, unread."""
        first, last = np.searchsorted(self._places, [start, start + size])
        exploring = np.zeros(size, dtype=bool)
        exploring[self._places[first:last] - start] = True
        others = size - int(exploring.sum())
        actions = np.empty((size, self._explorer.placement.domain.dimension))
        actions[exploring] = self._probe
        if others:
            mean = self._point[None, :]
            actions[~exploring] = self._explorer.placement.play(mean, np.zeros(others, dtype=np.int64), coins)
        return Draw(actions, exploring, Probed(1, np.zeros(size, dtype=np.int64), exploring.astype(np.int64)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the size of the round times theta^."""
        count = float(weights[0])  # none, if all people who played the probe had given all their losses
        mean = float(sums[0] / count) if count else None
        return np.asarray(self._explorer.learn(self._probe, mean, count, self._size))

    def is_possible(self) -> bool:
        """Whether the probe is of the design, and its places are in order."""
        places = self._places
        ordered = bool((np.diff(places) > 0).all() and (places >= 0).all() and (places < self._size).all())
        return ordered and self._explorer.can_draw(self._probe)

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """All losses count with a plus, and the weights say how many there are."""
        return np.zeros(self.numbers, dtype=np.int64), weights


_LEAST_PROBE, _PROBE_PER_NOISE, _RATE = 4, 10.0, 0.25


def energy(dimension: int, options: DesignOptions, *, deviation: float, spread: float, noise: float) -> float:
    """Return the expected squared norm of the estimate, per event.

    Parameters
    ----------
    dimension, options
        d, and how much is explored.
    deviation, spread, noise
        Of a loss within a probe (the root of V), of mean losses over the design (G), of a number's noise (s).
    """
    events = options.probe_events
    return dimension / options.rate * (deviation**2 + events * spread**2 + noise**2 / events)


class DesignDraft(ProbeDraft):
    """A plan that explores by designs, before noise and bound follow."""

    def bound_at(self, deviation: float) -> float:
        """Return the bound for noise of a deviation: every round is released on its own, and the step adapts."""
        problem, options, working = self.problem, self.options, self.placement.working
        reach, parts = self.placement.reach_from_start, {"spread": problem.width / 4, "noise": deviation}
        own = energy(working.affine_dimension, options, deviation=loss_deviation(problem), **parts)
        walk = bet(self.step_multiplier) * reach * math.sqrt(2 * problem.horizon * own)
        return float(walk + problem.horizon * problem.width / 2 * (options.rate + 1e-3 * working.diameter / reach))


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> list[DesignDraft]:
    """The one candidate: events of a probe and share of exploring events by formula.

    Both come from balancing the terms of the bound, at losses of typical variance B^2/16 and a gap of B/4 between the
    best point and the mean: with noise of variance s^2 in a number, a probe gets so many events that s^2/y is of the
    order of what the losses vary by themselves, and the rate is of the order of (d^2 energy/(T gap^2))^(1/3). The
    constants were chosen by simulation: a control variate and an adaptive step leave less to explore than the bound,
    which knows of neither, would ask for.
    """
    placement = problem.placement("rounded")
    noise = probe_noise_of(problem, mechanism)
    events = chosen.get("probe_events") or max(_LEAST_PROBE, round(_PROBE_PER_NOISE * noise.deviation / problem.width))
    own = loss_deviation(problem) ** 2 / 4 + noise.deviation**2 / events
    gap = problem.width / 4
    share = _RATE * (placement.working.affine_dimension**2 * own / (problem.horizon * gap**2)) ** (1 / 3)
    share = chosen.get("rate") or min(0.25, max(share, events / problem.horizon))
    options = DesignOptions(share, min(events, problem.horizon), decay=1 / 3)
    batch = options.probe_events * max(1, round(1 / options.rate))  # so that its probe has its share of them
    return [DesignDraft(problem, placement, options, batch, mechanism, noise, step_multiplier=3.0)]


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    options = plan.options
    assert isinstance(options, DesignOptions)
    spread, noise = problem.width / 4, plan.noise_deviation(problem.loss_range)
    return Designs(placement, options, plan.horizon, problem.middle, spread, noise, loss_variance=spread**2)


DESIGNS = ExplorationKind(
    gives="numbers",
    options=DesignOptions,
    choices={
        "rate": lambda problem, value: number("rate", value, above=0, at_most=1),
        "probe_events": lambda problem, value: whole("probe_events", value, most=problem.horizon),
        "decay": lambda problem, value: number("decay", value, above=-1e-12, at_most=0.9),
        "step_multiplier": step_multiplier,
    },
    drafts=_drafts,
    build=_build,
    losses=("linear",),
    why_not="probes say nothing about the point otherwise",
    bounded=True,
    unasked="worst-case",
    preferred=True,  # the method for linear losses, whose worst case is of another kind
)
