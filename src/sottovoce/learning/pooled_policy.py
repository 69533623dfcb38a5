"""The policy of an optimizer with many segments: small ones share rounds, as long as that is better for them.

A round of its own costs a segment as much noise as one for all, and as many events before anything is known; and what
it finds out by that is of use only if it differs from others. So events of all segments are asked for in the rounds of
one stream, the pool, at first: these play what an optimizer without segments would. The largest segments, scouts, get
rounds of their own once they have had enough events, if those that are still to come would tell by how much segments
differ. The others follow as soon as released numbers speak against segments that are alike. From then on the pool is
one more segment to the others, a mean of those that share it. Until then segments are taken to be as alike as released
numbers allow.

Who shares rounds follows from released numbers and from how many events each segment has, which is public. An event's
loss is in one number of one round, as ever: its own segment's, or the pool's.

Tests: tests/learning/segmented/test_pool.py.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record
from sottovoce.learning.configuration import BanditConfiguration
from sottovoce.learning.epoch import Epoch
from sottovoce.learning.policy import BanditPolicy, Stream
from sottovoce.learning.segment_policy import SegmentPolicy
from sottovoce.models import ModelSettings, Prior, Segment
from sottovoce.models.variance_shares import SHARES
from sottovoce.plans.problem import Problem
from sottovoce.privacy import NoiseSource
from sottovoce.rounds.round import Draft

__all__ = ["POOL", "PooledPolicy", "shares_rounds"]

POOL = 0
"""The stream of rounds that segments share; it is opened before all others, and has no segment's name."""

_FEW = 12  # segments that have rounds of their own from the start
_EVENTS = 1000  # of a segment, before it goes ahead with rounds of its own
_EVENTS_OF_OTHERS = 100  # the same for those who follow, once segments are known to differ
_WORTH = 1.0  # what it will know of what is its own, over what is believed of that beforehand, for these to pay
_WORTH_SCOUTING = 30.0  # the same for scouts, if they differ by as much as they may: they explore for others as well
_SCOUTS = 2  # segments, the largest, that leave if segments may differ; the rest do if they are known to
_FAR = 7  # what scouts may have of their own in some rounds, as a place in `SHARES`, unless less is known: or else they
# would play what others believe to be the best, and never find out
_FAR_EVERY = 4  # rounds of a scout; if all of them are such, it costs more than others' gains, where all are alike


def shares_rounds(problem: Problem) -> bool:
    """Whether small segments share rounds: where there are many, and losses are linear in a decision.

    Segments with factors or features do not: what is found out of one tells how others differ.

    Parameters
    ----------
    problem
        What the optimizer was made for.
    """
    segments = problem.segments
    if segments is None or segments.factors or segments.features is not None:
        return False
    return problem.linear and problem.feedback != "items" and segments.most > _FEW


def policy_for(configuration: BanditConfiguration, problem: Problem, source: NoiseSource, entropy: int) -> BanditPolicy:
    """Return the policy of an optimizer, by whom it tells apart; the parameters are those of `BanditPolicy`."""
    kind = PooledPolicy if shares_rounds(problem) else BanditPolicy if problem.segments is None else SegmentPolicy
    return kind(configuration, problem, source, entropy)


