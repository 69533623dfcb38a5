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
from typing import Any, Self

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import number, whole
from sottovoce._sums import Probed
from sottovoce.plans import kind
from sottovoce.plans.draft import OBLIVIOUS, ProbeDraft, bet, loss_deviation, probe_noise_of
from sottovoce.plans.explorer import Draw, Exploration, Explorer, Record
from sottovoce.plans.kind import Chosen, ExplorationKind
from sottovoce.plans.placement import Placement
from sottovoce.plans.plan import Options, Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import Mechanism


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """What the exploring events of a round play: `action`, and where it lies from the design's mean, whitened."""

    action: Floats
    offset: Floats  # v - c in working coordinates
    weight: Floats  # S^+ (v - c)


@dataclass(frozen=True, eq=False)
class VertexProbes:
    """The D-optimal design over vertices of a `placement`'s rounded set: S = I and c = 0 in its coordinates."""

    placement: Placement

    def draw(self, coins: np.random.Generator) -> Probe:
        """Draw a vertex of the design."""
        assert self.placement.rounded is not None
        design = self.placement.rounded.design
        if design.by_formula:
            vertex = np.asarray(
                self.placement.domain.extreme_point(coins.standard_normal(self.placement.domain.dimension))
            )
        else:
            vertex = design.vertices[coins.choice(len(design.weights), p=design.weights)]
        offset = self.placement.rounded.from_original(vertex)
        return Probe(vertex, offset, offset)

    def can_draw(self, probe: Probe) -> bool:
        """Whether a probe is a vertex of the design, in either coordinates."""
        assert self.placement.rounded is not None
        design, domain = self.placement.rounded.design, self.placement.domain
        if design.by_formula:
            known = bool(np.allclose(domain.extreme_point(design.mean - probe.action), probe.action))
        else:
            known = bool((design.vertices == probe.action).all(axis=1).any())
        offset = self.placement.rounded.from_original(probe.action)
        return known and np.allclose(probe.offset, offset) and np.allclose(probe.weight, offset)


@dataclass(frozen=True, eq=False)
class BallProbes:
    """Points of the largest known ball inside a `placement`'s set: S = r^2/d on the direction space. For round sets."""

    placement: Placement

    def draw(self, coins: np.random.Generator) -> Probe:
        """Draw a point by public `coins`, uniform on the sphere of the inner radius around the centre."""
        domain = self.placement.working
        direction = domain.tangent(coins.standard_normal(domain.dimension))
        offset = np.asarray(direction * (domain.inner_radius / np.linalg.norm(direction)))
        action = self.placement.original(domain.center + offset)
        return Probe(action, offset, offset * (domain.affine_dimension / domain.inner_radius**2))

    def can_draw(self, probe: Probe) -> bool:
        """Whether a `probe` lies on the sphere of the inner radius, in either coordinates."""
        domain, offset = self.placement.working, probe.offset
        known = math.isclose(float(np.linalg.norm(offset)), domain.inner_radius, rel_tol=1e-6)
        weight = offset * (domain.affine_dimension / domain.inner_radius**2)
        at_home = np.allclose(probe.action, self.placement.original(domain.center + offset))
        return known and at_home and np.allclose(probe.weight, weight)


