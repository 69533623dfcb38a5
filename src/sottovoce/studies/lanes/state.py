"""A segment of a study as one process sees it: rounds of its own, and a horizon and a clock that all of them share."""

from typing import TYPE_CHECKING

from sqlalchemy import Connection

from sottovoce.exploration import Record
from sottovoce.exploration.posterior import PosteriorProbes, Prior, Segment, Settings
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.estimates import ReleasedRound
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.planning.plan import Plan
from sottovoce.studies.session.counters import AUTO
from sottovoce.studies.session.open_round import TERMS, StudyRound
from sottovoce.studies.session.state import StudyState

if TYPE_CHECKING:
    from sottovoce.studies.lanes.family import Family

__all__ = ["LaneState"]


class LaneState(StudyState):
    """The rounds of one segment.

    A round begins with what other segments say. What it teaches is learned without: so that it follows from what was
    released of the segment alone, in whichever process, and `verify` can learn it again.

    Parameters
    ----------
    family
        That it is of.
    number, study, segment
        Which one, where its head is, and whose.
    """

    def __init__(self, family: "Family", number: int, study: int, segment: Segment) -> None:
        self.family, self.number, self.study, self.segment = family, number, study, segment
        super().__init__(family.configuration, family.source, problem=family.problem)

    # ------------------------------------------------------------------ what all segments share

    @property
    def clock(self) -> int:
        """Positions that were asked of all segments."""
        return self.counters.asked + self.family.asked_elsewhere(self.study)

    @property
    def deadline(self) -> float | None:
        """That of the study."""
        return self.family.counters.deadline

    @property
    def patience(self) -> int | None:
        """That of the study, in positions of all segments."""
        stored = self.family.counters.patience
        return patience_for("auto" if stored == AUTO else stored, horizon=self.horizon, planned=self.clock)

    def remaining(self, in_hand: int) -> int | None:
        """Events that are left to ask, for this segment: what was given back of any is nobody's."""
        if self.horizon is None:
            return None
        returned = self.counters.returned + self.family.returned_elsewhere(self.study)
        return self.horizon - self.clock + returned + in_hand

    def rest_of_round(self, connection: Connection, most: int | None, in_hand: int) -> int:
        """Return how many actions the current round has left, and no more than the horizon has."""
        left, remaining = super().rest_of_round(connection, most, in_hand), self.remaining(in_hand)
        return left if remaining is None else min(left, remaining)

    def _unclaimed(self) -> int:
        left = self.remaining(0)
        return super()._unclaimed() if left is None else max(0, left)

    # ------------------------------------------------------------------ what others say

    def new_epoch(self, number: int, first: int, previous: Epoch | None) -> Epoch:
        """Begin the epoch after `previous`, as those of other segments are."""
        plan = self.family.plan_of(self.lengths[number])
        earlier = 0 if previous is None else previous.earlier + previous.counts[1]
        epoch = self._epoch(number, plan, first, earlier)
        if previous is not None:
            epoch.follow(previous)
        return epoch

    def known_epoch(self, number: int, plan: Plan, first: int) -> Epoch:
        """Return an epoch that was planned before."""
        return self._epoch(number, plan, first, 0)

    def _epoch(self, number: int, plan: Plan, first: int, earlier: int) -> Epoch:
        like = self.family.template(plan).explorer
        epoch = Epoch(self.problem_of(number), plan, self.source, first=first, earlier=earlier, like=like)
        explorer_of(epoch).ask_others = self._said
        return epoch

    def _said(self) -> tuple[Prior, Settings]:
        number = len(self.lengths) - 1
        return self.family.voices.said_of(self, explorer_of(self.epochs[number]).belief, self.lengths[number])

    def terms(self, epoch: Epoch) -> Record:
        """Return what others had released when a round began, and what it takes for granted."""
        belief = explorer_of(epoch).belief
        terms = {name: getattr(belief.settings, name) for name in TERMS}
        return {**terms, "reach": float(belief.pace.reach), **self.family.voices.record(self)}

    def teach(self, live: StudyRound, released: ReleasedRound) -> None:
        """Learn from what was released of this segment alone."""
        explorer_of(live.open.epoch).stand_alone(**{name: live.terms[name] for name in TERMS})
        super().teach(live, released)


def explorer_of(epoch: Epoch) -> PosteriorProbes:
    """Return what believes: segments have no others."""
    assert isinstance(epoch.explorer, PosteriorProbes)
    return epoch.explorer
