"""Azize & Basu: AdaP-UCB, for arms."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.lab.baselines._phases import Belief, Phase, PhasedAlgorithm, PrivatelyPhased
from sottovoce.lab.baselines._vertices import vertices_of
from sottovoce.plans.problem import Problem

ALPHA = 3.1  # of the index; the theorem needs more than 3


class _Arms(NamedTuple):
    """What is known of each arm: its newest noisy mean, how many pulls that is of, and its pulls in all."""

    means: Floats
    newest: Integers
    pulls: Integers
    arm: int  # that is played now; -1: every one once


@dataclass(frozen=True, eq=False)
class DoublingUCB(PhasedAlgorithm):
    """The most hopeful arm is played as often as it was before; its mean is then that of these pulls alone.

    An arm's index is mean - B sqrt(alpha log(t)/(2n)) - b alpha log(t)/n, with n the pulls of its newest phase, b the
    scale of a sum's Laplace noise, and t the events that were played; the least is the most hopeful.

    Parameters
    ----------
    arms
        One a row.
    width
        B.
    scale
        Of the Laplace noise of a sum, in units of loss.
    """

    arms: Floats
    width: float
    scale: float

    def start(self) -> Belief:
        """Play every arm once."""
        once = np.ones(len(self.arms), dtype=np.int64)
        return Belief(Phase(self.arms, once), _Arms(np.zeros(len(once)), once, once, -1))

    def learn(self, belief: Belief, sums: Floats) -> Belief:
        """Forget what the arm's mean was before; choose the next arm."""
        known: _Arms = belief.known
        if known.arm < 0:
            known = known._replace(means=sums)
        else:
            here = np.arange(len(self.arms)) == known.arm
            count = int(known.pulls[known.arm])
            known = known._replace(
                means=np.where(here, sums / count, known.means),
                newest=np.where(here, count, known.newest),
                pulls=np.where(here, 2 * known.pulls, known.pulls),
            )
        arm = int(np.argmin(self.index(known)))
        phase = Phase(self.arms[arm : arm + 1], known.pulls[arm : arm + 1])
        return Belief(phase, known._replace(arm=arm))

    def index(self, known: _Arms) -> Floats:
        """Return the index of every arm."""
        grown = ALPHA * math.log(int(known.pulls.sum()) + 1)
        optimism = self.width * np.sqrt(grown / (2 * known.newest)) + self.scale * grown / known.newest
        return np.asarray(known.means - optimism)

    @property
    def parameters(self) -> Mapping[str, object]:
        """What the plan says."""
        return {"arms": len(self.arms), "alpha": ALPHA}

    def bound(self, horizon: int) -> float:
        """Bound the expected regret for every sequence of independent losses.

        An arm of gap D that is chosen has, unless an index errs, 2 B sqrt(alpha log(T)/(2n)) + 2 b alpha log(T)/n >= D,
        so n is at most the larger of 8 alpha log(T) (B/D)^2 and 4 b alpha log(T)/D, and its pulls in all at most 4n
        once it is played. Gaps below D cost T D at most; the best D gives the first two terms. Errors: at a choice
        after t events each of at most 1 + log2(t) means of an arm errs with probability 1.5 t^-alpha to either side,
        and the phase that follows has at most t events.
        """
        grown, arms = ALPHA * math.log(max(2, horizon)), len(self.arms)
        times = np.arange(1, min(horizon, 100_000) + 1)
        errors = 3 * float(((1 + np.log2(times)) * times ** (1 - ALPHA)).sum())
        worst = 2 * self.width * math.sqrt(32 * grown * arms * horizon) + 16 * grown * arms * self.scale
        return worst + self.width * arms * (errors + 1)


class AdaPUCB(PrivatelyPhased):
    """AdaP-UCB (Azize & Basu): upper confidence bounds in phases that double, each arm's mean from its newest one.

    For arms: `Simplex`, whose corners they are, and any other set with at most 1,000 vertices, each of which is then an
    arm that nothing is known of but its own losses. See `DoublingUCB` for the index. Regret grows as
    sum over arms of (log T)/min(gap, epsilon), and for the worst gaps as sqrt(K T log T) + K (log T)/epsilon.

    Source: "When privacy meets partial information: a refined analysis of differentially private bandits" (NeurIPS
    2022). From memory: phases that double, forgetting, the index and its alpha above 3 (3.1 is what they run it with).
    Their constant is not used; `DoublingUCB.bound` derives one.

    Privacy: pure. A loss is in the sum of one phase, and each sum has Laplace noise of scale B/epsilon: forgetting is
    what makes one noise enough.

    Differences: losses in place of rewards, so the least index is chosen; sums are integers, and their noise is
    discrete; the first pulls of all arms are one phase.

    Parameters
    ----------
    domain, horizon, loss_range, privacy, lipschitz, seed, noise
        As for `PrivateBandit`; `privacy` must be `PureDP`, and the Lipschitz constant plays no part.

    Examples
    --------
    >>> import sottovoce as sv
    >>> learner = sv.lab.baselines.AdaPUCB(
    ...     sv.domains.Simplex(3), horizon=1_000, loss_range=(0.0, 1.0), privacy=sv.PureDP(epsilon=1.0), seed=1
    ... )
    >>> learner.ask_round().x.sum(axis=0)
    array([1., 1., 1.])
    """

    name: ClassVar[str] = "adap-ucb"
    source: ClassVar[str] = "Azize & Basu 2022"
    order: ClassVar[str] = "sqrt(K T log T) + K log(T)/epsilon"

    def _algorithm_for(self, problem: Problem, scale: float) -> DoublingUCB:
        return DoublingUCB(vertices_of(problem.domain, self.name), problem.width, scale)
