"""Play a learner that sees gradients against an environment, and keep the score as `simulate` does."""

from typing import Any, Protocol

import numpy as np

from sottovoce._arrays import Vector
from sottovoce.domains import Domain
from sottovoce.lab.simulation._playing import Progress, simulate
from sottovoce.lab.simulation.environment import Environment
from sottovoce.lab.simulation.finite import FiniteEnvironment
from sottovoce.lab.simulation.loss_library import Distances, Kinds, LinearLosses, LossLibrary
from sottovoce.lab.simulation.run import Run
from sottovoce.learning import Actions
from sottovoce.playing import BLOCK
from sottovoce.privacy import PrivacyStatement


class FullInformation(Protocol):
    """What `simulate_full_information` needs of a learner; `baselines.OnlineFrankWolfe` has it."""

    @property
    def domain(self) -> Domain:
        """Return the feasible set."""

    @property
    def point(self) -> Vector:
        """Return what to play next."""

    def observe(self, gradient: Vector) -> None:
        """Take in the gradient of the event's loss at the point."""

    @property
    def remaining(self) -> int | None:
        """Return how many events are left, or None if the horizon is unknown."""

    @property
    def round(self) -> int:
        """Return how many events were observed."""

    @property
    def privacy(self) -> PrivacyStatement:
        """Return what is promised about the gradients."""


def simulate_full_information(
    learner: FullInformation,
    environment: Environment,
    *,
    events: int | None = None,
    progress: Progress | None = None,
    record: int = 2000,
) -> Run:
    """Play `learner` against `environment`, tell it every event's exact gradient, and return the regret curve.

    Parameters
    ----------
    learner : OnlineFrankWolfe or alike
    environment : FiniteEnvironment
        On the same domain; its library of losses knows their gradients.
    events, progress, record
        As for `simulate`.

    Returns
    -------
    Run
        As from `simulate`, so that the two can be compared. Learners of this kind see much more than a bandit does.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(3))
    >>> learner = sv.lab.baselines.OnlineFrankWolfe(environment.domain, horizon=2_000, loss_range=(0.0, 2.0))
    >>> run = sv.lab.simulate_full_information(learner, environment)
    >>> run.final_regret < run.final_no_learning / 2
    True
    """
    if not isinstance(environment, FiniteEnvironment):
        raise TypeError(
            f"environment must be a FiniteEnvironment, whose library of losses knows gradients; got {environment!r}"
        )
    return simulate(_Shown(learner, environment), environment, events=events, progress=progress, record=record)


class _Shown:
    """A learner with gradients in the guise of one with losses: it looks the gradient of each event up."""

    def __init__(self, learner: Any, environment: FiniteEnvironment) -> None:
        self._learner, self._environment = learner, environment
        self._start = int(learner.round)  # events of the environment are counted from the first one of this run
        self._kinds: Kinds = np.empty(0, dtype=np.intp)
        self._wanted = np.ones(1, dtype=bool)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)  # domain, remaining, round, plan, privacy, seed, oracle_calls

    def ask_round(self, most: int | None = None) -> Actions:
        return Actions(np.array([self._learner.round]), self._learner.point[None, :], self._wanted)

    def tell(self, ids: Any, losses: Vector) -> None:
        passed = self._learner.round - self._start
        if not passed % BLOCK:
            self._kinds = self._environment.kinds(passed, BLOCK)
        kind = int(self._kinds[passed % BLOCK])
        self._learner.observe(_gradient(self._environment.library, kind, self._learner.point))


def _gradient(library: LossLibrary, kind: int, point: Vector) -> Vector:
    """Return a subgradient of one loss at a point; the libraries at hand need not go through all of theirs for it."""
    if isinstance(library, LinearLosses):
        return np.asarray(library.costs[kind])
    if isinstance(library, Distances):
        return Distances(library.targets[kind : kind + 1]).gradient(point, np.ones(1))
    weights = np.zeros(len(library))
    weights[kind] = 1.0
    return library.gradient(point, weights)
