"""Catalogues that change: one set after another, what is known being carried over by name.

A change is public, and so is when it is made. From the next round on the new set is played, under a plan of its own:
its noise is that of its own decisions. Rounds that are open go on as they were asked, and what they release is learned
by whoever knows their names, which later sets do.

Tests: tests/learning/test_set_changes.py.
"""

import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sottovoce._records import MOST_BYTES, DamagedRecord, Record
from sottovoce.domains import Domain
from sottovoce.domains.specification import as_stored, build, fingerprint, same_answers, specify
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.epoch import Epoch
from sottovoce.models import Features
from sottovoce.plans import exploration_named
from sottovoce.plans.choosing import make_plan
from sottovoce.plans.plan import Plan
from sottovoce.plans.problem import Problem


@dataclass(frozen=True)
class SetChange:
    """A set that takes the place of the one before it, and features of its coordinates, if there are any."""

    domain: Domain
    features: Features | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise TypeError(f"domain must be a Domain such as sv.domains.Simplex(names), got {self.domain!r}")
        if self.features is not None:
            object.__setattr__(self, "features", Features(self.features))

    def to_record(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        specified = specify(self.domain)
        if specified is None:
            raise ValueError(
                f"domain: {self.domain!r} holds functions of your own, which are not stored: change to a set of this "
                "library, or begin a new run, with this one's posterior() as its prior"
            )
        return {"domain": specified, "features": None if self.features is None else self.features.rows.tolist()}

    @classmethod
    def from_record(cls, record: Record) -> Self:
        """Return what `to_record` returned."""
        return cls(build(record["domain"]), record["features"])

    def is_in(self, problem: Problem) -> bool:
        """Whether the set of a problem is this one, under the same names and with the same features."""
        mine, its = self.domain, problem.domain
        return (
            self.features == problem.features
            and as_stored(mine.labels) == as_stored(its.labels)
            and same_answers(fingerprint(mine), fingerprint(its))
        )


def sets_in(common: Record) -> list[Record]:
    """Return records of the sets that took the place of the first, from what all streams of a study have in common.

    Examples
    --------
    >>> sets_in(with_set(with_set({}, {"domain": 1}), {"domain": 2}))
    [{'domain': 1}, {'domain': 2}]
    """
    if "sets" not in common:
        return []
    try:
        return list(json.loads(lzma.LZMADecompressor().decompress(bytes(common["sets"]), MOST_BYTES)))
    except lzma.LZMAError:
        raise DamagedRecord("the sets that a study has changed to cannot be read") from None


def with_set(common: Record, record: Record) -> Record:
    """Return what is in common with one more set: names that it shares with those before take next to no room.

    Parameters
    ----------
    common
        As it is stored.
    record
        As `SetChange.to_record` returns it.
    """
    sets = json.dumps([*sets_in(common), record]).encode()
    return {"sets": np.frombuffer(lzma.compress(sets), dtype=np.uint8)}


def problem_after(problem: Problem, change: SetChange) -> Problem:
    """Return the problem once a set has changed: all names that something is known of stay known."""
    return replace(
        problem,
        domain=change.domain,
        features=change.features,
        earlier_names=problem.names or (),
        earlier_features=problem.feature_rows,
    )


def problems_of(first: Problem, common: Record) -> list[Problem]:
    """Return the problems with each of the sets that a study has had; all but the first are stored as common to all."""
    problems = [first]
    for record in sets_in(common):
        problems.append(problem_after(problems[-1], SetChange.from_record(record)))
    return problems


def check_change(problem: Problem, change: SetChange, epoch: Epoch, grid: Any) -> None:
    """Refuse a change that what is known cannot follow, with the reason.

    Parameters
    ----------
    problem
        With the present set.
    change
        That is wanted.
    epoch
        That plays.
    grid
        Of the losses of all sets.
    """
    belief = epoch.explorer.belief
    if belief is None or belief.model == "radial":
        why = "has no model of the losses" if belief is None else "takes losses to be convex"
        raise ValueError(
            f"domain cannot change here: the plan ({epoch.plan.exploration}) {why}, and nothing would be carried over. "
            "feedback='items' can, and so can posterior probes with losses='linear' or integral=True"
        )
    for whose, domain in (("the present set", problem.domain), ("the new set", change.domain)):
        if domain.labels is None:
            raise ValueError(
                f"domain: {whose}, {domain!r}, has no names, by which what is known is carried over: give names in the "
                "place of a number, or labels="
            )
    if (problem.features is None) != (change.features is None):
        raise ValueError(
            "features must be passed with the new set, a row for each of its coordinates: this run has some"
            if change.features is None
            else "features are of no use to a run that was made without"
        )
    if problem.feedback == "items" and change.domain.most_chosen > grid.room * grid.per_slot:
        raise ValueError(
            f"domain: a decision may have {grid.room * grid.per_slot} items at most here, {grid.room} times as many as "
            f"those of the first set, and those of {change.domain!r} have up to {change.domain.most_chosen}: begin a "
            "new run, with posterior() as its prior"
        )


def grid_for(grid: Any, problems: Sequence[Problem]) -> Any:
    """Return the grid of losses of all sets that there were: wide enough for the largest decision.

    Parameters
    ----------
    grid
        Of the first set.
    problems
        With each of the sets.
    """
    if problems[0].feedback != "items":
        return grid
    return grid.widened(max(one.domain.most_chosen for one in problems))


def plan_for(problem: Problem, configuration: BanditConfiguration, previous: Plan | None = None) -> Plan:
    """Return the plan of a problem; of a set, that of the `previous` one, whose place it takes within an epoch."""
    if previous is not None and isinstance(configuration.plan, Plan):
        kind = exploration_named(previous.exploration)
        chosen = {name: getattr(previous.options, name) for name in kind.choices}
        plan = make_plan(problem, exploration=previous.exploration, **chosen)
    else:
        plan = make_plan(problem, plan=configuration.plan, **configuration.choices)
    if previous is not None and (plan.exploration, plan.bits) != (previous.exploration, previous.bits):
        raise ValueError(
            f"domain: {problem.domain!r} would be explored by {plan.exploration} with {plan.bits} bits, and the set "
            f"before it by {previous.exploration} with {previous.bits}: begin a new run, with posterior() as its prior"
        )
    return plan
