"""An optimizer of several segments: a lane of rounds for each, all of them informing each other.

An event belongs to one segment, its loss is in one released number of that segment's lane, and what segments tell each
other is computed from released numbers. So the promise is that of one optimizer, given once.

Ids say whose an action is: (life, lane, event). A loss goes straight to its lane. What spans lanes is one assignment
away from done, as in _ask_tell.py: a call that was cut short is finished by the next one.

Tests: tests/learning/segmented/.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce import _fork
from sottovoce._arrays import Floats, Integers
from sottovoce._checks import whole
from sottovoce.domains import Domain
from sottovoce.errors import StateRefused, UnknownAction, UnknownSegment
from sottovoce.exploration import Record
from sottovoce.exploration.posterior import (
    MOST_SEGMENTS,
    Belief,
    Kinship,
    Likeness,
    Misfit,
    Posterior,
    PosteriorProbes,
    Prior,
    Segment,
    Segments,
    Settings,
)
from sottovoce.learning.bandit import saved_state
from sottovoce.learning.bandit._life import Life, resume_life
from sottovoce.learning.bandit.actions import Action, Actions, gathered
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.open_losses import FORGOTTEN, TOLD
from sottovoce.learning.bandit.open_rounds import Filling, as_ids
from sottovoce.learning.bandit.outstanding import Outstanding, joined_outstanding
from sottovoce.learning.bandit.patience import patience_for
from sottovoce.learning.bandit.private_bandit import PrivateBandit
from sottovoce.learning.bandit.recommendation import Recommendation, believed_by
from sottovoce.learning.bandit.rounds import Block
from sottovoce.learning.segmented.lane import Lane, asked_of, segment_of
from sottovoce.learning.segmented.recommendation import SegmentedRecommendation, for_all, for_segment
from sottovoce.privacy import Ledger, NoiseSource

__all__ = ["SegmentedBandit"]

_EVENT_BITS, _LANE_BITS, _LIFE_BITS = 36, 12, 15
assert MOST_SEGMENTS <= 2**_LANE_BITS
_FAR = int(np.iinfo(np.int64).max)
_BEFORE = 20.0  # events of each segment that are taken for granted, in guessing what share of all it has


class SegmentedBandit(PrivateBandit):
    """What `PrivateBandit(..., segments=...)` returns: the same, for several segments."""

    def _begin(self) -> None:
        self._epochs = self._next_epoch(None)  # none that is played: what lanes begin with
        self._start_lanes(0)

    def _start_lanes(self, life: int) -> None:
        self.segments: Segments = self._configuration.segments
        self._base = life << (_EVENT_BITS + _LANE_BITS)
        self._lanes: list[Lane] = []
        self._by_segment: dict[Any, Lane] = {}
        self._left = 0  # actions that may be handed out one by one before somebody has to look around
        self._unfinished: list[tuple[Lane, list[Filling[Block]], int]] = []
        self._templates = {self._epoch.plan.horizon: self._epoch}
        explorer = self._epoch.explorer
        assert isinstance(explorer, PosteriorProbes)
        self._kinship = Kinship(self.segments, explorer.belief)

    # ------------------------------------------------------------------ lanes

    def _lane_of(self, segment: Any) -> Lane:
        """Return the lane of a segment; opened, if it has none."""
        if segment is None:
            raise _missing()
        key = self.segments.key(segment)
        return self._by_segment.get(key) or self._open_lane(key)

    def _open_lane(self, key: Segment) -> Lane:
        number = len(self._lanes)
        if number == self.segments.most:
            raise self._too_many(key)
        lane = self._new_lane(key)
        lane.charge(self._life)
        self._admit(lane)
        return lane

    def _new_lane(self, key: Segment, record: Record | None = None) -> Lane:
        number = len(self._lanes)
        self._opening = key
        origin = self._base + (number << _EVENT_BITS)
        lane = Lane(self, number, key, origin, self._make_lane_epoch, self._clock, record)
        lane.witness(self._pass_on)
        return lane

    def _admit(self, lane: Lane) -> None:
        """Let a lane take part."""
        if self._kinship.count == lane.number:  # a call that was cut short may have come so far
            self._kinship.join(self.segments.row(lane.segment), lane.speaker)
        else:
            self._kinship.replace(lane.number, lane.speaker)
        self._lanes = [*self._lanes, lane]
        self._by_segment = {one.segment: one for one in self._lanes}

    def _too_many(self, key: Segment) -> UnknownSegment:
        return UnknownSegment(
            f"segment {key!r} would be one more than the {self.segments.most} that there may be: raise limit=, or put "
            "rare ones together under one name"
        )

    def _pass_on(self, number: int, numbers: Floats) -> None:
        if self._on_release is not None:
            self._on_release(number, numbers)

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
        settings: Settings = explorer.belief.settings
        asked, count = self._clock(), max(number + 1, len(self._lanes))
        if number == len(self._lanes):
            mine, prior = 0, self._kinship.prior(-1, self.segments.row(self._opening))
        else:
            mine, prior = self._lanes[number].asked, self._kinship.prior(number)
        share = 1.0 if self.horizon is None else (mine + _BEFORE) / (asked + _BEFORE * count)
        return prior, settings.among(count, asked, share)

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
        self._settled = self._generation

    # ------------------------------------------------------------------ asking

    def ask(self, size: int | None = None, *, segment: Any = None) -> Any:
        """Return the next action for a segment, or a block of them, for one segment or one for each event.

        Parameters
        ----------
        size
            How many actions; None for a single `Action`, or as many as there are segments in a list.
        segment
            Whom it is for; a list for a block with one for each event.
        """
        if size is None and (type(segment) is str or not _are_several(segment)):
            with self._lock: return self._ask_for(segment)  # noqa: E701  # fmt: skip
        count = len(_several(segment)) if size is None else whole("size", size)
        with self._lock: return self._ask_for_each(count, segment)  # noqa: E701  # fmt: skip

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
        with self._lock: return self._ask_round_of(segment, limit)  # noqa: E701  # fmt: skip

    def _ask_for(self, segment: Any) -> Action:
        if self._settled != _fork.current or self._unfinished:
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
        pieces = [lane.hand_out(count) for lane, count in zip(lanes, counts, strict=True)]
        self._note_full(lanes)
        return gathered(pieces, np.argsort(index, kind="stable"))

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

    def _keys_of(self, size: int, segment: Any) -> tuple[list[Segment], Integers]:
        """Return the segments of a block, in the order of their first events, and which one each event has."""
        if not _are_several(segment):
            if segment is None:
                raise _missing()
            return [self.segments.key(segment)], np.zeros(size, dtype=np.int64)
        given = _several(segment)
        if len(given) != size:
            raise ValueError(f"segment must be one, or one for each of the size={size} actions, got {len(given)}")
        places: dict[Segment, int] = {}
        index = np.array([places.setdefault(self.segments.key(one), len(places)) for one in given], dtype=np.int64)
        fresh = [one for one in places if one not in self._by_segment]
        if len(self._lanes) + len(fresh) > self.segments.most:
            raise self._too_many(fresh[self.segments.most - len(self._lanes)])
        return list(places), index

    def _look_around_for(self, size: int) -> None:
        """Refuse to ask beyond the horizon; close rounds that are out of patience; count how many may be asked now."""
        if size <= self._left:
            return
        self._check_remaining(size)
        now, remaining = self._clock(), self.remaining
        due = min((lane.close_overdue(now) for lane in self._lanes), default=_FAR)
        self._left = max(size, min(_FAR if remaining is None else remaining, due - now))

    def _note_full(self, lanes: list[Lane]) -> None:
        """Note which rounds are asked to their end: from now on patience counts for them."""
        now = self._clock()
        self._left = min(self._left, min(lane.note_full(now) for lane in lanes) - now)

    # ------------------------------------------------------------------ telling

    def _tell_one(self, one: int, loss: Any, late: str) -> None:
        if self._settled != _fork.current or self._unfinished:
            self._tidy()
        number, lanes = (one - self._base) >> _EVENT_BITS, self._lanes
        if not 0 <= number < len(lanes):
            raise _never(one)
        lanes[number].tell_one(one, loss, late)

    def _lane_with(self, one: int) -> Lane:
        number = (one - self._base) >> _EVENT_BITS
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
        numbers = (ids - self._base) >> _EVENT_BITS
        first = int(numbers[0])
        if (numbers == first).all():
            return [(self._lane_with(int(ids[0])), ids, slice(None))]
        order = np.argsort(numbers, kind="stable")
        ends = np.flatnonzero(np.diff(numbers[order])) + 1
        return [(self._lane_with(int(ids[mine[0]])), ids[mine], mine) for mine in np.split(order, ends)]

    def _finish(self, fillings: list[tuple[Lane, list[Filling[Block]], int]]) -> None:
        """Record what a call brings, and see to all that follows from it: with the first line all of it is in."""
        self._unfinished = fillings
        for lane, filling, state in fillings:
            lane.fill(filling, state)
        self._unfinished = []

    def _tidy(self) -> None:
        """See to what is unusual, before a call begins."""
        if self._settled != _fork.current:
            self._settle()
        if self._unfinished:
            self._finish(self._unfinished)

    # ------------------------------------------------------------------ looking

    @property
    def round(self) -> int:
        """Rounds that are closed, of all segments."""
        return sum(lane.round for lane in self._lanes)

    @property
    def sizes(self) -> dict[Segment, int]:
        """Events that were asked, by segment, in the order in which segments were first asked for."""
        return {lane.segment: lane.asked for lane in self._lanes}

    @property
    def patience(self) -> int | None:
        """How many later positions, of all segments, a full round waits for its losses; None for ever."""
        return patience_for(self._configuration.patience, horizon=self.horizon, planned=self._clock())

    @property
    def point(self) -> Floats:
        """There is one for each segment: ask `recommend`."""
        raise ValueError("each segment plays around a point of its own: recommend(segment=...) says what is best")

    def recommend(self, *, segment: Any = None) -> Any:
        """Return the decision to take home for a segment; or one for all, with that of each segment beside it.

        Parameters
        ----------
        segment
            For whom; None for all.
        """
        if segment is None:
            with self._lock: return self._recommended_for_all()  # noqa: E701  # fmt: skip
        with self._lock: return self._recommended_for(segment)  # noqa: E701  # fmt: skip

    def posterior(self, *, segment: Any = None) -> Posterior:
        """Return what is believed about the losses of a segment, with what others say of it.

        Parameters
        ----------
        segment
            Of whom.
        """
        with self._lock: return self._believed_of(segment)  # noqa: E701  # fmt: skip

    def misfit(self, *, segment: Any = None) -> Misfit | None:
        """Return how well what was released fits the model, of a segment; or of the one that it fits least.

        Parameters
        ----------
        segment
            Of whom; None for the one that it fits least, its p-value multiplied by the number of segments.
        """
        with self._lock: return self._misfit_of(segment)  # noqa: E701  # fmt: skip

    def _belief_of(self, segment: Any) -> Belief:
        """Return what is believed of a segment, with what others say; of one that was never asked for, just that."""
        self._tidy()
        if segment is None:
            raise _missing()
        key = self.segments.key(segment)
        lane = self._by_segment.get(key)
        if lane is not None:
            return lane.informed_belief()
        explorer: Any = self._epoch.explorer
        unseen: Belief = explorer.belief.sibling()
        unseen.lean_on(self._kinship.prior(-1, self.segments.row(key)), unseen.settings)
        return unseen

    def _recommended_for(self, segment: Any) -> Recommendation:
        return for_segment(self._belief_of(segment), self.domain)

    def _recommended_for_all(self) -> SegmentedRecommendation:
        self._tidy()
        beliefs = {lane.segment: lane.informed_belief() for lane in self._lanes}
        explorer: Any = self._epoch.explorer
        return for_all(beliefs, self.sizes, self._kinship, explorer.belief, self.domain)

    def _believed_of(self, segment: Any) -> Posterior:
        statement = self.privacy
        known = believed_by(self._belief_of(segment), self.domain)
        return replace(known, privacy=str(statement.headline), simulated=bool(statement.simulated))

    def _misfit_of(self, segment: Any) -> Misfit | None:
        if segment is not None:
            return self._belief_of(segment).misfit()
        self._tidy()
        found = [lane.informed_belief().misfit() for lane in self._lanes]
        worst = min(found, key=lambda one: one.probability, default=None)
        return None if worst is None else replace(worst, probability=min(1.0, len(found) * worst.probability))

    def _outstanding(self, limit: int | None) -> Outstanding:
        self._tidy()
        return joined_outstanding([(lane.segment, lane.outstanding(limit)) for lane in self._lanes], limit)

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle that were made for this optimizer, `setup_oracle_calls` among them."""
        setup = self._problem_calls + sum(one.oracle_calls for one in self._templates.values())
        return setup + sum(lane.oracle_calls for lane in self._lanes)

    def __repr__(self) -> str:
        return (
            f"PrivateBandit({self.domain!r}, horizon={self.horizon}, privacy={self._problem.privacy!r}, "
            f"segments={self.segments!r}, asked={self._clock()}, closed_rounds={self.round})"
        )

    # ------------------------------------------------------------------ saving

    def _saved(self) -> bytes:
        self._tidy()
        for lane in self._lanes:
            lane.settle()
        lanes = {f"lane{lane.number}.{name}": one for lane in self._lanes for name, one in lane.to_record().items()}
        return saved_state.save(
            self._configuration,
            self._epoch,
            coins=self._coins,
            asked=self._clock(),
            planned=self._epochs.planned,
            released=self.round,
            finished_calls=self._epochs.finished_calls,
            lanes=len(self._lanes),
            likeness=list(self._kinship.likeness.places()),
            seed=self.seed,
            simulated=self._source.simulated,
            name=self._life.name,
            token=self._life.hand_over(),
            **lanes,
        )

    @classmethod
    def from_state(
        cls,
        state: bytes,
        *,
        domain: Domain | None = None,
        noise: NoiseSource | None = None,
        ledger: Ledger | None = None,
        name: str | None = None,
    ) -> Self:
        """Return an optimizer that goes on where `state` was taken; see `PrivateBandit.from_state`."""
        saved = saved_state.load(state, domain=domain, noise=noise)
        if saved.token is not None and ledger is None:
            raise StateRefused(f"{saved.name!r} was charged to a ledger, and this life must be, too: pass ledger=")
        self = cls.__new__(cls)
        self._prepare(saved.configuration, saved.source, saved.seed)
        self._coins.bit_generator.state = saved.coins
        self._epochs = self._next_epoch(None)
        self._start_lanes(1 + secrets.randbelow(2**_LIFE_BITS - 1))
        for record in saved.lanes:
            self._admit(self._new_lane(self.segments.key(segment_of(record["segment"])), record))
        self._kinship.likeness = Likeness.at(saved.likeness)
        if self.remaining == 0:
            raise StateRefused(f"all {self.horizon} events of this state were asked: there is nothing to go on with")
        simulated = self._source.simulated
        self._charge(resume_life(ledger, name or saved.name, saved.token, self._problem.privacy, simulated=simulated))
        return self

    def _charge(self, life: Life) -> None:
        super()._charge(life)
        for lane in self._lanes:
            lane.charge(life)


def _never(one: int) -> UnknownAction:
    return UnknownAction(f"id {one} was never handed out; nothing of this call was recorded")


def _missing() -> TypeError:
    return TypeError("segment is missing: say whom the action is for, as in ask(segment=...)")


def _are_several(segment: Any) -> bool:
    if isinstance(segment, Mapping):
        return any(_are_several(one) for one in segment.values())
    return isinstance(segment, list | np.ndarray) or (hasattr(segment, "__array__") and np.ndim(segment) > 0)


def _several(segment: Any) -> Sequence[Any]:
    """Return segments that were given as a list, an array, or lists of levels by factor."""
    if not isinstance(segment, Mapping):
        return segment.tolist() if hasattr(segment, "tolist") else list(segment)
    columns = {name: list(one) for name, one in segment.items()}
    lengths = {len(one) for one in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"segment must have as many levels of each factor, got {sorted(lengths)}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