@dataclass(frozen=True)
class Schedule:
    """How much is explored when.

    Parameters
    ----------
    rate
        Share of events that explore, averaged over the horizon (gamma).
    horizon
        Over which `rate` is an average.
    probe_events
        y, the exploring events of a round.
    decay
        The rate falls as t^-decay; 0 keeps it, 1/3 suits what is stationary.

    Examples
    --------
    >>> schedule = Schedule(rate=0.1, horizon=10_000, probe_events=5)
    >>> schedule.round_of(0), schedule.round_of(9_000)
    ((5, 10), (5, 10))
    """

    rate: float
    horizon: int
    probe_events: int
    decay: float = 0.0

    def __post_init__(self) -> None:
        number("rate", self.rate, above=0, at_most=1)
        whole("probe_events", self.probe_events)

    def round_of(self, passed: int) -> tuple[int, int]:
        """Return (exploring events, stride) of the round that begins after `passed` events."""
        share = (passed + 0.5 * self.probe_events / self.rate + 1) / self.horizon  # about the middle of the round
        rate = min(0.5, (1 - self.decay) * self.rate * share**-self.decay) if self.decay else self.rate
        return self.probe_events, max(1, round(1 / rate))


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
        self.theta = np.zeros(dimension)
        self.level = 0.0
        self._spread = spread
        self._inverse: Floats | None = None  # of the information matrix of (theta, level), whitened prior

    def predict(self, offset: Floats) -> float:
        """Mean loss that the model expects of a probe."""
        return float(self.level + self.theta @ offset)

    def learn(self, offset: Floats, mean: float, variance: float, leverage: float, level: float) -> None:
        """Take in the released mean loss of a probe, with the variance that it has beyond the model."""
        row = np.append(offset, 1.0)
        if self._inverse is None:
            # Prior: <theta, offset> has spread G over the design, the level is the middle of the range give or take G.
            scale = self._spread**2 / max(leverage, 1e-12)
            self._inverse = np.diag(np.append(np.full(len(offset), scale), self._spread**2))
            self.level = level
        pulled = self._inverse @ row
        gain = pulled / (variance + float(row @ pulled))
        surprise = mean - self.predict(offset)
        self.theta = self.theta + gain[:-1] * surprise
        self.level += float(gain[-1] * surprise)
        self._inverse = self._inverse - np.outer(gain, pulled)

    def knowledge(self) -> tuple[Floats, float, Floats | None]:
        """Return what was learned, as one value: arrays are replaced, never changed."""
        return self.theta, self.level, self._inverse

    def go_back(self, knowledge: tuple[Floats, float, Floats | None]) -> None:
        """Know no more than what `knowledge` returned."""
        self.theta, self.level, self._inverse = knowledge

    def memory(self) -> Record:
        """Return what was learned."""
        inverse = np.empty((0, 0)) if self._inverse is None else self._inverse
        return {"theta": self.theta, "level": self.level, "inverse": inverse}

    def remember(self, memory: Record) -> None:
        """Take over what `memory` returned."""
        self.theta, self.level = np.array(memory["theta"]), float(memory["level"])
        self._inverse = np.array(memory["inverse"]) if memory["inverse"].size else None


