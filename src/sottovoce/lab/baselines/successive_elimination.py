"""Sajed & Sheffet: private successive elimination, for arms."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.lab.baselines._phases import Belief, Phase, PhasedAlgorithm, PrivatelyPhased
from sottovoce.lab.baselines._vertices import vertices_of
from sottovoce.plans.problem import Problem


@dataclass(frozen=True, eq=False)
class Elimination(PhasedAlgorithm):
    """Epochs of equally many pulls of every arm that may be the best; what is clearly worse leaves.

    In epoch e, with S the arms left, b the scale of a sum's Laplace noise, and losses in units of their range,

        D = 2^-e, R = max(32 log(8|S|e^2/beta)/D^2, 8 b log(4|S|e^2/beta)/D) + 1 pulls of every arm of S
        h = sqrt(log(8|S|e^2/beta)/(2R)), c = b log(4|S|e^2/beta)/R
        an arm leaves if its noisy mean is above the least by more than 2h + 2c

    Parameters
    ----------
    arms
        One a row.
    horizon
        T; beta = 1/T.
    width
        B.
    scale
        Of the Laplace noise of a sum, in units of loss.
    """

    arms: Floats
    horizon: int
    width: float
    scale: float

    def epoch(self, number: int, active: int) -> tuple[int, float]:
        """Return the pulls of each arm (R) in epoch `number`, and the distance 2h + 2c at which an arm leaves."""
        of_means = math.log(8 * active * number**2 * self.horizon)
        of_noise = math.log(4 * active * number**2 * self.horizon) * self.scale / self.width
        pulls = math.ceil(max(32 * of_means * 4.0**number, 8 * of_noise * 2.0**number)) + 1
        return pulls, 2 * self.width * (math.sqrt(of_means / (2 * pulls)) + of_noise / pulls)

    def start(self) -> Belief:
        """Begin with all arms."""
        return self._belief(1, np.arange(len(self.arms)))

    def learn(self, belief: Belief, sums: Floats) -> Belief:
        """Drop the arms that are clearly worse."""
        number, active = belief.known
        pulls, distance = self.epoch(number, len(active))
        means = sums / pulls
        return self._belief(number + 1, active[means - means.min() <= distance])

    def _belief(self, number: int, active: Integers) -> Belief:
        if len(active) == 1:  # for all that is left, unread
            return Belief(Phase(self.arms[active], np.array([self.horizon]), reads=False), (number, active))
        pulls = min(self.epoch(number, len(active))[0], self.horizon)  # more than that is cut anyway
        return Belief(Phase(self.arms[active], np.full(len(active), pulls)), (number, active))

    @property
    def parameters(self) -> Mapping[str, object]:
        """What the plan says."""
        return {"arms": len(self.arms), "first": f"{int(self.start().phase.counts[0]):,} pulls of each arm"}

    def bound(self, horizon: int) -> float:
        """Bound the expected regret for every sequence of independent losses.

        With probability 1 - beta no estimate errs by more than h + c, at most D/4, so that the best arm stays and an
        arm that outlives epoch e is worse by less than 2^-e. While all |S| = K arms are left, the clock runs slowest
        and most events play other arms than the best: a share (K - 1)/K, at a cost of at most 2^(1-e) each.
        """
        arms, left, cost, number = len(self.arms), horizon, 0.0, 1
        while left:
            events = min(left, arms * self.epoch(number, arms)[0])
            cost += events * (arms - 1) / arms * 2.0 ** (1 - number)
            left, number = left - events, number + 1
        return self.width * (cost + 1)


class SuccessiveElimination(PrivatelyPhased):
    """Private successive elimination (Sajed & Sheffet): arms that are clearly worse leave, after epochs of fresh sums.

    For arms: `Simplex`, whose corners they are, and any other set with at most 1,000 vertices, each of which is then an
    arm that nothing is known of but its own losses. See `Elimination` for the epochs. Regret grows as
    sum over arms of (log T)/gap, plus K (log T)/epsilon, and for the worst gaps as sqrt(K T log T) + K (log T)/epsilon.

    Source: "An optimal private stochastic-MAB algorithm based on optimal private stopping rule" (ICML 2019). Verified:
    the order of the regret against papers that quote it. The constants 32, 8, 8 and 4 are from memory; that they do
    what they must is `Elimination.bound`: Hoeffding's inequality at h fails with probability beta/(4|S|e^2) for an arm,
    the noise exceeds c with the same probability, and over arms and epochs that adds up to less than beta.

    Privacy: pure. A loss is in the sum of one arm in one epoch (they forget an epoch's pulls when the next begins), and
    each sum has Laplace noise of scale B/epsilon.

    Differences: losses in place of rewards; they pull arms in turn, here the order within an epoch is random; sums are
    integers, and their noise is discrete; when one arm is left, nothing more is read.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`; `privacy` must be `PureDP`, and the Lipschitz constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.SuccessiveElimination(
    ...     sv.domains.Simplex(3), horizon=100_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> pulls = learner.ask_round().x.sum(axis=0)  # of the first epoch: as many of every arm
    >>> bool(pulls[0] == pulls[1] == pulls[2] > 1_000)
    True
    """

    name: ClassVar[str] = "successive-elimination"
    source: ClassVar[str] = "Sajed & Sheffet 2019"
    order: ClassVar[str] = "sqrt(K T log T) + K log(T)/epsilon"

    def _algorithm_for(self, problem: Problem, scale: float) -> Elimination:
        return Elimination(vertices_of(problem.domain, self.name), problem.horizon, problem.width, scale)
