"""Checks of a study's segments: each is examined as a study is; and what must be true between them."""

from dataclasses import dataclass, field

import numpy as np

from sottovoce.errors import UnknownSegment
from sottovoce.exploration import Explorer, Record
from sottovoce.exploration.posterior import Segment, Segments, segment_text
from sottovoce.learning.planning.problem import Problem
from sottovoce.learning.segmented.lane import segment_of
from sottovoce.studies.database.kinds import SEGMENT
from sottovoce.studies.database.snapshot import Snapshot, tried
from sottovoce.studies.session.open_round import TERMS
from sottovoce.studies.verifying._examiner import MALFORMED, Examiner

__all__ = ["CheckedLanes", "check_lanes"]

_NOT_COMPUTED = (
    "what other segments said when a round began is on record in counts, and is not computed again: that what was "
    "learned follows from what was released is checked segment by segment, where decisions were drawn from is not"
)


@dataclass
class CheckedLanes:
    """What came of looking at the segments."""

    examiners: list[Examiner] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    between: list[str] = field(default_factory=list)  # faults
    notes: list[str] = field(default_factory=list)
    like: dict[str, Explorer] = field(default_factory=dict)

    def faults(self) -> list[str]:
        """Return all faults, each with whose it is."""
        own = [f"{name}: {one}" for name, mine in zip(self.names, self.examiners, strict=True) for one in mine.faults]
        return [*self.between, *own]


def check_lanes(
    snapshot: Snapshot, problem: Problem | None, horizon: int | None, parent_faults: list[str]
) -> CheckedLanes:
    """Examine every segment; what they have learned is learned again by whoever called."""
    found = CheckedLanes()
    head = tried("the configuration", snapshot.study.configuration, []) or {}
    segments = None if problem is None else problem.segments
    known: list[Segment] = []
    for number, lane in zip(snapshot.numbers, snapshot.lanes, strict=True):
        examiner = Examiner(lane, shares_clock=True)
        examiner.simulated = bool(head.get("simulated"))
        examiner.examine()
        name = f"segment {number}"
        try:
            segment = _segment(examiner, head, number, segments)
            name = f"segment {segment_text(segment)!r}"
            examiner.expect(segment not in known, "it is stored twice")
            known.append(segment)
            _terms(examiner, snapshot, number)
        except MALFORMED as problem_met:
            examiner.faults.append(f"it cannot be read: {type(problem_met).__name__}")
        if parent_faults:
            examiner.faults += [] if examiner.faults else ["the study that it is of is damaged"]
        found.examiners.append(examiner)
        found.names.append(name)
    own = snapshot.rounds or snapshot.epochs or snapshot.cells or snapshot.study.asked
    if own:
        found.between.append("a study with segments has rounds of its own, beside those of its segments")
    if snapshot.numbers != tuple(range(len(snapshot.lanes))):
        found.between.append("a segment is gone")
    asked = sum(lane.study.asked - lane.study.returned for lane in snapshot.lanes)
    if horizon is not None and asked > horizon:
        found.between.append(f"{asked} events are asked of all segments, and horizon={horizon}")
    if segments is None and snapshot.lanes and problem is not None:
        found.between.append("segments are stored of a study that was made without")
    if segments is not None and len(snapshot.lanes) > segments.most:
        found.between.append(f"{len(snapshot.lanes)} segments are stored, and there may be {segments.most}")
    if any(lane.rounds for lane in snapshot.lanes):
        found.notes.append(_NOT_COMPUTED)
    return found


def _segment(examiner: Examiner, head: Record, number: int, segments: Segments | None) -> Segment:
    """Return whose a head is; check that it is of this study, and one of its segments."""
    record, row = tried("its making", examiner.rows.study.configuration, examiner.faults) or {}, examiner.rows.study
    examiner.expect(examiner.key_matches(record), "its key is not the one that it was made with")
    ours = record.get("format") == SEGMENT and record.get("identity") == head.get("identity")
    examiner.expect(ours and record.get("number") == number, "it is of another study, or in another's place")
    examiner.expect(row.generation >= 1, "its life is none")
    segment = segment_of(record["segment"])
    if segments is not None:
        try:
            segments.key(segment)
        except UnknownSegment:
            examiner.faults.append("it is none of the segments that the study was made with")
    return segment


def _terms(examiner: Examiner, snapshot: Snapshot, number: int) -> None:
    """Check that what rounds rest on can have been so: counts of what others had released never fall."""
    before: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = np.empty(0, dtype=np.int64)
    closed = np.array([lane.study.closed for lane in snapshot.lanes], dtype=np.int64)
    for place, public in sorted(examiner.public.items()):
        names = [*TERMS, "reach", "closed", "likeness"]
        says = all(f"terms.{name}" in public for name in names) and public["terms.horizon"] >= 1
        if not examiner.expect(says, f"round {place} does not say what it rests on"):
            continue
        count, heard = public["terms.segments"], public["terms.closed"]
        possible = number < count == len(heard) <= len(closed) and bool((heard <= closed[: len(heard)]).all())
        grows = len(before) <= len(heard) and bool((before <= heard[: len(before)]).all())
        examiner.expect(possible and grows, f"round {place} rests on what other segments had not released")
        before = heard