class Designs(Explorer):
    """Rounds that explore with one probe each.

    Parameters
    ----------
    placement
        Where the play takes place.
    probes
        The design.
    schedule
        How much is explored when.
    middle
        The middle of the loss range: what is believed before anything is known.
    spread
        Typical spread of the mean loss over the design (G).
    noise
        Standard deviation that one release carries beyond the losses' own, in units of loss (0 without privacy).
    loss_variance
        Variance of a loss within a probe (V), for the weights of the model.
    reuse
        Read the losses of exploiting events too, one number for each vertex that they play. They improve the control
        variate, and through it the estimate, which stays unbiased.

    Examples
    --------
    >>> import sottovoce as sv
    >>> domain = sv.domains.Hypersimplex(6, 2)
    >>> placement = Placement(domain, sv.domains.Rounded(domain), integral=True)
    >>> designs = Designs(placement, VertexProbes(placement), Schedule(0.25, 1000, 5), middle=0.5, spread=0.2)
    >>> coins = np.random.default_rng(0)
    >>> exploration = designs.begin(placement.working.center, 0, designs.round_size(0), coins)
    >>> draw = exploration.draw(coins, 0, 20)
    >>> int(draw.wants_loss.sum()), draw.actions.sum(axis=1).tolist() == [2.0] * 20
    (5, True)
    """

    def __init__(
        self,
        placement: Placement,
        probes: VertexProbes | BallProbes,
        schedule: Schedule,
        *,
        middle: float,
        spread: float,
        noise: float = 0.0,
        loss_variance: float = 0.0,
        reuse: bool = False,
    ) -> None:
        self.reuse = reuse
        self.placement, self.probes, self.schedule = placement, probes, schedule
        self.middle, self.noise, self.loss_variance = middle, noise, loss_variance
        self.model = LinearModel(placement.working.dimension, number("spread", spread, above=0))

    def round_size(self, passed: int) -> int:
        """Exploring events times the stride."""
        events, stride = self.schedule.round_of(passed)
        return events * stride

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "DesignExploration":
        """Draw the round's probe, and where it is played."""
        events, stride = self.schedule.round_of(passed)
        starts = np.arange(events) * stride
        places = starts + coins.integers(0, stride, size=events)
        probe, atoms = self.probes.draw(coins), self.atoms_of(point) if self.reuse else None
        return DesignExploration(self, point, size, probe, places[places < size], atoms)

    def resume(self, point: Floats, record: Record) -> "DesignExploration":
        """Return the round that `record` was taken of."""
        probe = Probe(*(np.asarray(record[part]) for part in ("action", "offset", "weight")))
        places = np.asarray(record["places"], dtype=np.int64)
        atoms = (np.asarray(record["atoms"]), np.asarray(record["shares"])) if "atoms" in record else None
        return DesignExploration(self, point, int(record["size"]), probe, places, atoms)

    @property
    def learns(self) -> LinearModel:
        """The control variate."""
        return self.model

    def atoms_of(self, point: Floats) -> tuple[Floats, Floats]:
        """Vertices and their shares with the `point` as mean; the point alone, if actions need not be vertices."""
        original = self.placement.original(point)
        if not self.placement.integral:
            return original[None, :], np.ones(1)
        return self.placement.domain.decompose(original)

    def learn_more(self, action: Floats, mean: float, count: float) -> None:
        """Let the model know the released `mean` loss, of `count` events, of an `action` played for its own sake."""
        offset = action if self.placement.rounded is None else self.placement.rounded.from_original(action)
        offset = np.asarray(offset - self.placement.working.center)
        self.model.learn(offset, mean, self._variance(count), float(offset @ offset), self.middle)

    def _variance(self, count: float) -> float:
        return max(self.loss_variance / count + (self.noise / count) ** 2, 1e-12)

    def learn(self, probe: Probe, mean: float | None, count: float, size: int) -> Floats:
        """Return the gradient of the total loss of `size` events, and let the model know for the rounds to come.

        `mean` is what was released of the `count` events that played the `probe`; None if there are none.
        """
        model = self.model
        expected = self.middle if model._inverse is None else model.predict(probe.offset)
        theta = probe.weight * (0.0 if mean is None else mean - expected) + model.theta
        if mean is not None:
            leverage = float(probe.offset @ probe.offset)
            model.learn(probe.offset, mean, self._variance(count), leverage, self.middle)
        return np.asarray(size * theta)


