"""Shariff & Sheffet: LinUCB on a private tree.

What is released: after every round but the last, the running sum of (loss times features) of all rounds so far, from a
binary tree whose every node has noise (privacy/mechanisms/tree.py, where the proof stands). All else, the matrix V and
the lengths of rounds included, is public or follows from released sums.

Tests: tests/lab/baselines/test_private_lin_ucb.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._sums import Weighted
from sottovoce.domains import Domain
from sottovoce.lab.baselines._linear import Features, optimistic
from sottovoce.lab.baselines._phases import OwnPlan, own_plan
from sottovoce.lab.baselines._vertices import few_vertices
from sottovoce.lab.baselines.planned import PrivatelyPlanned, Stateless
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.estimates import ReleasedRound, RunningTotal
from sottovoce.oco.noisy_oco import NoisyOCO
from sottovoce.plans.draft import ProbeNoise
from sottovoce.plans.explorer import Draw, Exploration, Record
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.plans.sensitivity import finest
from sottovoce.plans.sphere import SphereOptions
from sottovoce.privacy import TREE, DirectionGrid, LossGrid, Noise


@dataclass(frozen=True, eq=False)
class UnitFeatures(Features):
    """Features of length 1 at most, as many as the set has coordinates: (x - origin)/longest.

    The origin is 0 where the affine hull misses it: there every affine function is linear. Otherwise it is the set's
    centre, where the loss is then taken to be the middle of its range.

    Examples
    --------
    >>> import sottovoce as sv
    >>> UnitFeatures.of(sv.domains.Simplex(3))(np.eye(3)[:1]), UnitFeatures.of(sv.domains.Ball(2)).level
    (array([[1., 0., 0.]]), inf)
    """

    origin: Floats
    longest: float
    level: float  # distance of the affine hull from the origin; infinite if the centre is the origin
    off: float  # distance of the centre from the hull's point that is nearest to the origin

    @classmethod
    def of(cls, domain: Domain) -> "UnitFeatures":
        """Return the features of a set."""
        along = domain.tangent(domain.center)
        level, off = float(np.linalg.norm(domain.center - along)), float(np.linalg.norm(along))
        if level < 1e-6 * domain.outer_radius:
            return cls(domain, domain.center, domain.outer_radius, math.inf, 0.0)
        return cls(domain, np.zeros(domain.dimension), math.hypot(level, off + domain.outer_radius), level, off)

    def __call__(self, actions: Floats) -> Floats:
        """Return the features of actions, one a row."""
        return np.asarray((actions - self.origin) / self.longest)

    @property
    def size(self) -> int:
        """Their number."""
        return self.domain.dimension

    def cost(self, theta: Floats) -> Floats:
        """Return the cost whose cheapest vertex is that of a parameter."""
        return np.asarray(theta / self.longest)

    def largest_parameter(self, slope: float, half: float) -> float:
        """Bound the length of the parameter of a loss with this Lipschitz constant, within `half` of the middle (S)."""
        constant = 0.0 if math.isinf(self.level) else (half + slope * self.off) / self.level
        return self.longest * math.hypot(slope, constant)


@dataclass(frozen=True)
class ConfidencePlan:
    """What the confidence ellipsoid needs, all of it public and known before the first event.

    Attributes
    ----------
    bits, noise, rounds
        Of the integer grids; of a coordinate of a node; how many rounds the tree has room for, a power of 2.
    ridge
        rho: lambda, shifted up to what the noise needs.
    length
        gamma: no released sum's noise is longer, in all rounds together with probability 1 - 1/(2T).
    largest
        S.
    deviation
        B/2.
    horizon, dimension
        T, and that of the features' span.
    """

    bits: int
    noise: Noise
    rounds: int
    ridge: float
    length: float
    largest: float
    deviation: float
    horizon: int
    dimension: int

    @property
    def most_growth(self) -> float:
        """Largest log det(V/rho) there can be."""
        return self.dimension * math.log1p(self.horizon / (self.ridge * self.dimension))

    @property
    def most_rounds(self) -> int:
        """Return how many rounds there can be if each, but for the last, doubles det V."""
        return math.floor(self.most_growth / math.log(2)) + 1

    def width(self, growth: float) -> float:
        """Return the width of the ellipsoid, with `growth` = log det(V/rho)."""
        root = math.sqrt(self.ridge)
        own = self.deviation * math.sqrt(2 * math.log(2 * self.horizon) + growth)
        return own + root * self.largest + self.length / root

    @property
    def bound(self) -> float:
        """Bound on the expected regret."""
        events = math.sqrt(2 * self.horizon * self.most_growth)
        return 2 * math.sqrt(2) * self.width(self.most_growth) * events + 2 * self.deviation


def confidence(problem: Problem, features: UnitFeatures) -> ConfidencePlan:
    """Return the smallest tree that is large enough for the rounds that its own noise leads to."""
    largest = features.largest_parameter(problem.lipschitz_in(problem.placement("plain")), problem.width / 2)
    plans = (_with_levels(problem, features, largest, levels) for levels in range(1, 40))
    return next(plan for plan in plans if plan.most_rounds <= plan.rounds)


def _with_levels(problem: Problem, features: UnitFeatures, largest: float, levels: int) -> ConfidencePlan:
    size, rounds = features.size, 2**levels
    bits, noise = finest(problem, TREE, rounds=rounds, dimension=size)
    assert noise is not None
    scale = noise.scale * LossGrid(*problem.loss_range, bits=bits).step * DirectionGrid(bits=bits).step
    length = scale * _length_of_noise(noise.family, size, levels, rounds * problem.horizon)
    deviation = problem.width / 2
    return ConfidencePlan(
        bits=bits,
        noise=noise,
        rounds=rounds,
        ridge=max(length / largest, (deviation / largest) ** 2),
        length=length,
        largest=largest,
        deviation=deviation,
        horizon=problem.horizon,
        dimension=min(size, problem.domain.affine_dimension + 1),
    )


def _length_of_noise(family: str, size: int, levels: int, trials: int) -> float:
    """Bound the length of `size` sums of `levels` noises of scale 1, but for a probability of 1/(2 trials).

    Gaussian: the length is a function with Lipschitz constant 1 of normal variables, so it exceeds its mean by t with
    probability at most exp(-t^2/2). Laplace: Chernoff's bound in each coordinate, as in phased_elimination.py.
    """
    if family == "gaussian":
        return math.sqrt(levels) * (math.sqrt(size) + math.sqrt(2 * math.log(2 * trials)))
    logarithm = math.log(4 * size * trials)
    return math.sqrt(size) * math.sqrt(8 * logarithm) * max(math.sqrt(levels), math.sqrt(logarithm))


class PrivateLinUCB(PrivatelyPlanned):
    """Private LinUCB (Shariff & Sheffet), for linear losses: confidence ellipsoids around what a private tree releases.

    With features phi of length 1 at most and V = rho I + sum of phi phi^T, a tree releases u = sum of phi (f - middle)
    plus noise h of length at most gamma. Then theta = V^-1 u has ||theta - truth||_V at most (B/2) sqrt(2 log(2T) +
    log det(V/rho)) + sqrt(rho) S + gamma/sqrt(rho), at all times, with probability 1 - 1/T; rho = gamma/S balances the
    last two. The vertex whose loss could be least is played until det V has doubled (see `LinUCB`, also for how that
    vertex is found). Regret grows as d sqrt(T) log T (1 + sqrt(gamma)), with gamma of order sqrt(d) log(T)/epsilon
    for Gaussian noise: on short runs the ellipsoid is wider than the losses' range, and nothing is learned.

    Source: "Differentially private contextual linear bandits" (NeurIPS 2018): LinUCB with a regulariser that is shifted
    for noise, and the tree. Verified against its abstract. The form of the ellipsoid (their changing perturbations) is
    from memory; rho, gamma and the bound are derived here, as above, and tested in simulation.

    Privacy: as `privacy` says, Laplace noise for PureDP, Gaussian for ApproxDP (theirs) and ZCDP. Replacing one loss
    moves one round's integer vector by at most B |phi|, and a round is in log2(rounds) nodes of the tree
    (privacy/mechanisms/tree.py).

    Differences: contexts are private there, and V has noise, too; here an action is public, so V is exact, which helps
    this comparison. Theirs updates after every event, on a tree over all of them; here only when det V has doubled, at
    most d log2(1 + T/(rho d)) times: the tree is over these rounds, lower, and has less noise.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`. Losses must be linear in the action; on sets whose affine hull holds the origin (balls,
        boxes), the loss at the centre should be the middle of the range.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.PrivateLinUCB(
    ...     sv.domains.Simplex(3), horizon=10**6, loss_range=(0.0, 1.0), privacy=sv.ApproxDP(1.0, 1e-6), seed=1
    ... )
    >>> learner.plan.mechanism, learner.plan.rounds
    ('tree', 64)
    """

    name: ClassVar[str] = "private-linucb"
    linear_only: ClassVar[bool] = True

    def _planned(self, problem: Problem) -> Plan:
        self._features = UnitFeatures.of(problem.domain)
        self._confidence = confidence(problem, self._features)
        return _plan(problem, self._confidence)

    def _exchange(self, epoch: Epoch) -> None:
        assert isinstance(epoch.learner, NoisyOCO)
        total = epoch.learner.total
        assert isinstance(total, RunningTotal)
        explorer = Hopeful(self._features, self._confidence, self._problem.middle)
        explorer.learner = NoisyOCO(
            self.domain,
            gradient=explorer.count,
            step=1.0,
            point_map=explorer.choose,
            total=total.read_by(explorer.gradient),
        )
        epoch.exchange(explorer, explorer.learner)


def _plan(problem: Problem, found: ConfidencePlan) -> OwnPlan:
    free = replace(found, length=0.0, ridge=(found.deviation / found.largest) ** 2)
    step = LossGrid(*problem.loss_range, bits=found.bits).step * DirectionGrid(bits=found.bits).step
    noise = ProbeNoise(found.bits, found.noise, found.noise.scale * step, found.noise.standard_deviation * step)
    return own_plan(
        problem,
        TREE,
        noise,
        bounds=(found.bound, free.bound),
        name=PrivateLinUCB.name,
        batch_size=1,
        options=SphereOptions(radius=problem.domain.inner_radius / 2),  # to the planner: rounds that are vectors
        source="Shariff & Sheffet 2018",
        order="d sqrt(T) log(T) (1 + (d^(1/4)/sqrt(epsilon)))",
        parameters={"rounds": f"at most {found.most_rounds}", "ridge": found.ridge, "gamma": found.length},
        released=found.rounds,
        notes=problem.cautions(problem.placement("plain")),
    )


class _Counted(NamedTuple):
    """The rounds whose sums were taken in: the sum of phi phi^T, events, their number."""

    gram: Floats
    events: int
    rounds: int


class Hopeful(Stateless):
    """Plays the most hopeful vertex, as many events as double det V; what it knows beside released sums is public."""

    learner: NoisyOCO

    def __init__(self, features: UnitFeatures, confidence: ConfidencePlan, middle: float) -> None:
        self._features, self._plan, self._middle = features, confidence, middle
        self._grid, self._vertices = DirectionGrid(bits=confidence.bits), few_vertices(features.domain)
        self._counted = _Counted(np.zeros((features.size, features.size)), 0, 0)
        self._open: dict[int, VertexRound] = {}  # begun and not taken in, by the events before each

    def gradient(self, sums: Floats, weights: Floats) -> Floats:
        """Return u, the sum of phi (f - middle) of all rounds so far, noise included."""
        return np.asarray(self._grid.step * (sums - self._middle * weights))

    def count(self, round_: ReleasedRound, point: Floats | None) -> ReleasedRound:
        """Take note of a round whose sum is about to be learned."""
        taken, so_far = round_.exploration, self._counted
        assert isinstance(taken, VertexRound)
        self._counted = _Counted(so_far.gram + taken.gram, so_far.events + taken.size, so_far.rounds + 1)
        return round_

    def choose(self, dual: Floats) -> Floats:
        """Return the most hopeful vertex; the dual vector is -u."""
        plan = self._plan
        gram = self._counted.gram + plan.ridge * np.eye(len(dual))
        width = plan.width(float(np.linalg.slogdet(gram / plan.ridge)[1]))
        coins = np.random.default_rng(self._counted.events)  # which everybody can toss again
        return optimistic(self._features, self._vertices, gram, -dual, width, coins)[0]

    def _before(self, passed: int) -> Iterator["VertexRound"]:
        """Yield the rounds that are begun, and not taken in, before the one after `passed` events."""
        return (one for start, one in self._open.items() if self._counted.events <= start < passed)

    def round_size(self, passed: int) -> int:
        """Return the events that double det V, all rounds before counted, whether their losses are in or not."""
        waiting = list(self._before(passed))
        if self._counted.rounds + len(waiting) >= self._plan.rounds - 1:
            return self._plan.horizon  # cannot be, unless by rounding: the tree has room for no more
        gram = self._counted.gram + self._plan.ridge * np.eye(self._features.size)
        gram = gram + sum((one.gram for one in waiting), np.zeros_like(gram))
        row = self._grid.step * self._rounded(self.learner.point())
        return max(1, math.ceil(1 / float(row @ np.linalg.solve(gram, row))))

    def _rounded(self, vertex: Floats) -> Integers:
        return np.asarray(self._grid.quantise(self._features(vertex[None]))[0])

    def begin(self, point: Floats, passed: int, size: int, coins: np.random.Generator) -> "VertexRound":
        """Begin a round at a vertex."""
        begun = VertexRound(self, point, self._rounded(point), self._grid.step, size)
        kept = {start: one for start, one in self._open.items() if self._counted.events <= start < passed}
        self._open = kept | {passed: begun}
        return begun

    def knowledge(self) -> _Counted:
        """Return what was counted."""
        return self._counted

    def go_back(self, knowledge: _Counted) -> None:
        """Know no more than what `knowledge` returned."""
        self._counted = knowledge


class VertexRound(Exploration):
    """One vertex for all events of a round."""

    def __init__(self, explorer: Hopeful, vertex: Floats, row: Integers, step: float, size: int) -> None:
        self._explorer, self._vertex, self._row = explorer, vertex, row
        self.numbers, self.size = len(row), size
        self.gram: Floats = size * step**2 * np.outer(row, row).astype(np.float64)

    def draw(self, coins: np.random.Generator, start: int, size: int) -> Draw:
        """Return events."""
        return Draw(np.tile(self._vertex, (size, 1)), None, Weighted(np.tile(self._row, (size, 1))))

    def estimate(self, sums: Floats, weights: Floats) -> Floats:
        """Return the round's own part of u."""
        return self._explorer.gradient(sums, weights)

    def record(self) -> Record:
        """Return nothing: baselines save no state."""
        return {}
