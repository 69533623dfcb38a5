"""The segments of a study in one process: their heads as they were last read, and what all of them share."""

import json
import threading
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from sottovoce.errors import UnknownSegment
from sottovoce.exploration.posterior import Belief, Segment, Segments, Settings
from sottovoce.learning.bandit.epoch import Epoch, next_epoch
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.planning.plan import Plan
from sottovoce.studies.calls.asking import Asker
from sottovoce.studies.database.cells import CellTable
from sottovoce.studies.database.storage import Storage, driver_of
from sottovoce.studies.lanes.member import Member
from sottovoce.studies.lanes.rows import LaneRow, insert_lane, rows_of, segments_in
from sottovoce.studies.lanes.state import LaneState, explorer_of
from sottovoce.studies.lanes.tending import Due, tend_quietly
from sottovoce.studies.lanes.voices import Voices
from sottovoce.studies.opening.creating import Found
from sottovoce.studies.session.counters import AUTO, Counters, load_counters, save_counters
from sottovoce.studies.session.engine import Refusal
from sottovoce.studies.session.following import follow
from sottovoce.studies.session.restoration import begin_new_life, next_generation
from sottovoce.studies.session.state import StudyState

__all__ = ["Family", "Lane"]


@dataclass(frozen=True, eq=False)
class Lane:
    """One segment of a study in this process."""

    number: int
    segment: Segment
    session: Member
    asker: Asker