class DesignExploration(Exploration):
    """One round with one probe; under `reuse`, the vertices that exploiting events play have a number each, too."""

    def __init__(
        self,
        designs: Designs,
        point: Floats,
        size: int,
        probe: Probe,
        places: Integers,
        atoms: tuple[Floats, Floats] | None = None,
    ) -> None:
        self._designs, self._point, self._size, self._probe = designs, point, size, probe
        self._places = places
        self._atoms: Floats | None = None if atoms is None else atoms[0]
        self._shares: Floats | None = None if atoms is None else atoms[1]
        self.numbers = 1 if self._atoms is None else 1 + len(self._atoms)

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events: the probe at its places, the point (or vertices with that mean) elsewhere."""
        first, last = np.searchsorted(self._places, [start, start + size])
        exploring = np.zeros(size, dtype=bool)
        exploring[self._places[first:last] - start] = True
        others = size - int(exploring.sum())
        actions = np.empty((size, self._designs.placement.domain.dimension))
        actions[exploring] = self._probe.action
        index = np.zeros(size, dtype=np.int64)
        if self._atoms is not None:
            picked = coins.choice(len(self._atoms), p=self._shares, size=others)
            actions[~exploring] = self._atoms[picked]
            index[~exploring] = 1 + picked
            return Draw(actions, None, Probed(self.numbers, index, np.ones(size, dtype=np.int64)))
        if others:
            mean = self._point[None, :]
            actions[~exploring] = self._designs.placement.play(mean, np.zeros(others, dtype=np.int64), coins)
        return Draw(actions, exploring, Probed(1, index, exploring.astype(np.int64)))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the size of the round times theta^."""
        count = float(weights[0])  # none, if all people who played the probe had given all their losses
        gradient = self._designs.learn(self._probe, float(sums[0] / count) if count else None, count, self._size)
        if self._atoms is not None:
            for atom, total, count in zip(self._atoms, sums[1:], weights[1:], strict=True):
                if count:
                    self._designs.learn_more(atom, float(total / count), float(count))
        return gradient

    def record(self) -> Record:
        """Return the probe, its places, and the vertices that other events play."""
        probe = self._probe
        record: Record = {
            "action": probe.action,
            "offset": probe.offset,
            "weight": probe.weight,
            "places": self._places,
        }
        record["size"] = self._size
        if self._atoms is not None:
            record |= {"atoms": self._atoms, "shares": self._shares}
        return record

    def is_possible(self) -> bool:
        """Whether the probe is of the design, its places are in order, and the vertices have the point as mean."""
        places = self._places
        ordered = bool((np.diff(places) > 0).all() and (places >= 0).all() and (places < self._size).all())
        if not ordered or not self._designs.probes.can_draw(self._probe):
            return False
        if self._atoms is None or self._shares is None:
            return not self._designs.reuse
        mean, point = self._shares @ self._atoms, self._designs.placement.original(self._point)
        summed = math.isclose(float(self._shares.sum()), 1.0, abs_tol=1e-6) and bool((self._shares >= 0).all())
        return self._designs.reuse and summed and np.allclose(mean, point, atol=1e-4 * max(1.0, np.abs(point).max()))

    def counts(self, weights: Integers, size: int) -> tuple[Integers, Integers]:
        """All losses count with a plus, and the weights say how many there are."""
        return np.zeros(self.numbers, dtype=np.int64), weights


_ROUND_ENOUGH = 1.2  # outer over inner radius up to which the ball's own points explore as well as vertices would
_LEAST_PROBE, _PROBE_PER_NOISE, _RATE = 4, 10.0, 0.25


@dataclass(frozen=True)
class DesignOptions(Options, exploration="designs"):
    """What is a design's own in a plan.

    Attributes
    ----------
    rate, probe_events
        Share of events that explore, and events of a probe.
    decay
        How the share falls with time.
    reuse
        Whether the losses of events that do not explore are read as well.
    """

    rate: float
    probe_events: int
    decay: float = 0.0
    reuse: bool = False

    rests_on = OBLIVIOUS

    def words(self) -> str:
        """How such a plan explores."""
        reporting = "all report" if self.reuse else "only these report"
        law = f", falling as t^-{self.decay:.2g}" if self.decay else ""
        return f"{100 * self.rate:.3g}% of events{law}, {self.probe_events} for each probe; {reporting}"


@dataclass(frozen=True)
class DesignBound:
    """Designs, every round released on its own, adaptive step.

    Examples
    --------
    >>> bound = DesignBound(
    ...     events=10**6, rate=0.05, probe_events=10, dimension=16, outer_radius=4.0, loss_deviation=0.5, spread=0.5,
    ...     width=1.0, number_noise=0.0, step_multiplier=1.0, point_error=0.0,
    ... )
    >>> round(bound.value() / 10**6, 3)
    0.218
    """

    events: int
    rate: float
    probe_events: int
    dimension: int
    outer_radius: float
    loss_deviation: float
    spread: float
    width: float
    number_noise: float
    step_multiplier: float
    point_error: float

    @property
    def energy(self) -> float:
        """Expected squared norm of the estimate, per event."""
        y = self.probe_events
        inner = self.loss_deviation**2 + y * self.spread**2 + self.number_noise**2 / y
        return self.dimension / self.rate * inner

    def value(self) -> float:
        """The bound."""
        walk = bet(self.step_multiplier) * self.outer_radius * math.sqrt(2 * self.events * self.energy)
        return walk + self.events * self.width * (self.rate + self.point_error / self.outer_radius)


