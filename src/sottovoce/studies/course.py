"""The course of a study: what its rounds released, one after the other, and how often the world was seen to change.

A round's mean is that of the losses behind its released numbers: low + step * (sum of the numbers)/(sum of the
weights). The numbers carry their noise, the weights are public, and nothing here reads a loss.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from sottovoce._arrays import Floats, Integers
from sottovoce.learning.bandit.believer import Believer
from sottovoce.learning.bandit.epoch import loss_grid
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.planning.problem import Problem
from sottovoce.privacy import LocalDP, mechanism_named
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.tables import RELEASED, epochs, rounds
from sottovoce.studies.session.session import Session
from sottovoce.studies.session.state import StudyState

__all__ = ["NO_COURSE", "Course", "course_of"]

_SUMS = "this plan releases running sums, not rounds: no round has a mean of its own"
_SIGNED = "this plan releases differences of losses, not their sums: a round has no mean"


@dataclass(frozen=True, eq=False)
class Course:
    """What the rounds of a study have released, in their order: released values alone.

    Attributes
    ----------
    rounds, ends
        (N,): their numbers, and how many events there were when each was over.
    means
        (N,): mean loss of the round, as it was released; losses that never came count as the middle of the range.
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
    generation
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
    generation: int = 1

    def __repr__(self) -> str:
        return f"Course({len(self.means)} means of {self.seen} rounds, {self.changes} changes)"


NO_COURSE = Course(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def course_of(session: Session, earlier: Course | None, most: int) -> Course:
    """Return the course of a study: `earlier` with what was released since, the newest `most` rounds of it."""

    def look(connection: Connection) -> tuple[list[Any], dict[int, Any], int, int]:
        counters = session.state.counters
        first = 0 if earlier is None or earlier.generation != counters.generation else earlier.seen
        first = max(first, counters.closed - most)
        columns = rounds.c.number, rounds.c.public, rounds.c.released
        wanted = select(*columns).where(rounds.c.study == counters.id, rounds.c.state == RELEASED)
        found = connection.execute(wanted.where(rounds.c.number >= first).order_by(rounds.c.number)).all()
        made = select(epochs.c.number, epochs.c.made).where(epochs.c.study == counters.id)
        plans = {row.number: read(f"epoch {row.number}", row.made) for row in connection.execute(made)} if found else {}
        return list(found), plans, counters.closed, counters.generation

    found, made, closed, generation = session.submit(look)
    with session.at_rest():
        changes, changed_at = _changes(session.state)
        problem = session.state.problem
    begin = NO_COURSE if earlier is None or earlier.generation != generation else earlier
    grown = _added(begin, found, {number: Plan.from_dict(one["plan"]) for number, one in made.items()}, problem, most)
    return replace(grown, seen=closed, changes=changes, changed_at=changed_at, generation=generation)


def _changes(state: StudyState) -> tuple[int, int | None]:
    """Return how often the newest epoch has forgotten all, and when it did last."""
    if not state.epochs:
        return 0, None
    number = max(state.epochs)
    learner = state.epochs[number].learner
    if not isinstance(learner, Believer) or not learner.explorer.belief.resets:
        return 0, None
    belief = learner.explorer.belief
    return belief.resets, sum(state.lengths[:number]) + belief.pace.since


def _added(before: Course, found: list[Any], plans: dict[int, Plan], problem: Problem, most: int) -> Course:
    """Return a course with more rounds; one whose numbers say nothing of a mean is left out, and why is said."""
    rows, why = [], before.why
    for row in found:
        public, closed = read(f"round {row.number}", row.public), read(f"round {row.number}", row.released)
        plan = plans[public["epoch"]]
        wanted = len(closed["wanted"]) if "wanted" in closed else public["size"]
        if mechanism_named(plan.mechanism).releases != "rounds":
            why = _SUMS
        elif (closed["weights"] < 0).any() or int(closed["weights"].sum()) != wanted:
            why = _SIGNED
        else:
            rows.append((row.number, public["first"] + public["size"], *_mean(plan, problem, closed)))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    numbers, ends, means, deviations = (
        np.concatenate([old, new.astype(old.dtype)])[-most:]
        for old, new in zip((before.rounds, before.ends, before.means, before.deviations), columns, strict=True)
    )
    return Course(numbers, ends, means, deviations, why="" if len(numbers) else why)


def _mean(plan: Plan, problem: Problem, closed: Any) -> tuple[float, float]:
    """Return the mean of a round and the deviation of its noise, in units of loss."""
    grid, numbers, events = loss_grid(problem, plan), closed["numbers"], float(closed["weights"].sum())
    mean = grid.low + grid.step * float(np.asarray(numbers, dtype=np.float64).sum()) / events
    if isinstance(problem.privacy, LocalDP):
        return mean, math.sqrt(problem.channel_of_owners.second_moment / events)
    if plan.noise is None:
        return mean, 0.0
    return mean, grid.step * plan.noise.standard_deviation * math.sqrt(len(numbers)) / events
