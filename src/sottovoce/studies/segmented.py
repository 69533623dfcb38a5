"""A study with segments: a lane of rounds for each, all of them informing each other, under one promise.

Every segment has a head of its own in the storage, and rounds, cells and ids of its own, so that asking, telling,
closing and erasing are what they are in any study (studies/lanes/). What is one for all: the horizon, patience, the
charge of a ledger, lives, and what is said and shown.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sqlalchemy import Connection

from sottovoce._arrays import Floats, Integers
from sottovoce._checks import choice, whole
from sottovoce._losses import as_array
from sottovoce.errors import (
    ForkRefused,
    HorizonReached,
    InvalidLoss,
    SottovoceError,
    StorageError,
    StudyBehind,
)
from sottovoce.exploration.posterior import Belief, Misfit, Posterior, Segment
from sottovoce.learning.bandit.actions import Action, Actions
from sottovoce.learning.bandit.outstanding import Outstanding, joined_outstanding
from sottovoce.learning.bandit.recommendation import believed_by
from sottovoce.learning.planning.plan import Plan
from sottovoce.learning.segmented.recommendation import for_all, for_segment
from sottovoce.learning.segmented.requests import are_several, missing_segment, segments_of_block
from sottovoce.privacy import LocalDP
from sottovoce.studies.calls.asking import Order
from sottovoce.studies.calls.counting import Counts, counted
from sottovoce.studies.calls.ids import places_in_lanes
from sottovoce.studies.calls.listing import outstanding
from sottovoce.studies.calls.telling_each import Outcomes, Recorded, TellCall
from sottovoce.studies.course import NO_COURSE, Course, course_of
from sottovoce.studies.database.storage import Storage
from sottovoce.studies.lanes.across import ask_across, give_back, tell_across, tell_parts, tend_told
from sottovoce.studies.lanes.family import Family, Lane
from sottovoce.studies.lanes.tending import tend_all
from sottovoce.studies.opening.creating import Found
from sottovoce.studies.session.engine import Told
from sottovoce.studies.status import Status
from sottovoce.studies.study import Study

__all__ = ["SegmentedStudy"]


class SegmentedStudy(Study):
    """What `Study.open(..., segments=...)` returns: the same, for several segments."""

    def __init__(self, storage: Storage, name: str, found: Found, repeat: str) -> None:
        self.name = name
        self._found = found
        self._repeat = choice("repeat", repeat, ("error", "ignore"))
        self._local = isinstance(found.configuration.privacy, LocalDP)
        self._family = Family(storage, found)
        self._session = self._family.head

    # ------------------------------------------------------------------ asking

    def ask(self, size: int | None = None, *, segment: Any = None) -> Any:
        """Return the next action for a segment, or a block of them, once that is on record.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`, or as many as there are segments in a list.
        segment
            Whom it is for; a list for a block with one for each event.
        """
        if size is None and not are_several(segment):
            return self._ask_one(segment)
        keys, index = segments_of_block(self._family.segments, None if size is None else whole("size", size), segment)
        if len(keys) > 1:
            return self._ask_each(keys, index)
        return self._ask_of(keys[0], lambda lane: lane.asker.block(Order(len(index))))

    def ask_round(self, most: int | None = None, *, segment: Any = None) -> Actions:
        """Return the rest of a segment's current round, or of its next one if nothing is left of it.

        Parameters
        ----------
        most
            How many actions at most; None for all that are left of the round.
        segment
            Whose.
        """
        limit = None if most is None else whole("most", most)
        actions: Actions = self._ask_of(self._key(segment), lambda lane: lane.asker.block(Order(None, limit)))
        return actions

    def ask_in_parts(self, size: int, first: int = 16, *, segment: Any = None) -> Iterator[Actions]:
        """Yield `size` actions for one segment in blocks, each asked when it is taken: see `Study.ask_in_parts`.

        Parameters
        ----------
        size
            How many actions in all.
        first
            How many in the first block.
        segment
            Whose.
        """
        count, begin = whole("size", size), whole("first", first)
        self._session.check_usable()
        (lane,) = self._family.lanes_of([self._key(segment)])
        return lane.asker.in_parts(count, begin)

    def _ask_one(self, segment: Any) -> Action:
        action: Action = self._ask_of(self._key(segment), lambda lane: lane.asker.one())
        return action

    def _key(self, segment: Any) -> Segment:
        if segment is None:
            raise missing_segment()
        return self._family.segments.key(segment)

    def _ask_of(self, key: Segment, ask: Callable[[Lane], Any]) -> Any:
        self._session.check_usable()
        (lane,) = self._family.lanes_of([key])
        try:
            return ask(lane)
        except HorizonReached:
            if not give_back(self._family, keep=[lane]):  # what this process has in hand for others is to be had
                raise
        return ask(lane)

    def _ask_each(self, keys: list[Segment], index: Integers) -> Actions:
        self._session.check_usable()
        lanes = self._family.lanes_of(keys)
        try:
            return ask_across(self._family, lanes, index)
        except HorizonReached:
            if not give_back(self._family, keep=lanes):
                raise
        return ask_across(self._family, lanes, index)

    # ------------------------------------------------------------------ telling

    def tell(self, ids: Any, losses: Any = None, *, report: Any = None, late: str = "error") -> None:
        """Report the loss of an action, or of a block of them, of any segments; durable when it returns.

        All of a call is recorded or nothing, whatever segments it spans.

        Parameters
        ----------
        ids
            The id of one action, or an array of them; any process may have asked.
        losses
            A number for each id.
        report
            In place of losses under `LocalDP`: what `sv.local.privatise` returned for each id.
        late
            "error" refuses a call with losses that come too late, "drop" drops those.
        """
        choice("late", late, ("error", "drop"))
        values = as_array(self._reported(losses, report))
        places = places_in_lanes(self._found.key, ids)
        if values.size != len(places):
            raise ValueError(f"losses must have the shape of ids, ({len(places)},), got {values.shape}")
        tend_told(self._family, self._told(tell_parts(places, values.ravel(), repeat=self._repeat, late=late)))

    def tell_each(
        self, calls: Sequence[TellCall], on_record: Callable[[Outcomes], None] | None = None
    ) -> list[Recorded | Exception]:
        """Carry out calls of tell that arrived together; return what came of each, in order: see `Study.tell_each`.

        Calls that tell one segment share a transaction; one that spans several has its own.

        Parameters
        ----------
        calls
            What each of them tells.
        on_record
            Is handed what came of them as soon as that is durable, before rounds that are complete are closed.
        """
        self._session.check_usable()
        found: dict[int, Recorded | Exception] = {}
        parts: dict[int, dict[int, Any]] = {}
        for number, call in enumerate(calls):
            try:
                parts[number] = self._parts_of(call)
            except (SottovoceError, ValueError, TypeError) as refused:
                found[number] = refused
        told = self._tell_alone(parts, found) + self._tell_by_lane(parts, found)
        outcomes = [found[number] for number in range(len(calls))]
        if on_record is not None:
            on_record(outcomes)
        for one in told:
            tend_told(self._family, one)
        return outcomes

    def _parts_of(self, call: TellCall) -> dict[int, Any]:
        choice("late", call.late, ("error", "drop"))
        values = as_array(self._reported(call.losses, call.report))
        places = places_in_lanes(self._found.key, call.ids)
        if values.size != len(places):
            raise InvalidLoss(f"there must be a loss for each of {len(places)} ids; nothing of this call was recorded")
        return tell_parts(places, values.ravel(), repeat="ignore", late=call.late)

    def _tell_alone(self, parts: dict[int, dict[int, Any]], found: dict[int, Any]) -> list[dict[int, Told]]:
        """Tell calls that span segments, or whose segment is not known; return what was told."""
        told = []
        for call in [one for one, mine in parts.items() if len(mine) != 1 or max(mine) >= len(self._family.rows)]:
            try:
                told.append(self._told(parts.pop(call)))
                found[call] = _recorded(list(told[-1].values()))
            except SottovoceError as refused:
                found[call] = refused
        return told

    def _tell_by_lane(self, parts: dict[int, dict[int, Any]], found: dict[int, Any]) -> list[dict[int, Told]]:
        """Tell calls of one segment each, those of a segment together; return what was told."""
        told, rows = [], list(self._family.rows)
        for lane in sorted({number for mine in parts.values() for number in mine}):
            calls = [call for call, mine in parts.items() if lane in mine]
            outcomes: Any
            try:
                outcomes = self._family.lane(rows[lane]).session.tell_each([parts[call][lane] for call in calls])
            except (StudyBehind, StorageError) as refused:
                outcomes = [refused] * len(calls)
            for call, one in zip(calls, outcomes, strict=True):
                if isinstance(one, Told):
                    told.append({lane: one})
                    found[call] = _recorded([one])
                elif isinstance(one, Exception):
                    found[call] = one
                else:
                    raise one  # the process is about to end
        return told

    def forget(self, ids: Any) -> int:
        """Close actions whose loss will never come: each counts as the middle of the range, whatever it was.

        Parameters
        ----------
        ids
            The id of one action, or an array of them.
        """
        told = self._told(tell_parts(places_in_lanes(self._found.key, ids), None, repeat="ignore", late="drop"))
        tend_told(self._family, told)
        return sum(one.stored for one in told.values())

    def _told(self, parts: dict[int, Any]) -> dict[int, Told]:
        self._session.check_usable()
        return tell_across(self._family, parts) if parts else {}

    def _begin_new_life(self, connection: Connection) -> None:
        self._family.renew(connection, 0)

    def _tend(self) -> None:
        tend_all(self._family)

    # ------------------------------------------------------------------ looking

    def recommend(self, *, segment: Any = None) -> Any:
        """Return the decision to take home for a segment; or one for all, with that of each segment beside it.

        Parameters
        ----------
        segment
            For whom; None for all.
        """
        if segment is not None:
            return for_segment(self._belief(self._key(segment)), self.domain)
        self._tend()
        with self._session.at_rest():
            beliefs = self._session.submit(self._beliefs)
            return for_all(beliefs, self.sizes, self._family.voices.judged(), self._family.blank, self.domain)

    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about the losses of a segment, with what others say of it.

        Parameters
        ----------
        segment
            Of whom.
        """
        statement, belief = self.privacy, self._belief(self._key(segment))
        known = believed_by(belief, self.domain)
        return replace(known, promises=statement.promises)

    def _belief(self, key: Segment) -> Belief:
        family = self._family
        self._tend()

        def listen(connection: Connection) -> Belief:
            family.voices.listen(connection)
            row = family.find(key)
            return family.voices.unseen(key) if row is None else family.voices.informed(row)

        with self._session.at_rest():
            found: Belief = self._session.submit(listen)
            return found

    def _beliefs(self, connection: Connection) -> dict[Segment, Belief]:
        family = self._family
        family.voices.listen(connection)
        return {family.segment_of(row): family.voices.informed(row) for row in family.rows}

    @property
    def sizes(self) -> dict[Segment, int]:
        """Events that were handed out, by segment, in the order in which segments were first asked for."""
        with self._session.at_rest():
            family = self._family
            hands = {lane.number: lane.session.hand.count for lane in family.lanes_here()}
            return {family.segment_of(row): row.asked - row.returned - hands.get(row.number, 0) for row in family.rows}

    def status(self) -> Status:
        """Return where the study stands: counts and released values only."""
        self._tend()
        with self._session.at_rest():
            beliefs = self._session.submit(self._beliefs)
            parts = [self._status_of(lane) for lane in self._all_lanes()]
            self._session.submit(lambda connection: None)
            family = self._family
            closed = sum(one.round for one in parts)
            waiting = [one.waiting for one in parts if one.waiting is not None]
            point = self._point(beliefs)
            return Status(
                name=self.name,
                generation=family.counters.generation,
                round=closed,
                open_rounds=sum(one.open_rounds for one in parts),
                asked=sum(one.asked for one in parts),
                told=sum(one.told for one in parts),
                forgotten=sum(one.forgotten for one in parts),
                outstanding=sum(one.outstanding for one in parts),
                remaining=self._left(),
                privacy=self.privacy.headline,
                spent=self._spent(closed),
                point=point,
                erasure_pending=sum(one.erasure_pending for one in parts),
                patience=family.patience,
                deadline=family.counters.deadline,
                waiting=min(waiting, key=_urgency, default=None),
                misfit=_worst([one.misfit() for one in beliefs.values() if len(one.history)]),
                chosen=None if self.domain.labels is None else self.domain.chosen(point),
                segments=tuple(self.sizes.items()),
            )

    def _status_of(self, lane: Lane) -> Counts:
        found: Counts = lane.session.submit(lambda connection: counted(lane.session, connection))
        return found

    def _all_lanes(self) -> list[Lane]:
        return [self._family.lane(row) for row in self._family.rows]

    def _point(self, beliefs: dict[Segment, Belief]) -> Floats:
        """Return the best decision for all segments together."""
        if not beliefs:
            return self.domain.middle
        sizes = np.array([max(1, self.sizes[one]) for one in beliefs], dtype=np.float64)
        coefficients = np.array([one.coefficients() for one in beliefs.values()])
        return np.array(self._family.blank.best_for(sizes / sizes.sum() @ coefficients))

    def _left(self) -> int | None:
        family = self._family
        if family.horizon is None:
            return None
        return family.horizon - family.asked + sum(row.returned for row in family.rows) + family.in_hand

    @property
    def remaining(self) -> int | None:
        """Events that are left to ask, of all segments; None if the horizon is unknown."""
        with self._session.at_rest():
            self._session.submit(lambda connection: None)
            return self._left()

    @property
    def round(self) -> int:
        """Rounds that are closed, of all segments."""
        with self._session.at_rest():
            return sum(row.closed for row in self._family.rows)

    @property
    def point(self) -> Floats:
        """The best decision for all segments together; each plays around a point of its own."""
        with self._session.at_rest():
            return self._point(self._session.submit(self._beliefs))

    def course(self, earlier: Course | None = None, *, most: int = 2_000, segment: Any = None) -> Course:
        """Return what was released of a segment, round after round: see `Study.course`. There is none of all together.

        Parameters
        ----------
        earlier
            What was returned before, of the same segment.
        most
            How many rounds at most: the newest ones.
        segment
            Whose.
        """
        newest = whole("most", most)
        if segment is None:
            return replace(NO_COURSE, why="each segment has a course of its own: course(segment=...)")
        key = self._key(segment)
        self._tend()
        row = self._family.find(key)
        if row is None:
            return NO_COURSE
        lane = self._family.lane(row)
        lane.session.submit(lambda connection: None)
        return course_of(lane.session, earlier, newest)

    def outstanding(self, limit: int | None = None) -> Outstanding:
        """Return what is asked and neither told nor forgotten, by any process, segment by segment.

        Parameters
        ----------
        limit
            How many at most.
        """
        most = None if limit is None else whole("limit", limit, least=0)
        self._session.submit(lambda connection: None)
        self._tend()
        parts = [
            (lane.segment, outstanding(lane.session, self._found.key, most, lane.number)) for lane in self._all_lanes()
        ]
        return joined_outstanding(parts, most)

    @property
    def plan(self) -> Plan:
        """The plan of every segment's first epoch: all of them have the same."""
        with self._session.at_rest():
            return self._family.plan_of(self._family.problem.horizon)

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle for the epochs at hand, of all segments."""
        with self._session.at_rest():
            states = [lane.session.state for lane in self._family.lanes_here()]
            return self.setup_oracle_calls + sum(one.oracle_calls for state in states for one in state.epochs.values())

    @property
    def setup_oracle_calls(self) -> int:
        """Those of them that this process made to plan."""
        with self._session.at_rest():
            return self._family.setup_calls

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """Give back actions that were reserved and not handed out, and close the connection."""
        with suppress(ForkRefused), self._session.at_rest():  # a child leaves alone what is its parent's
            if not self._session.closed:
                with suppress(StorageError):
                    give_back(self._family)
                    for lane in self._family.lanes_here():
                        lane.session.note_erasure()
                for lane in self._family.lanes_here():
                    lane.session.closed = True
                self._session.storage.close()
                self._session.closed = True


def _recorded(told: list[Told]) -> Recorded:
    return Recorded(sum(one.stored for one in told), sum(one.already for one in told), sum(one.dropped for one in told))


def _urgency(waiting: Any) -> tuple[bool, float, float]:
    """Order what segments wait for: losses before actions that are still to be asked, and what closes first."""
    positions, seconds = waiting.positions_left, waiting.seconds_left
    some = np.inf if positions is None else positions, np.inf if seconds is None else seconds
    return not waiting.outstanding, *some


def _worst(found: list[Misfit]) -> Misfit | None:
    """Return the misfit of the segment that the model fits least; there are as many chances as segments."""
    worst = min(found, key=lambda one: one.probability, default=None)
    return None if worst is None else replace(worst, probability=min(1.0, len(found) * worst.probability))
