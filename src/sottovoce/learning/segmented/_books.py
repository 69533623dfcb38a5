"""The books behind an optimizer of several segments: a lane of rounds for each, all of them informing each other.

Ids say whose an action is: (life, lane, event). A loss goes straight to its lane. What spans lanes is one assignment
away from done, or from not begun, as in bandit/_ask_tell.py: losses of a call that was cut short are recorded by the
next one, and actions that nobody got are handed out again.

Tests: tests/learning/segmented/test_interrupts.py raises at every line of every call.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Floats, Integers
from sottovoce.errors import HorizonReached, UnknownAction, UnknownSegment
from sottovoce.exploration import Record
from sottovoce.exploration.posterior import (
    Belief,
    Kinship,
    PosteriorProbes,
    Prior,
    Segment,
    Segments,
    Settings,
)
from sottovoce.learning.bandit._ask_tell import BUSY
from sottovoce.learning.bandit._life import Life
from sottovoce.learning.bandit.actions import Action, Actions, gathered
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD
from sottovoce.learning.bandit.open_rounds import Filling, as_ids
from sottovoce.learning.bandit.private_bandit import PrivateBandit
from sottovoce.learning.bandit.rounds import Block
from sottovoce.learning.bandit.saved_state import LIFE_BITS
from sottovoce.learning.segmented.lane import Lane, asked_of
from sottovoce.learning.segmented.requests import missing_segment, segments_of_block
from sottovoce.learning.segmented.stretch import events_before_an_end

__all__ = ["SegmentedBooks"]

_ID_BITS = 63  # of a life, a lane and an event
_FAR = int(np.iinfo(np.int64).max)
_BEFORE = 20.0  # events of each segment that are taken for granted, in guessing what share of all it has


class SegmentedBooks(PrivateBandit):
    """The books. All methods but the properties are called with the lock held."""

    def _begin(self) -> None:
        self._epochs = self._next_epoch(None)  # none that is played: what lanes begin with
        self._start_lanes(0)

    def _start_lanes(self, life: int) -> None:
        self.segments: Segments = self._configuration.segments
        lane_bits: int = (self.segments.most - 1).bit_length()
        self._event_bits: int = _ID_BITS - LIFE_BITS - lane_bits  # 31, of 4,096 segments
        self._base = life << (_ID_BITS - LIFE_BITS)
        self._lanes: list[Lane] = []
        self._by_segment: dict[Any, Lane] = {}
        self._left = 0  # actions that may be handed out one by one before somebody has to look around
        self._unfinished: list[tuple[Lane, list[Filling[Block]], int]] = []
        self._handing: list[tuple[Lane, int]] = []  # lanes whose actions are being handed out, and where they were
        self._templates = {self._epoch.plan.horizon: self._epoch}
        explorer = self._epoch.explorer
        assert isinstance(explorer, PosteriorProbes)
        self._kinship = Kinship(self.segments, explorer.belief)

    # ------------------------------------------------------------------ lanes

    def _lane_of(self, segment: Any) -> Lane:
        """Return the lane of a segment; opened, if it has none."""
        if segment is None:
            raise missing_segment()
        key = self.segments.key(segment)
        return self._by_segment.get(key) or self._open_lane(key)

    def _open_lane(self, key: Segment) -> Lane:
        self._check_room([key])
        lane = self._new_lane(key)
        lane.charge(self._life)
        self._admit(lane)
        return lane

    def _new_lane(self, key: Segment, record: Record | None = None) -> Lane:
        number = len(self._lanes)
        self._opening = key
        origin = self._base + (number << self._event_bits)
        lane = Lane(self, number, key, origin, self._make_lane_epoch, self._clock, record)
        lane.witness(partial(self._pass_on, number << self._event_bits))
        return lane

    def _admit(self, lane: Lane) -> None:
        """Let a lane take part."""
        self._kinship.join(self.segments.row(lane.segment), lane.speaker, lane.number)
        self._lanes = [*self._lanes, lane]
        self._by_segment = {one.segment: one for one in self._lanes}

    def _check_room(self, keys: list[Segment]) -> None:
        """Refuse segments that were not named, beyond the limit; those that were have their room."""
        named = set(self.segments.names)
        room = self.segments.most - len(named) - sum(lane.segment not in named for lane in self._lanes)
        unnamed = [key for key in keys if key not in named]
        if len(unnamed) > room:
            raise UnknownSegment(
                f"segment {unnamed[room]!r} would be one more than the {self.segments.most} that there may be: raise "
                "limit=, or put rare ones together under one name"
            )

    def _pass_on(self, first: int, number: int, numbers: Floats) -> None:
        if self._on_release is not None:
            self._on_release(first + number, numbers)

    def _make_lane_epoch(self, number: int, length: int, first: int, previous: Epoch | None) -> Epoch:
        like = self._templates.get(length)
        if like is None:
            like = self._make_epoch(length, 0, None)
            self._templates = {**self._templates, length: like}
        problem = replace(self._problem, horizon=length)
        earlier = 0 if previous is None else previous.earlier + previous.counts[1]
        epoch = Epoch(problem, like.plan, self._source, first=first, earlier=earlier, like=like.explorer)
        if previous is not None:
            epoch.follow(previous)
        assert isinstance(epoch.explorer, PosteriorProbes)
        epoch.explorer.ask_others = partial(self._said_of, number, length)
        if number < self._kinship.count:
            self._kinship.replace(number, epoch.explorer.belief)
        return epoch

    def _said_of(self, number: int, length: int) -> tuple[Prior, Settings]:
        """Return what other lanes say of one, and what holds for it among them."""
        explorer: Any = self._templates[length].explorer
        template: Belief = explorer.belief
        count, sizes = max(number + 1, len(self._lanes)), self._sizes_of_members()
        asked = int(sizes.sum())
        if number == len(self._lanes):
            prior = self._kinship.prior(-1, self.segments.row(self._opening), sizes)
            mine, variance = 0.0, template.variance
        else:
            prior = self._kinship.prior(number, sizes=sizes)
            mine, variance = float(sizes[number]), self._lanes[number].speaker.variance
        share = 1.0 if self.horizon is None else (mine + _BEFORE) / (asked + _BEFORE * count)
        return prior, template.settings.among(count, asked, share, variance)

    def _sizes_of_members(self) -> Floats:
        """Events of each segment that has joined; none of one whose opening was cut short."""
        sizes = np.zeros(self._kinship.count)
        sizes[: len(self._lanes)] = [lane.asked for lane in self._lanes]
        return sizes

    def _clock(self) -> int:
        """Positions that were asked, of all segments: what patience counts."""
        return asked_of(self._lanes)

    @property
    def _asked(self) -> int:
        return self._origin + self._clock()

    def _settle(self) -> None:
        """See to what is unusual: a process that has forked, or a call before this one that was cut short."""
        if self._generation != _fork.current:
            self._refuse_fork()
        if self._unfinished:
            self._finish(self._unfinished)
        for lane, asked in self._handing:  # nobody got these
            lane.rewind(asked)
        self._handing = []
        self._settled = self._generation

    def _charge(self, life: Life) -> None:
        super()._charge(life)
        for lane in self._lanes:
            lane.charge(life)

    # ------------------------------------------------------------------ asking

    def _ask_for(self, segment: Any) -> Action:
        if self._settled != _fork.current:
            self._tidy()
        lane = (self._by_segment.get(segment) if type(segment) is str else None) or self._lane_of(segment)
        left = self._left
        if left <= 0:
            self._look_around_for(1)
            left = self._left
        self._left = left - 1  # before: a call that is cut short leaves too few, and then they are counted again
        action = lane.ask_one()
        if action[0] == lane.edge:
            self._note_full([lane])
        return action

    def _ask_for_each(self, size: int, segment: Any) -> Actions:
        self._tidy()
        keys, index = self._keys_of(size, segment)
        self._look_around_for(size)
        lanes = [self._lane_of(key) for key in keys]
        counts = np.bincount(index, minlength=len(lanes)).tolist()
        for lane, count in zip(lanes, counts, strict=True):
            lane.draw(count)  # all that can fail, before anything is handed out
        self._left -= size
        self._handing = [(lane, lane.asked) for lane in lanes]
        self._settled = BUSY
        pieces = [lane.hand_out(count) for lane, count in zip(lanes, counts, strict=True)]
        actions = gathered(pieces, np.argsort(index, kind="stable"))
        self._handing = []
        self._settled = self._generation
        self._note_full(lanes)
        return actions

    def _ask_round_of(self, segment: Any, most: int | None) -> Actions:
        self._tidy()
        lane = self._lane_of(segment)
        self._look_around_for(1)
        left = lane.left_of_round() if self.remaining is None else min(lane.left_of_round(), self.remaining)
        size = left if most is None else min(left, most)
        self._left -= size
        actions = lane.hand_out(size)
        self._note_full([lane])
        return actions

    def _ask_until_an_end(self, segments: Sequence[Any]) -> Actions:
        self._tidy()
        if not segments:
            raise ValueError("segment is an empty list: name at least one event's")
        keys, index = self._keys_of(len(segments), segments)
        self._look_around_for(1)
        size = len(index) if self.remaining is None else min(len(index), self.remaining)
        index = index[:size]
        keys = keys[: int(index.max()) + 1]  # in the order of their first events
        known = [self._by_segment.get(key) for key in keys]
        left = [0 if lane is None else lane.left_of_begun() for lane in known]
        size = events_before_an_end(index, left, lambda place: self._lane_of(keys[place]).left_of_round())
        return self._ask_for_each(size, segments[:size])

    def _keys_of(self, size: int, segment: Any) -> tuple[list[Segment], Integers]:
        """Return the segments of a block, in the order of their first events, and which one each event has."""
        places, index = segments_of_block(self.segments, size, segment)
        self._check_room([one for one in places if one not in self._by_segment])
        return places, index

    def _look_around_for(self, size: int) -> None:
        """Refuse to ask beyond the horizon; close rounds that are out of patience; count how many may be asked now."""
        if size <= self._left:
            return
        self._check_remaining(size)
        room = (1 << self._event_bits) - max((lane.asked for lane in self._lanes), default=0)
        if size > room:
            raise HorizonReached(
                f"a segment has ids for {1 << self._event_bits:,} events, and no more: begin another run"
            )
        now, remaining = self._clock(), self.remaining
        due = min((lane.close_overdue(now) for lane in self._lanes), default=_FAR)
        self._left = max(size, min(room if remaining is None else min(room, remaining), due - now))

    def _note_full(self, lanes: list[Lane]) -> None:
        """Note which rounds are asked to their end: from now on patience counts for them."""
        now = self._clock()
        self._left = min(self._left, min(lane.note_full(now) for lane in lanes) - now)

    # ------------------------------------------------------------------ telling

    def _tell_one(self, one: int, loss: Any, late: str) -> None:
        if self._settled != _fork.current:
            self._tidy()
        number, lanes = (one - self._base) >> self._event_bits, self._lanes
        if not 0 <= number < len(lanes):
            raise _never(one)
        lanes[number].tell_one(one, loss, late)

    def _lane_with(self, one: int) -> Lane:
        number = (one - self._base) >> self._event_bits
        if not 0 <= number < len(self._lanes):
            raise _never(one)
        return self._lanes[number]

    def _tell_block(self, ids: Any, losses: NDArray[Any], late: str) -> None:
        self._tidy()
        found = as_ids(ids)
        if losses.shape != found.shape:
            raise ValueError(f"losses must have the shape of ids, {found.shape}, got {losses.shape}")
        values = losses.ravel()
        parts = self._by_lane(found.ravel())
        # Where all of them belong, before any is recorded.
        self._finish([(lane, lane.where(mine, values[picked], late), TOLD) for lane, mine, picked in parts])

    def _forget(self, ids: Any) -> int:
        self._tidy()
        parts = self._by_lane(as_ids(ids).ravel())
        fillings = [(lane, lane.waiting(mine), FORGOTTEN) for lane, mine, _ in parts]
        count = sum(len(slots) for _, filling, _ in fillings for _, slots, _ in filling)
        self._finish(fillings)
        return count

    def _by_lane(self, ids: Integers) -> list[tuple[Lane, Integers, Any]]:
        """Return which ids are of which lane, and where they stand."""
        if not len(ids):
            return []
        numbers = (ids - self._base) >> self._event_bits
        first = int(numbers[0])
        if (numbers == first).all():
            return [(self._lane_with(int(ids[0])), ids, slice(None))]
        order = np.argsort(numbers, kind="stable")
        ends = np.flatnonzero(np.diff(numbers[order])) + 1
        return [(self._lane_with(int(ids[mine[0]])), ids[mine], mine) for mine in np.split(order, ends)]

    def _finish(self, fillings: list[tuple[Lane, list[Filling[Block]], int]]) -> None:
        """Record what a call brings, and see to all that follows from it: with the first line all of it is in."""
        self._settled = BUSY
        self._unfinished = fillings
        for lane, filling, state in fillings:
            lane.fill(filling, state)
        self._unfinished = []
        self._settled = self._generation

    def _tidy(self) -> None:
        """See to what is unusual, before a call begins."""
        if self._settled != _fork.current:
            self._settle()


def _never(one: int) -> UnknownAction:
    return UnknownAction(f"id {one} was never handed out; nothing of this call was recorded")
