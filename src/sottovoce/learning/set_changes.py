"""Catalogues that change: one set after another, what is known being carried over by name.

A change is public, and so is when it is made. From the next round on the new set is played, under a plan of its own:
its noise is that of its own decisions. Rounds that are open go on as they were asked, and what they release is learned
by whoever knows their names, which later sets do.

Tests: tests/learning/test_set_changes.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

from sottovoce._records import Record
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
        return cls(build(record["domain"]), None if record["features"] is None else Features(record["features"]))

    def is_in(self, problem: Problem) -> bool:
        """Whether the set of a problem is this one, under the same names and with the same features."""
        mine, its = self.domain, problem.domain
        return (
            self.features == problem.features
            and as_stored(mine.labels) == as_stored(its.labels)
            and same_answers(fingerprint(mine), fingerprint(its))
        )


_MANY = 64  # names that are stored as references, where the set before has them
_REFERENCES = "names of the set before"


def one_more(stored: Sequence[Record], record: Record) -> list[Record]:
    """Return records of sets with one more, whose long lists of names refer to those of the set before.

    A large catalogue that changes often is so stored once, and not once for each change.

    Parameters
    ----------
    stored
        Of the sets that took the place of the first, as they are stored.
    record
        As `SetChange.to_record` returns it.
    """
    known = _long_lists(written_out(stored)[-1]) if stored else []
    place = {name: at for at, name in enumerate(known)}

    def shorter(names: list[str]) -> Any:
        pieces: list[Any] = []
        for name in names:
            at = place.get(name)
            if at is None:
                pieces.append(name)
            elif pieces and isinstance(pieces[-1], list) and pieces[-1][1] == at:
                pieces[-1][1] = at + 1
            else:
                pieces.append([at, at + 1])
        return {_REFERENCES: pieces}

    return [*stored, _walked(record, lambda value: shorter(value) if _is_long(value) else value)]


def written_out(stored: Sequence[Record]) -> list[Record]:
    """Return records of sets, each with all of its names.

    Examples
    --------
    >>> names = [f"item {i}" for i in range(100)]
    >>> stored = one_more(one_more([], {"labels": names}), {"labels": ["new", *names[20:]]})
    >>> stored[-1]
    {'labels': {'names of the set before': ['new', [20, 100]]}}
    >>> written_out(stored)[-1] == {"labels": ["new", *names[20:]]}
    True
    """
    found: list[Record] = []
    for record in stored:
        known = _long_lists(found[-1]) if found else []

        def whole(value: Any, known: list[str] = known) -> Any:
            if not isinstance(value, dict) or _REFERENCES not in value:
                return value
            pieces = value[_REFERENCES]
            return list(chain.from_iterable([one] if isinstance(one, str) else known[slice(*one)] for one in pieces))

        found.append(_walked(record, whole))
    return found


def _is_long(value: Any) -> bool:
    return isinstance(value, list) and len(value) >= _MANY and set(map(type, value)) == {str}


def _long_lists(value: Any) -> list[str]:
    """Return the names of all long lists of them in plain data, one list after the other."""
    if _is_long(value):
        return list(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return list(chain.from_iterable(map(_long_lists, inner)))


def _walked(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return plain data with parts of it changed, the outer ones first."""
    changed = change(value)
    if changed is not value or _is_long(value):
        return changed
    if isinstance(value, dict):
        return {name: _walked(one, change) for name, one in value.items()}
    return [_walked(one, change) for one in value] if isinstance(value, list) else value


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
    for record in written_out(common.get("sets", ())):
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


def plan_after(problem: Problem, configuration: BanditConfiguration, previous: Plan) -> Plan:
    """Return the plan of a set that takes the place of another one in the middle of an epoch."""
    if isinstance(configuration.plan, Plan):
        kind = exploration_named(previous.exploration)
        chosen = {name: getattr(previous.options, name) for name in kind.choices}
        plan = make_plan(problem, exploration=previous.exploration, **chosen)
    else:
        plan = make_plan(problem, plan=configuration.plan, **configuration.choices)
    if (plan.exploration, plan.bits) != (previous.exploration, previous.bits):
        raise ValueError(
            f"domain: {problem.domain!r} would be explored by {plan.exploration} with {plan.bits} bits, and the set "
            f"before it by {previous.exploration} with {previous.bits}: begin a new run, with posterior() as its prior"
        )
    return plan