class Family:
    """All segments of a study.

    Parameters
    ----------
    storage
        Where the study lives.
    found
        What it was made with.
    """

    def __init__(self, storage: Storage, found: Found) -> None:
        self.storage, self.found = storage, found
        self.configuration, self.source = found.configuration, found.source
        self.segments: Segments = found.configuration.segments
        self.problem = found.configuration.problem()
        self.horizon = found.configuration.horizon
        self.turn = threading.RLock()
        self.head = Member(self, StudyState(self.configuration, self.source, found.right, self.problem), found.study)
        self.rows: list[LaneRow] = []
        self.counters = Counters(found.study)  # of the study itself
        self.asked = self.returned = 0  # of all segments
        self._place: dict[int, int] = {}  # of heads among the rows
        self._numbers: dict[Segment, int] = {}
        self.coming = 0  # events that the call at hand is still to reserve, of other segments
        self.connection: Connection | None = None  # within a transaction
        self.joined: list[Member] = []  # segments that take part in it, beside whoever has begun it
        self.renewed = False  # whether a new life was begun in it
        self.voices = Voices(self)
        self._read: tuple[Counters, list[LaneRow]] | None = None  # in it
        self._seen: tuple[Counters, dict[int, LaneRow]] | None = None  # on record for certain
        self._names: dict[bytes, Segment] = {}  # of heads, by their keys
        self._lanes: dict[bytes, Lane] = {}
        self.due = Due()
        self._plans: dict[int, Epoch] = {}
        self._templates: dict[str, Epoch] = {}

    # ------------------------------------------------------------------ within a transaction

    def look(self, connection: Connection) -> bool:
        """Take the study's lock, and read how far all segments are; return whether the storage went back."""
        counters = load_counters(connection, self.found.study)
        self.connection, self.joined, self.renewed = connection, [], False
        self._take(connection, counters)
        self._read = counters, self.rows
        if self._seen is None:
            return False
        before, rows = self._seen
        now = {row.study: row for row in self.rows}
        gone = any(study not in now or now[study].is_older_than(row) for study, row in rows.items())
        if counters.generation > before.generation:  # another has begun a new life since: nothing of the old goes on
            self._let_go()
            return False
        return gone or counters.is_older_than(before)

    def _take(self, connection: Connection, counters: Counters) -> None:
        rows = rows_of(connection, self.found.study)
        unnamed = [row for row in rows if row.key not in self._names]
        if unnamed:
            found = segments_in(connection, [row.study for row in unnamed])
            self._names = self._names | {row.key: found[row.study] for row in unnamed}
        self._know(counters, rows)

    def note(self, counters: Counters) -> None:
        """Note what a segment has changed in this transaction."""
        place = self._place.get(counters.id)
        if place is None:
            if counters.id == self.found.study:
                self.counters = counters
            return
        row = self.rows[place]
        self.asked += counters.asked - row.asked
        self.returned += counters.returned - row.returned
        self.rows = [*self.rows[:place], row.after(counters), *self.rows[place + 1 :]]

    def settle(self, *, committed: bool) -> None:
        """Let all that took part in a transaction know what came of it."""
        joined, self.joined, self.connection, self.coming = self.joined, [], None, 0
        renewed, self.renewed = self.renewed, False
        for one in joined:
            one.conclude() if committed and not renewed else one.abandon()
        if committed and renewed:
            self._seen = None
            self._let_go()
        elif committed and self._read is not None:
            counters, rows = self._read
            self._seen = counters, {row.study: row for row in rows}
        if not committed:
            self._go_back()

    def renew(self, connection: Connection, newest: int) -> None:
        """Begin a new life of all segments: what is not released is dropped, and ids handed out before are refused."""
        counters = load_counters(connection, self.found.study)
        self._take(connection, counters)  # what one segment has is in the others' way no more
        if self.found.right is not None:
            self.found.right.present_within(connection, self.found.study)
        met = [newest, *(row.generation for row in self.rows)]
        if self._seen is not None:
            met += [self._seen[0].generation, *(row.generation for row in self._seen[1].values())]
        counters.generation = next_generation(counters, max(met))
        counters.structure += 1
        for row in self.rows:
            state = LaneState(self, row.number, row.study, self.segment_of(row))
            follow(state, connection, load_counters(connection, row.study))
            cells = CellTable(driver_of(connection), row.study, self.storage.is_sqlite)
            begin_new_life(state, connection, cells, generation=counters.generation)
            save_counters(connection, state.counters, self.head.writer)
        save_counters(connection, counters, self.head.writer)
        self.renewed = True

    def _let_go(self) -> None:
        """Let go of what was in hand in an earlier life, and of segments whose heads are gone."""
        here = {row.key for row in self.rows}
        for key, lane in self._lanes.items():
            lane.session.retired = key not in here
            lane.session.hand.drop()
        self._lanes = {key: lane for key, lane in self._lanes.items() if key in here}

    def _go_back(self) -> None:
        """After a transaction that failed, know no more than before it."""
        counters, rows = (Counters(self.found.study), {}) if self._seen is None else self._seen
        self._know(counters, sorted(rows.values()))

    def _know(self, counters: Counters, rows: list[LaneRow]) -> None:
        self.counters, self.rows = counters, rows
        self.asked, self.returned = sum(row.asked for row in rows), sum(row.returned for row in rows)
        self._place = {row.study: row.number for row in rows}
        self._numbers = {self._names[row.key]: row.number for row in rows}

    # ------------------------------------------------------------------ segments

    def lanes_of(self, keys: list[Segment]) -> list[Lane]:
        """Return segments, opened if they have not been; all of them or none."""
        with self.turn:
            if any(self.find(key) is None for key in keys):
                self.head.submit_alone(lambda connection: self._open(connection, keys))
            return [self.lane(self.rows[self._numbers[key]]) for key in keys]

    def find(self, key: Segment) -> LaneRow | None:
        """Return the head of a segment, as it was last read; None if nobody has asked for it."""
        number = self._numbers.get(key)
        return None if number is None else self.rows[number]

    def _open(self, connection: Connection, keys: list[Segment]) -> None:
        fresh, named = [key for key in dict.fromkeys(keys) if self.find(key) is None], set(self.segments.names)
        unnamed = [key for key in fresh if key not in named]  # those that were named have their room
        room = self.segments.most - len(named) - sum(key not in named for key in self._numbers)
        if len(unnamed) > room:
            raise Refusal(
                UnknownSegment(
                    f"segment {unnamed[room]!r} would be one more than the {self.segments.most} that there may be: "
                    "raise limit=, or put rare ones together under one name"
                )
            )
        for place, key in enumerate(fresh, len(self.rows)):
            insert_lane(connection, self.counters, self.found.identity, place, key, self.found.seed)
        self._take(connection, self.counters)
        self._read = self.counters, self.rows

    def lane(self, row: LaneRow) -> Lane:
        """Return a segment in this process: one and the same, for it may have actions in hand."""
        with self.turn:
            lane = self._lanes.get(row.key)
            if lane is None:
                segment = self._names[row.key]
                session = Member(self, LaneState(self, row.number, row.study, segment), row.study)
                asker = Asker(session, self.found.key, partial(tend_quietly, self, session), row.number)
                lane = Lane(row.number, segment, session, asker)
                self._lanes = {**self._lanes, row.key: lane}
            return lane

    def segment_of(self, row: LaneRow) -> Segment:
        """Return whose head it is."""
        return self._names[row.key]

    def state_of(self, row: LaneRow) -> LaneState | None:
        """Return the state of a segment, if this process has one."""
        lane = self._lanes.get(row.key)
        return None if lane is None else lane.session.state  # type: ignore[return-value]

    def lanes_here(self) -> list[Lane]:
        """Return the segments that this process has had to do with."""
        return list(self._lanes.values())

    @property
    def patience(self) -> int | None:
        """Positions of all segments that a full round waits for its losses; None for ever."""
        stored = self.counters.patience
        return patience_for("auto" if stored == AUTO else stored, horizon=self.horizon, planned=self.asked)

    @property
    def in_hand(self) -> int:
        """Events that this process has reserved, and not handed out."""
        return sum(lane.session.hand.count for lane in self._lanes.values())

    def asked_elsewhere(self, study: int) -> int:
        """Events that were asked of all other segments."""
        place = self._place.get(study)
        return self.asked + self.coming - (0 if place is None else self.rows[place].asked)

    def returned_elsewhere(self, study: int) -> int:
        """Events that were given back of all other segments."""
        place = self._place.get(study)
        return self.returned - (0 if place is None else self.rows[place].returned)

    # ------------------------------------------------------------------ plans

    def plan_of(self, length: int) -> Plan:
        """Return the plan of an epoch of so many events: the same for all segments."""
        return self._planned(length).plan

    def _planned(self, length: int) -> Epoch:
        epoch = self._plans.get(length)
        if epoch is None:
            problem = replace(self.problem, horizon=length)
            epoch = next_epoch(problem, self.configuration, self.source, first=0, previous=None)
            self._plans = {**self._plans, length: epoch}
            self._templates = {_text(epoch.plan): epoch, **self._templates}
        return epoch

    def template(self, plan: Plan) -> Epoch:
        """Return an epoch of a plan that is never played: what segments begin with."""
        found = self._templates.get(_text(plan))
        if found is None:
            found = Epoch(replace(self.problem, horizon=plan.horizon), plan, self.source)
            self._templates = {**self._templates, _text(plan): found}
        return found

    def settings_of(self, length: int) -> Settings:
        """Return what is planned for an epoch of so many events."""
        return explorer_of(self._planned(length)).belief.settings

    @property
    def setup_calls(self) -> int:
        """Calls of the linear oracle that were made to plan."""
        return sum(one.oracle_calls for one in self._templates.values())

    @property
    def blank(self) -> Belief:
        """What is believed of each segment before anything is known."""
        return explorer_of(self._planned(self.problem.horizon)).belief


def _text(plan: Plan) -> str:
    return json.dumps(plan.to_dict(), sort_keys=True, default=str)