class DesignDraft(ProbeDraft):
    """A plan that explores by designs, before noise and bound follow."""

    @classmethod
    def of(cls, problem: Problem, placement: Placement, options: DesignOptions, **more: Any) -> Self:
        """Return the draft of options: a round is so many events that its probe has its share of them."""
        return cls(problem, placement, options, options.probe_events * max(1, round(1 / options.rate)), **more)

    def bound_at(self, deviation: float) -> float:
        """Return the bound for noise of a deviation."""
        problem, options = self.problem, self.options
        return DesignBound(
            events=problem.horizon,
            rate=options.rate,
            probe_events=options.probe_events,
            dimension=self.placement.working.affine_dimension,
            outer_radius=self.placement.reach_from_start,
            loss_deviation=loss_deviation(problem),
            spread=problem.width / 4,
            width=problem.width / 2,
            number_noise=deviation,
            step_multiplier=self.step_multiplier,
            point_error=1e-3 * self.placement.working.diameter,
        ).value()


def _drafts(problem: Problem, mechanism: Mechanism, chosen: Chosen) -> list[list[DesignDraft]]:
    """The one candidate: events of a probe and share of exploring events by formula.

    Both come from balancing the terms of the bound, at losses of typical variance B^2/16 and a gap of B/4 between the
    best point and the mean: with noise of variance s^2 in a number, a probe gets so many events that s^2/y is of the
    order of what the losses vary by themselves, and the rate is of the order of (d^2 energy/(T gap^2))^(1/3). The
    constants were chosen by simulation: a control variate and an adaptive step leave less to explore than the bound,
    which knows of neither, would ask for.
    """
    working = problem.domain
    ball = not problem.integral and working.outer_radius <= _ROUND_ENOUGH * working.inner_radius
    placement = problem.placement("plain" if ball else "rounded")
    noise = probe_noise_of(problem, mechanism).deviation
    events = chosen.get("probe_events") or max(_LEAST_PROBE, round(_PROBE_PER_NOISE * noise / problem.width))
    energy = loss_deviation(problem) ** 2 / 4 + noise**2 / events
    gap = problem.width / 4
    share = _RATE * (placement.working.affine_dimension**2 * energy / (problem.horizon * gap**2)) ** (1 / 3)
    share = chosen.get("rate") or min(0.25, max(share, events / problem.horizon))
    options = DesignOptions(share, min(events, problem.horizon), decay=1 / 3)
    return [[DesignDraft.of(problem, placement, options, mechanism=mechanism, step_multiplier=3.0)]]


def _build(problem: Problem, plan: Plan, placement: Placement) -> Explorer:
    options = plan.options
    assert isinstance(options, DesignOptions)
    probes = BallProbes(placement) if placement.rounded is None else VertexProbes(placement)
    schedule = Schedule(options.rate, plan.horizon, options.probe_events, options.decay)
    return Designs(
        placement,
        probes,
        schedule,
        middle=problem.middle,
        spread=problem.width / 4,
        noise=plan.noise_deviation(problem.loss_range),
        loss_variance=(problem.width / 4) ** 2,
        reuse=options.reuse,
    )


DESIGNS = ExplorationKind(
    gives="numbers",
    options=DesignOptions,
    choices={
        "rate": lambda problem, value: number("rate", value, above=0, at_most=1),
        "probe_events": lambda problem, value: whole("probe_events", value, most=problem.horizon),
        "decay": lambda problem, value: number("decay", value, above=-1e-12, at_most=0.9),
        "reuse": kind.flag,
        "step_multiplier": kind.step_multiplier,
    },
    drafts=_drafts,
    build=_build,
    losses=("linear",),
    why_not="probes say nothing about the point otherwise",
    bounded=True,
    unasked="worst-case",
    preferred=True,  # the method for linear losses, whose worst case is of another kind
)