class PooledPolicy(SegmentPolicy):
    """See `SegmentPolicy`; stream 0 is the pool, whose segment is None."""

    first_streams, pool = ("null",), POOL

    def start_over(self) -> None:
        """Forget all segments."""
        super().start_over()
        # By the stream that each segment has: the stream that it is asked for in; its events in the pool, when the
        # newest round of that began, and by this process since.
        none = np.zeros(0, dtype=np.int64)
        self.routes, self._pooled, self._since = none, none, none

    def join(self, stream: int, name: str) -> Stream:
        """Begin the stream of a segment, or the pool."""
        self.routes, self._pooled, self._since = (
            _room(one, stream) for one in (self.routes, self._pooled, self._since)
        )
        return super().join(stream, name)

    @property
    def own(self) -> frozenset[Any]:  # type: ignore[override]
        """Segments that have left rounds which they shared."""
        return frozenset(self.names[stream] for stream in np.flatnonzero(self.routes).tolist())

    def segment_named(self, name: str) -> Any:
        """Return the segment that `name_of` has written; None for the pool."""
        return None if name == self.name_of(None) else super().segment_named(name)

    # ------------------------------------------------------------------ how many events each has

    def route(self, own: Any) -> Any:
        """Return the stream that events are asked for in, by the stream that the segment of each has."""
        found = self.routes[own]
        if isinstance(own, int):
            return int(found)
        return int(found[0]) if (found == found[0]).all() else found

    def route_of(self, segment: Segment, unknown: int) -> int:
        """Return the stream that a segment is asked for in: the pool, of one that is new."""
        return int(self.routes[self.numbers.get(segment, POOL)])

    def count(self, own: Integers | int, streams: Integers | int, size: int) -> None:
        """Take note of whom events of streams were for."""
        if isinstance(own, int):
            self._since[own] += size * (streams == POOL)
            return
        pooled = own[np.broadcast_to(streams, size) == POOL]
        self._since = self._since + np.bincount(pooled, minlength=len(self._since))

    def sizes(self, asked: Callable[[int], int]) -> dict[Segment, int]:
        """Return how many events each segment has, by how many were `asked` of each stream.

        What other processes have asked since the pool's newest round began is shared out as the rest is.
        """
        pooled, total = self._pooled + self._since, asked(POOL)
        if (known := pooled.sum()) != total:
            weights = pooled.astype(np.float64)
            weights[1:] += known == 0
            ends = np.rint(np.cumsum(weights) * (total / max(1.0, weights.sum()))).astype(np.int64)
            pooled = np.diff(ends, prepend=0)
        return {one: int(pooled[stream]) + asked(stream) for one, stream in self.numbers.items()}

    def shared_rounds(self, segment: Segment) -> int:
        """Rounds that were learned from which a segment shares with others."""
        shares = segment in self.numbers and self.routes[self.numbers[segment]] == POOL
        return int(self.belief(POOL).measurements.rounds) if shares else 0

    # ------------------------------------------------------------------ who shares rounds

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream; before a round of the pool, see who leaves it."""
        if stream == POOL:
            self._pooled, self._since = self._pooled + self._since, np.zeros_like(self._since)
            self._separate()
        return super().begin(stream, number, position)

    def _separate(self) -> None:
        """Let segments have rounds of their own whose events to come would tell by how much they differ."""
        pooled, passed = self._pooled, self._passed()
        events = pooled + passed
        asked, events[POOL] = float(passed.sum()), 0.0
        if not asked:
            return
        self._mix()
        left = asked if self.horizon is None else self.horizon - asked
        # What each will know of itself, in units of what is believed beforehand, if it has rounds of its own:
        known = self.hierarchy.precision_of(POOL) / passed[POOL] * left * events / asked
        least, most = (SHARES[place] for place in self.hierarchy.apart)
        worth = known * least / _WORTH
        scouts = _largest(events)
        worth[scouts] = np.maximum(worth[scouts], known[scouts] * most / _WORTH_SCOUTING)
        enough = np.full(len(events), _EVENTS_OF_OTHERS)
        enough[scouts] = _EVENTS
        leaves = (events >= enough) & (worth >= 1)
        self.routes = np.where(leaves, np.arange(len(leaves)), self.routes)

    def _mix(self) -> None:
        """Let the pool stand for the mean of those whose events it has."""
        if self._pooled.any():
            self.hierarchy.mix(POOL, self._pooled / self._pooled.sum())

    def _epoch(self, stream: int, *arguments: Any) -> Epoch:
        epoch = super()._epoch(stream, *arguments)
        if stream == POOL:
            belief: Any = epoch.explorer.belief
            belief.settings = replace(belief.settings, segments=0)  # it plays as one that has none
        return epoch

    def _said_of(self, number: int, length: int) -> tuple[Prior, ModelSettings] | None:
        """Return what others say of a segment or of the pool, and what holds for it; None for a pool of all."""
        if number == POOL and not self.routes.any():
            return None
        explorer: Any = self._template(length, len(self.problems) - 1).explorer
        settings, passed = explorer.belief.settings, self._passed()
        asked = float(passed.sum())
        mine = self._pooled[number] + passed[number] if number else self._pooled[self.routes == POOL].sum()
        expected = settings.horizon
        if self.horizon is not None:
            expected = passed[number] + (self.horizon - asked) * mine / max(1.0, asked)
        share, prior = min(1.0, expected / settings.horizon), self._heard(number, passed)
        if number == POOL:
            return prior, replace(settings, segments=0, horizon=max(1, round(share * settings.horizon)))
        return prior, settings.among(len(self.numbers), int(asked), share, self.belief(number).variance)

    def _heard(self, number: int, passed: Floats) -> Prior:
        """Return what others say of a segment; scouts hear every now and then that they may be quite different."""
        hierarchy, events = self.hierarchy, passed + self._pooled
        events[POOL] = 0.0
        far = number in _largest(events) and self.belief(number).measurements.rounds % _FAR_EVERY == 0
        apart = max(hierarchy.variance_shares.residual, min(hierarchy.apart[1], _FAR))
        said: Prior = hierarchy.prior(number, sizes=passed, apart=apart if far else None)
        return said

    # ------------------------------------------------------------------ what goes on elsewhere

    def to_record(self, stream: int) -> Record:
        """Return what the rounds to come of a stream depend on; of the pool, also who shares it."""
        shared: Record = {"pooled": self._pooled, "own": self.routes} if stream == POOL else {}
        return super().to_record(stream) | shared

    def adopt(self, stream: int, record: Record) -> None:
        """Go on where `to_record` was called."""
        super().adopt(stream, record)
        if stream == POOL:
            self._pooled, self.routes = (_room(record[one], len(self.names) - 1) for one in ("pooled", "own"))
            self._mix()


def _room(counts: Integers, place: int) -> Integers:
    """Return counts with room for one at a place, and for those before it."""
    room = np.zeros(max(place + 1, len(counts)), dtype=np.int64)
    room[: len(counts)] = counts
    return room


def _largest(events: Floats) -> Integers:
    """Return the streams of the segments that go ahead."""
    return np.argsort(-events, kind="stable")[:_SCOUTS]
