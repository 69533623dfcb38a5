"""NoisyOCO: the paper's framework (its Algorithm 2), in its own right.

    x_t = point_map(-step * s_{t-1})          NoisyMap: approximately the gradient of the mirror map's conjugate
    g_t = gradient(f_t, x_t)                  NoisyGrad: an estimate of the gradient of f_t at x_t
    s_t = total.add(g_t)                      the running sum, exact or private

The paper has s_t = s_t + g_t, which is s_{t-1} + g_t, and counts the noise of a private sum as an error of NoisyMap;
here the sum is a part of its own, so that it can keep private values as integers until their noise is added. With
kappa^2 >= E||g||^2 and gamma >= E||error of the point||, the regret is at most
D^2/step + step*T*kappa^2/2 + T*kappa*gamma (Lemma 4.1), D^2 the largest value of the mirror map, so the best step is
sqrt(2) D/(kappa sqrt(T)).

Tests: tests/oco/test_noisy_oco.py.
"""

import copy
import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce._checks import choice, number, vector, whole
from sottovoce.domains import Domain
from sottovoce.oco.mirror_maps import Euclidean, MirrorMap
from sottovoce.oco.steps import ConstantStep, StepRule
from sottovoce.projection import Projection, Quadratic, conditional_gradient, project

Vector = NDArray[np.float64]
METHODS = ("auto", "conditional-gradient", "open-loop")


class Total(Protocol):
    """A running sum of what `gradient` returns.

    One that can be put back to an earlier state, as `NoisyOCO.go_back` does, holds all of it in `value`.
    """

    def start(self) -> Vector:
        """Return the sum before any data."""

    def add(self, increment: Any) -> Vector:
        """Take in an increment, all or nothing; return the released sum."""


class RunningSum:
    """The plain running sum of float vectors.

    Parameters
    ----------
    dimension
        Of the vectors.

    Examples
    --------
    >>> total = RunningSum(2)
    >>> total.add(np.ones(2)), total.add(np.ones(2))
    (array([1., 1.]), array([2., 2.]))
    """

    def __init__(self, dimension: int) -> None:
        self.value = np.zeros(whole("dimension", dimension))

    def start(self) -> Vector:
        """Return the sum before any data."""
        return self.value

    def add(self, increment: Any) -> Vector:
        """Take in an increment; return the sum.

        Parameters
        ----------
        increment
            A vector.
        """
        self.value = self.value + vector("gradient", increment, len(self.value))
        return self.value


class MirrorStep:
    """NoisyMap by linear oracle: argmin over the set of divergence(x, center) - <dual, x>, to a certified gap.

    Parameters
    ----------
    domain
        The feasible set.
    mirror
        The mirror map; Euclidean by default.
    center
        Where dual = 0 leads; the domain's centre by default.
    method
        "auto": for the Euclidean map the domain's own formula if it has one (`Domain.nearest`), otherwise Wolfe's
        minimum-norm point; for others, conditional gradient with exact line search. "conditional-gradient" and
        "open-loop" (the paper's 2/(k+2)) can be named. Every call starts from the last one's result, open-loop
        excepted, whose first step forgets it.
    gap
        Stop at this Frank-Wolfe gap: a certificate, since ||x - x*||^2 <= gap. A millionth of the squared diameter by
        default.
    max_calls
        Oracle calls per point, at most.

    Examples
    --------
    >>> import sottovoce as sv
    >>> step = MirrorStep(sv.domains.Hypersimplex(3, 1))
    >>> step(np.array([3.0, 0.0, 0.0])).round(2) + 0.0, step.calls > 0
    (array([1., 0., 0.]), True)
    """

    def __init__(
        self,
        domain: Domain,
        mirror: MirrorMap | None = None,
        *,
        center: Vector | None = None,
        method: str = "auto",
        gap: float | None = None,
        max_calls: int = 10_000,
    ) -> None:
        self.domain = domain
        self.mirror = Euclidean() if mirror is None else mirror
        self.center = np.asarray(domain.center if center is None else vector("center", center, domain.dimension))
        self.method = choice("method", method, METHODS)
        self.gap = 1e-6 * domain.diameter**2 if gap is None else number("gap", gap, above=0)
        self.max_calls = whole("max_calls", max_calls)
        self.calls = 0
        self._last: Projection | None = None

    def __call__(self, dual: Vector) -> Vector:
        """Return the point of a dual vector."""
        if not dual.any():
            return self.center
        if self.method == "auto" and isinstance(self.mirror, Euclidean):
            exact = self.domain.nearest(self.center + dual)
            if exact is not None:
                return exact
        result = self._solve(dual)
        self.calls += result.calls
        self._last = result
        return result.point

    def _solve(self, dual: Vector) -> Projection:
        objective = self.mirror.objective(self.center, dual)
        if self.method == "auto" and isinstance(objective, Quadratic):
            return project(self.domain, objective.target, warm=self._last, gap=self.gap, max_calls=self.max_calls)
        start = self.center if self._last is None else self._last.point
        rule = "open-loop" if self.method == "open-loop" else "line-search"
        return conditional_gradient(
            self.domain.extreme_point, objective, start, gap=self.gap, max_calls=self.max_calls, rule=rule
        )

    @property
    def error(self) -> float:
        """Certified distance of the last point to the exact one, in the mirror map's norm."""
        return 0.0 if self._last is None else self.mirror.gap_to_distance(self._last.gap, self.domain)

    @property
    def reached_gap(self) -> float:
        """The gap of the last step: larger than `gap` if it ran out of oracle calls; 0 before the first."""
        return 0.0 if self._last is None else self._last.gap


