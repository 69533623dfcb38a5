"""What segments of a study say to each other: all that was released of each, whichever process has closed its rounds.

It is read where it is stored, within the transaction that opens a round: of those segments alone that have released
something since. What is not committed is not heard.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Connection, func, select

from sottovoce._records import part
from sottovoce.exploration import Record
from sottovoce.exploration.posterior import Belief, Kinship, Prior, Segment, Settings
from sottovoce.studies.database.rows import read
from sottovoce.studies.database.tables import epochs
from sottovoce.studies.lanes.rows import LaneRow
from sottovoce.studies.lanes.state import LaneState, explorer_of

if TYPE_CHECKING:
    from sottovoce.studies.lanes.family import Family

__all__ = ["Voices"]

_BEFORE = 20.0  # events of each segment that are taken for granted, in guessing what share of all it has
_Mark = tuple[bytes, int, int]  # of what was heard: key, generation, and rounds that were closed


class _Voice:
    """What one segment has to say: it may be replaced by a newer one."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    @property
    def known(self) -> Any:
        return self.belief.known

    def evidence(self) -> Any:
        return self.belief.evidence()


class Voices:
    """What was released of each segment, and what follows from it for the others.

    Parameters
    ----------
    family
        The segments.
    """

    def __init__(self, family: "Family") -> None:
        self._family = family
        self._voices: list[_Voice] = []
        self._marks: list[_Mark | None] = []
        self._keys: list[bytes] = []
        self._kinship: Kinship | None = None
        self._judged: tuple[list[LaneRow], Kinship] | None = None

    @property
    def kinship(self) -> Kinship:
        """How alike segments are."""
        if self._kinship is None:
            self._kinship = Kinship(self._family.segments, self._family.blank)
        return self._kinship

    # ------------------------------------------------------------------ listening

    def listen(self, connection: Connection, without: int | None = None) -> None:
        """Hear what was released since the last time; not of the segment that is at work in this transaction."""
        rows = self._family.rows
        if self._keys != [row.key for row in rows[: len(self._keys)]]:  # other segments: those of another life
            self._voices, self._marks, self._keys, self._kinship = [], [], [], None
        for row in rows[len(self._keys) :]:
            voice = _Voice(self._blank(row))
            self.kinship.join(self._family.segments.row(self._family.segment_of(row)), voice)
            self._voices.append(voice)
            self._marks.append(None)
            self._keys.append(row.key)
        news = [row for row in rows if self._marks[row.number] != _mark(row) and row.study != without]
        at_hand = {row.study: known for row in news if (known := self._at_hand(row)) is not None}
        learned = _learned(connection, [row.study for row in news if row.closed and row.study not in at_hand])
        for row in news:
            belief = self._blank(row)
            if row.study in at_hand:
                belief.go_back(at_hand[row.study])
            elif row.study in learned:
                belief.remember(part(learned[row.study], "explorer"))
            self._voices[row.number].belief = belief
            self._marks[row.number] = _mark(row)

    def _at_hand(self, row: LaneRow) -> Any:
        """Return what a segment has learned, if this process knows it as it is stored."""
        state = self._family.state_of(row)
        if state is None or state.stale or not state.epochs or state.learned != row.closed:
            return None
        if state.counters.generation != row.generation:
            return None
        return explorer_of(state.epochs[max(state.epochs)]).belief.knowledge()

    def _blank(self, row: LaneRow) -> Belief:
        """Return what is believed of a segment of which nothing was released."""
        belief: Belief = self._family.blank.sibling()
        belief.settings = self._settings(belief.settings, row.asked, belief.variance)
        return belief

    # ------------------------------------------------------------------ speaking

    def _settings(self, settings: Settings, asked: int, variance: float) -> Settings:
        """Return what holds among others for a segment that has been asked so many times."""
        family = self._family
        count = max(1, len(family.rows))
        share = 1.0 if family.horizon is None else (asked + _BEFORE) / (family.asked + _BEFORE * count)
        return settings.among(count, family.asked, min(1.0, share), variance)

    def said_of(self, lane: LaneState, belief: Belief, length: int) -> tuple[Prior, Settings]:
        """Return what other segments say of one that is about to begin a round, and what holds for it among them."""
        assert self._family.connection is not None
        self.listen(self._family.connection, without=lane.study)
        planned, prior = self._family.settings_of(length), self.kinship.prior(lane.number)
        informed: Belief = belief.sibling()
        informed.go_back(belief.knowledge())
        informed.lean_on(prior, planned)  # others say something of the variance, too
        return prior, self._settings(planned, lane.counters.asked, informed.variance)

    def record(self, lane: LaneState) -> Record:
        """Return what a round begins with, in numbers: rounds closed of each segment, and how alike segments are."""
        closed = [0 if mark is None else mark[2] for mark in self._marks]
        closed[lane.number] = lane.counters.closed
        return {"closed": np.array(closed, dtype=np.int64), "likeness": list(self.kinship.likeness.places())}

    # ------------------------------------------------------------------ for whoever looks

    def judged(self) -> Kinship:
        """Return how alike segments are by all that was heard, learned anew: every process says the same of it."""
        rows = self._family.rows
        if self._judged is None or self._judged[0] != rows:
            kinship = Kinship(self._family.segments, self._family.blank)
            for row in rows:
                kinship.join(self._family.segments.row(self._family.segment_of(row)), _Voice(self._known(row)))
            self._judged = rows, kinship
        return self._judged[1]

    def _known(self, row: LaneRow) -> Belief:
        """Return what was released of a segment, and nothing that others say."""
        belief: Belief = self._blank(row)
        belief.go_back(self._voices[row.number].belief.knowledge())
        return belief

    def informed(self, row: LaneRow) -> Belief:
        """Return what is believed of a segment, with what others say now."""
        belief = self._known(row)
        belief.lean_on(self.judged().prior(row.number), belief.settings)
        return belief

    def unseen(self, segment: Segment) -> Belief:
        """Return what others say of a segment that was never asked for."""
        belief: Belief = self._family.blank.sibling()
        belief.lean_on(self.judged().prior(-1, self._family.segments.row(segment)), belief.settings)
        return belief


def _mark(row: LaneRow) -> _Mark:
    return row.key, row.generation, row.closed


def _learned(connection: Connection, studies: list[int]) -> dict[int, Record]:
    """Return what the newest epochs of segments have learned."""
    found = dict[int, Record]()
    for start in range(0, len(studies), 500):
        some = epochs.c.study.in_(studies[start : start + 500])
        newest = select(epochs.c.study, func.max(epochs.c.number).label("number")).where(some).group_by(epochs.c.study)
        latest = newest.subquery()
        same = (epochs.c.study == latest.c.study) & (epochs.c.number == latest.c.number)
        for row in connection.execute(select(epochs.c.study, epochs.c.learned).select_from(epochs.join(latest, same))):
            found[row.study] = read("what a segment has learned", row.learned)
    return found
