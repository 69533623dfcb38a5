"""Follow a target in the unit ball: the setting, ours, that the paper's claims are measured on."""

from typing import Any, ClassVar, Self

from sottovoce._checks import choice, whole
from sottovoce.domains import Ball
from sottovoce.lab.problems.base import DecisionProblem
from sottovoce.lab.simulation.worlds import MovingTarget


class BallTracking(DecisionProblem):
    """Settings of a device, as a point in the unit ball; the loss is the distance to what a person would have wanted.

    The losses f(x) = ||x - target|| exist around the ball too, so that actions may be taken on a sphere around the
    point, as in the paper.

    Parameters
    ----------
    dimension : int
        Of the ball.
    drift, jitter : float
        How much of the target walks a loop, and how much jumps from person to person; the rest stays where it is.
    period : int
        Events for one walk around the loop.
    play : str
        "inside": every action is in the ball. "around", the paper's way: actions may leave it by a little.
    seed : int
        Fixes the targets.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = BallTracking(dimension=3)
    >>> optimizer = problem.optimizer(horizon=20_000, privacy=sv.PureDP(1.0), seed=1, noise=sv.SimulatedNoise(1))
    >>> run = sv.lab.simulate(optimizer, problem.environment)
    >>> bool(run.final_regret < run.final_no_learning)
    True
    """

    name: ClassVar[str] = "ball"
    title: ClassVar[str] = "Follow a target in the unit ball"
    story: ClassVar[str] = (
        "A device has a few continuous settings. Each person who uses it would have liked them a little different, and "
        "reports one number: how far off they were. What people want drifts slowly. The paper's theorem covers "
        "this setting, among others."
    )
    environment: MovingTarget

    def __init__(
        self,
        *,
        dimension: int = 10,
        drift: float = 0.1,
        jitter: float = 0.2,
        period: int = 10_000,
        play: str = "inside",
        seed: int = 0,
    ) -> None:
        ball = Ball([f"coordinate {i}" for i in range(1, whole("dimension", dimension) + 1)])
        self.environment = MovingTarget(ball, drift=drift, jitter=jitter, period=period, seed=seed)
        self.play = choice("play", play, ("around", "inside"))

    def settings(self) -> dict[str, Any]:
        """Return what `PrivateBandit` needs to know of the problem, privacy and horizon apart."""
        return {**super().settings(), "play": self.play}

    @classmethod
    def examples(cls) -> list[Self]:
        """Return a few small instances, on which the shared tests of all problems run."""
        return [cls(dimension=3), cls(dimension=2, drift=0.5, jitter=0.0, period=500, seed=1)]
