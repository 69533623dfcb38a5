"""The history of a study: what its rounds released, one after the other, and how often the world was seen to change.

A round's mean is that of the losses behind its released numbers: low + step * (sum of the numbers)/(sum of the
weights). The numbers carry their noise, the weights are public, and nothing here reads a loss.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._extras import data_frame
from sottovoce.learning.epoch import loss_grid
from sottovoce.learning.policy import BanditPolicy
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem
from sottovoce.privacy import LocalDP, mechanism_named
from sottovoce.rounds.round import Release
from sottovoce.rounds.store import Store

_SUMS = "this plan releases running sums, not rounds: no round has a mean of its own"
_SIGNED = "this plan releases differences of losses, not their sums: a round has no mean"


@dataclass(frozen=True, eq=False)
class History:
    """What the rounds of a study have released, in their order: released values alone.

    Attributes
    ----------
    rounds, ends
        (N,): their numbers, and how many events there were when each was over.
    means
        (N,): mean loss (or reward) of the round, as it was released; those that never came count as the middle of the
        range.
    deviations
        (N,): standard deviation of the noise in the mean, and of nothing else; of reports, that of all they vary by, at
        most.
    why
        Why there are no means, in words; empty if there are.
    seen
        Rounds that were closed by then: what was released later is not here.
    changes
        How often all was forgotten, because the world was seen to change; 0 for plans that do not look.
    changed_at
        The event at which that was last noticed; None if it never was.
    incarnation
        Of the study.
    """

    rounds: Integers
    ends: Integers
    means: Floats
    deviations: Floats
    why: str = ""
    seen: int = 0
    changes: int = 0
    changed_at: int | None = None
    incarnation: int = 1

    def to_frame(self) -> Any:
        """Return a pandas table with a row for each round: its number, its last event, its mean, its noise."""
        return data_frame({"round": self.rounds, "events": self.ends, "mean": self.means, "deviation": self.deviations})

    def __repr__(self) -> str:
        return f"History({len(self.means)} means of {self.seen} rounds, {self.changes} changes)"


def history_of(store: Store, policy: BanditPolicy, stream: int, most: int) -> History:
    """Return the history of a study, the newest `most` rounds; one whose numbers say nothing of a mean is left out."""
    closed, rows, why = store.closed().get(stream, 0), [], ""
    for release in store.releases(stream, max(0, closed - most)):
        if release.numbers is None or not release.wanted:
            continue
        one, weights = release.round, release.numbers[1]
        plan, of_items = policy.plan_of(one), "exploration.multipliers" in one.public
        if mechanism_named(plan.mechanism).releases != "rounds":
            why = _SUMS
        elif not of_items and ((weights < 0).any() or int(weights.sum()) != release.wanted):
            why = _SIGNED
        else:
            rows.append((one.number, one.position + one.size, *_mean(plan, policy.problem_of(one), release)))
    rounds, ends, means, deviations = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    changes, changed_at = _changes(policy, stream)
    return History(
        rounds.astype(np.int64),
        ends.astype(np.int64),
        means,
        deviations,
        "" if rows else why,
        closed,
        changes,
        changed_at,
        store.incarnation,
    )


def _changes(policy: BanditPolicy, stream: int) -> tuple[int, int | None]:
    """Return how often the newest epoch has forgotten all, and when it did last."""
    newest = policy.stream(stream).current
    belief = newest.explorer.belief
    if belief is None or not belief.resets:
        return 0, None
    return belief.resets, newest.before + belief.pace.since


def _mean(plan: Plan, problem: Problem, release: Release) -> tuple[float, float]:
    """Return the mean of a round and the deviation of its noise, in units of loss; of items, summed over an event's."""
    assert release.numbers is not None
    grid, public = loss_grid(problem, plan), release.round.public
    multipliers = public.get("exploration.multipliers", np.ones(release.numbers.shape[1]))
    numbers, weights = release.numbers[:2, : len(multipliers)] / multipliers  # and not their squares
    events = max(1, release.wanted - (len(release.missing) if grid.leaves_out_missing else 0))
    mean = problem.sign * float((grid.low * weights + grid.step * numbers).sum()) / events
    if isinstance(problem.privacy, LocalDP):
        return mean, math.sqrt(problem.channel_of_owners.second_moment / events)
    noise = 0.0 if plan.noise is None else plan.noise.standard_deviation
    return mean, grid.step * noise * math.sqrt(float((1.0 / multipliers**2).sum())) / events
