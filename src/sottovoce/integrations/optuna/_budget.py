"""How many trials of how many events each: two of the numbers give the third, and the total alone a rule's choice."""

from dataclasses import dataclass
from typing import Any

from sottovoce._checks import whole
from sottovoce.integrations.splitting import events_per_trial as split

_FINAL = 2  # events of a finalist, in trials' worth


@dataclass(frozen=True)
class Budget:
    """What a call may spend.

    Attributes
    ----------
    trials, per_trial
        How many trials, with how many events each.
    finalists, per_finalist
        How many of the best are evaluated again, with how many events each.
    """

    trials: int
    per_trial: int
    finalists: int
    per_finalist: int

    @property
    def events(self) -> int:
        """All of it."""
        return self.trials * self.per_trial + self.finalists * self.per_finalist


def budget_for(
    evaluations: Any,
    *,
    events_per_trial: int | None,
    trials: int | None,
    events: int | None,
    finalists: int,
    events_per_finalist: int | None,
) -> Budget:
    """Return the budget; the arguments are those of `private_optimize`."""
    finalists = whole("finalists", finalists, least=0)
    per_trial = None if events_per_trial is None else whole("events_per_trial", events_per_trial)
    fixed = None if events_per_finalist is None else whole("events_per_finalist", events_per_finalist)
    most = None if trials is None else whole("trials", trials)
    if events is None:
        if most is None or per_trial is None:
            raise TypeError("pass events_per_trial= and trials=, or events=, the number of events for all of them")
        return Budget(most, per_trial, finalists, fixed or _FINAL * per_trial)
    total = whole("events", events)
    left = total - finalists * (fixed or 0)
    extra = 0 if fixed else _FINAL * finalists  # what finalists take, in trials' worth
    if per_trial is None and most is not None:
        per_trial = left // (most + extra)
    elif per_trial is None:
        privacy = evaluations.privacy.guarantee
        per_trial = split(max(left, 1), loss_range=evaluations.loss_range, privacy=privacy)
    affordable = left // per_trial - extra if per_trial else 0
    found = min(affordable, affordable if most is None else most)
    if found < 1:
        raise ValueError(
            f"events={total} are not enough for one trial"
            + (f" of {per_trial} events" if per_trial else "")
            + (f" and {finalists} finalists" if finalists else "")
            + ": raise events, or lower events_per_trial, trials, finalists or events_per_finalist"
        )
    return Budget(found, per_trial, finalists, fixed or _FINAL * per_trial)