class Knowledge(NamedTuple):
    """All that a learner has learned, as one value."""

    observed: int
    released_sum: Vector
    duals: tuple[Vector, ...]
    energy: float
    total: Any


class NoisyOCO:
    """Online convex optimisation with noisy gradients and noisy points.

    Parameters
    ----------
    domain
        The feasible set.
    gradient
        gradient(feedback, point): an estimate of the loss's gradient at the point; `feedback` is whatever `observe` is
        given. For a private total it returns what that total adds up.
    step
        The step size (eta), see `step_for`; or a rule such as `AdaptiveStep`, which follows the released gradients.
    point_map
        From a dual vector to a point; `MirrorStep(domain)` by default.
    total
        The running sum; a plain one by default.
    delay
        How many sums the point lags behind: 0, or 1 as in Algorithm 1, which solves for the next point while the
        present round is played.

    Examples
    --------
    >>> import sottovoce as sv
    >>> target = np.array([0.6, 0.0])
    >>> learner = NoisyOCO(sv.domains.Ball(2), gradient=lambda goal, x: x - goal, step=0.2)
    >>> for _ in range(60):
    ...     learner.observe(target)
    >>> learner.point().round(2) + 0.0
    array([0.6, 0. ])
    """

    def __init__(
        self,
        domain: Domain,
        *,
        gradient: Callable[[Any, Vector], Any],
        step: float | StepRule,
        point_map: Callable[[Vector], Vector] | None = None,
        total: Total | None = None,
        delay: int = 0,
    ) -> None:
        self.domain = domain
        self.gradient = gradient
        self.step: StepRule = ConstantStep(step) if isinstance(step, int | float) else step
        self.point_map = MirrorStep(domain) if point_map is None else point_map
        self.total: Total = RunningSum(domain.dimension) if total is None else total
        self.delay = whole("delay", delay, least=0)
        self.observed = 0
        self.released_sum = self.total.start()
        start = self.released_sum
        self._duals: deque[Vector] = deque([-self.step.after(start) * start], maxlen=self.delay + 1)
        self._solved: tuple[int, Vector] | None = None

    def point(self, round_number: int | None = None) -> Vector:
        """Return the point of a round (from 0; the next one by default): the newest whose sum is `delay` rounds old.

        A round that begins before earlier ones were observed plays the newest point there is.

        Parameters
        ----------
        round_number
            Which round, from 0; None for the next one.
        """
        round_number = self.observed if round_number is None else round_number
        index = max(0, min(self.observed, round_number - self.delay))
        if self._solved is None or self._solved[0] != index:
            # _duals ends with that of sum number `observed`
            self._solved = index, self.point_map(self._duals[index - self.observed - 1])
        return self._solved[1]

    def newest_point(self) -> Vector:
        """Return the point after all that was observed, whatever the delay; nothing here changes by it."""
        if self._solved is not None and self._solved[0] == self.observed:
            return self._solved[1]
        return copy.copy(self.point_map)(self._duals[-1])  # a copy: an iteration's next start is part of its state

    @property
    def iterate(self) -> Vector:
        """What the point after all that was observed follows from: its dual vector."""
        return self._duals[-1]

    @property
    def center(self) -> Vector:
        """Where its point map leads without any gradient, if that says so."""
        return np.asarray(getattr(self.point_map, "center", np.empty(0)))

    def begin_at(self, center: Vector) -> None:
        """Begin elsewhere; for point maps that have a centre.

        Parameters
        ----------
        center
            Where no gradient leads.
        """
        if len(center):
            self.point_map.center = center  # type: ignore[attr-defined]

    def observe(self, feedback: Any, point: Vector | None = None) -> None:
        """Take in the next round's feedback; `point` is what that round played (the current point by default).

        Parameters
        ----------
        feedback
            What `gradient` of this optimizer takes.
        point
            What the round played; None for the current point.
        """
        played = self.point() if point is None else point
        released = self.total.add(self.gradient(feedback, played))
        step = self.step.after(released - self.released_sum)
        self.released_sum = released
        self._duals.append(-step * released)
        self.observed += 1

    def skip(self) -> None:
        """Pass over a round whose feedback is lost: the points stay where they are."""
        self._duals.append(self._duals[-1])
        self.observed += 1

    def knowledge(self) -> Knowledge:
        """Return what was learned, as one value: arrays are replaced, never changed. `go_back` undoes `observe`.

        For totals that hold nothing but their `value`, or are handed what is released already.
        """
        total = getattr(self.total, "value", None)
        return Knowledge(self.observed, self.released_sum, tuple(self._duals), self.step.energy, total)

    def go_back(self, knowledge: Knowledge) -> None:
        """Know no more than what `knowledge` returned."""
        self.observed, self.released_sum, duals, self.step.energy, total = knowledge
        self._duals = deque(duals, maxlen=self.delay + 1)
        if total is not None:
            self.total.value = total  # type: ignore[attr-defined]

    def state(self) -> dict[str, Any]:
        """Return what the next points depend on: released sums, and the steps that follow from them.

        Where points come from an iteration that starts at the last one, a restored learner's may differ from the
        original's by the certified error of the map.
        """
        index, point = (-1, np.empty(0)) if self._solved is None else self._solved
        return {
            "observed": self.observed,
            "sum": self.released_sum,
            "duals": np.array(self._duals),
            "energy": self.step.energy,
            "solved": index,
            "point": point,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` returned; for learners whose total is a plain sum."""
        if not isinstance(self.total, RunningSum):
            raise TypeError(f"{type(self.total).__name__} keeps secrets that no state holds: it cannot be restored")
        total, duals = np.array(state["sum"]), tuple(np.array(state["duals"]))
        self.go_back(Knowledge(int(state["observed"]), total, duals, float(state["energy"]), total))
        self._solved = None if state["solved"] < 0 else (int(state["solved"]), np.array(state["point"]))

    def run(self, losses: Iterable[Any]) -> Vector:
        """Play a sequence of losses; return the points played, one row each.

        Parameters
        ----------
        losses
            The feedback of each round, in order.
        """
        played = []
        for loss in losses:
            played.append(self.point())
            self.observe(loss)
        return np.array(played).reshape(len(played), self.domain.dimension)


def step_for(largest_divergence: float, gradient_norm: float, rounds: int) -> float:
    """Return sqrt(2) D/(kappa sqrt(T)), which minimises the bound of Lemma 4.1 (the paper's two values disagree).

    Parameters
    ----------
    largest_divergence
        D^2, the largest divergence of the mirror map over the set.
    gradient_norm
        kappa, the root mean square of the gradient estimate's norm.
    rounds
        T.

    Examples
    --------
    >>> step_for(0.5, 1.0, 100)
    0.1
    """
    return math.sqrt(2 * largest_divergence) / (gradient_norm * math.sqrt(rounds))
