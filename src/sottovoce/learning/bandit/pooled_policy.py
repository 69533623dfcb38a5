"""The policy of an optimizer with many segments: small ones share rounds, as long as that is better for them.

A round of its own costs a segment as much noise as one for all, and as many events before anything is known; and what
it finds out by that is of use only if it differs from others. So events of all segments are asked for in the rounds of
one stream, the pool, at first: these play what an optimizer without segments would. A segment gets rounds of its own
once it has had enough events, and the events that are still to come would tell by how much it differs: if segments
differ by as much as what was released allows. From then on the pool is one more segment to the others, a mean of those
that share it.

Who shares rounds follows from released numbers and from how many events each segment has, which is public. An event's
loss is in one number of one round, as ever: its own segment's, or the pool's.

Tests: tests/learning/segmented/test_pool.py.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._records import Record
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.policy import Stream, Stretch
from sottovoce.learning.bandit.segment_policy import SegmentPolicy
from sottovoce.models import ModelSettings, Prior, Segment
from sottovoce.models.variance_shares import SHARES
from sottovoce.plans.problem import Problem
from sottovoce.rounds.round import Draft

__all__ = ["POOL", "PooledPolicy", "shares_rounds"]

POOL = 0
"""The stream of rounds that segments share; it is opened before all others, and has no segment's name."""

_FEW = 12  # segments that have rounds of their own from the start
_EVENTS = 1000  # of a segment, before it can have rounds of its own
_WORTH = 1.0  # what it will know of what is its own, over what is believed of that beforehand, for these to pay
_SCOUTS = 2  # segments, the largest, that leave if segments may differ; the rest do if they are known to
_FAR = (
    7  # what scouts may have of their own, as a place in `SHARES`, unless less is known: or else they would play what
)
# others believe to be the best, and never find out


def shares_rounds(problem: Problem) -> bool:
    """Whether small segments share rounds: where there are many, and losses are linear in a decision.

    Parameters
    ----------
    problem
        What the optimizer was made for.
    """
    linear = problem.feedback != "items" and (problem.losses == "linear" or problem.integral)
    return problem.segments is not None and problem.segments.most > _FEW and linear


class PooledPolicy(SegmentPolicy):
    """See `SegmentPolicy`; stream 0 is the pool."""

    def start_over(self) -> None:
        """Forget all segments."""
        super().start_over()
        self.own: frozenset[Segment] = frozenset()  # segments that have rounds of their own
        # Events of each segment in the pool: when its newest round began, and by this process since.
        self._pooled, self._since, self._since_then = Counter[Segment](), Counter[Segment](), Counter[Segment]()
        self._routes: dict[Any, int] = {}

    def join(self, stream: int, name: str) -> Stream:
        """Begin the stream of a segment, or the pool."""
        if stream == POOL:
            found = self.streams[POOL] = Stream(Stretch(self._epoch(POOL, None, None, 0), 0, 0))
            everybody = np.eye(1, sum(size for _, size in self.segments.groups))[0]
            self.hierarchy.join(everybody, self.belief(POOL), POOL)
            self.names = [None]
        else:
            found = super().join(stream, name)
            self.numbers = {one: place for place, one in enumerate(self.names) if one is not None}
        self._route()
        return found

    @property
    def routes(self) -> dict[Any, int]:
        """The streams that segments are asked for in."""
        return self._routes

    def _route(self) -> None:
        self._routes.update({one: stream if one in self.own else POOL for one, stream in self.numbers.items()})

    def segment_named(self, name: str) -> Any:
        """Return the segment that `name_of` has written; None for the pool."""
        return None if name == self.name_of(None) else super().segment_named(name)

    def check_room(self, segments: list[Any]) -> None:
        """Refuse segments that were not named, beyond the limit; the pool has its room."""
        super().check_room([one for one in segments if one is not None])

    # ------------------------------------------------------------------ how many events each has

    def count(self, segments: Iterable[Segment]) -> None:
        """Take note of whom events of the pool were for."""
        self._since.update(segments)

    def counts(self, asked: Callable[[int], int]) -> dict[Segment, int]:
        """Return how many events each segment has, by how many were `asked` of each stream.

        What other processes have asked since the pool's newest round began is shared out as the rest is.
        """
        pooled, total = self._counted(), asked(POOL)
        known = sum(pooled.values())
        if known != total:
            weights = np.array([pooled[one] for one in self.numbers], dtype=np.float64) + (known == 0)
            ends = np.rint(np.cumsum(weights) * (total / weights.sum())).astype(np.int64)
            pooled = Counter(dict(zip(self.numbers, np.diff(ends, prepend=0).tolist(), strict=True)))
        return {one: pooled[one] + asked(stream) for one, stream in self.numbers.items()}

    def _counted(self) -> Counter[Segment]:
        return self._pooled + self._since

    @property
    def shared_rounds(self) -> int:
        """Rounds that were learned from which segments share."""
        return int(self.belief(POOL).measurements.rounds)

    def shares(self, segment: Segment) -> bool:
        """Whether a segment is asked for in rounds that it shares with others."""
        return segment in self.numbers and segment not in self.own

    # ------------------------------------------------------------------ who shares rounds

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream; before a round of the pool, see who leaves it."""
        if stream == POOL:
            self._pooled, self._since = self._counted(), Counter()
            self._separate()
        return super().begin(stream, number, position)

    def _learn_alike(self) -> None:
        self.hierarchy.learn(given=POOL)

    def _separate(self) -> None:
        """Let segments have rounds of their own whose events to come would tell by how much they differ."""
        pooled, passed = self._pooled_events(), self.sizes()
        events = pooled + passed
        asked, events[POOL] = float(passed.sum()), 0.0
        if not asked:
            return
        self._mix(pooled)
        left = asked if self.horizon is None else self.horizon - asked
        # What each will know of itself, in units of what is believed beforehand, if it has rounds of its own:
        known = self.hierarchy.precision_of(POOL) / passed[POOL] * left * events / asked
        least, most = (SHARES[place] for place in self.hierarchy.apart)
        differs = np.full(len(events), least)
        differs[_largest(events)] = most
        leaves = (events >= _EVENTS) & (known * differs >= _WORTH)
        if leaving := {self.names[stream] for stream in np.flatnonzero(leaves).tolist()} - self.own:
            self.own |= leaving
        self._route()

    def _mix(self, pooled: Floats) -> None:
        """Let the pool stand for the mean of those whose events it has."""
        if pooled.any():
            self.hierarchy.mix(POOL, pooled / pooled.sum())

    def _pooled_events(self) -> Floats:
        """Events of each stream's segment that were asked for in the pool, when its newest round began."""
        return np.fromiter(map(self._pooled.__getitem__, self.names), np.float64, len(self.names))

    def _among_others(self, epoch: Epoch, number: int, segment: Any, length: int) -> Epoch:
        belief: Any = epoch.explorer.belief
        if number == POOL:
            belief.settings = replace(belief.settings, segments=0)  # it plays as one that has none
        return super()._among_others(epoch, number, segment, length)

    def _said_of(self, number: int, segment: Any, length: int) -> tuple[Prior, ModelSettings] | None:
        """Return what others say of a segment or of the pool, and what holds for it; None for a pool of all."""
        if number == POOL and not self.own:
            return None
        explorer: Any = self._templates[length].explorer
        settings, passed = explorer.belief.settings, self.sizes()
        asked, own = float(passed.sum()), sum(self._pooled[one] for one in self.own)
        mine = self._pooled[segment] + passed[number] if number else sum(self._pooled.values()) - own
        expected = settings.horizon
        if self.horizon is not None:
            expected = passed[number] + (self.horizon - asked) * mine / max(1.0, asked)
        share, prior = min(1.0, expected / settings.horizon), self._heard(number, passed)
        if number == POOL:
            return prior, replace(settings, segments=0, horizon=max(1, round(share * settings.horizon)))
        return prior, settings.among(len(self.numbers), int(asked), share, self.belief(number).variance)

    def _heard(self, number: int, passed: Floats) -> Prior:
        """Return what others say of a segment; scouts hear that they may be quite different."""
        hierarchy, events = self.hierarchy, passed + self._pooled_events()
        events[POOL] = 0.0
        apart = max(hierarchy.variance_shares.residual, min(hierarchy.apart[1], _FAR))
        scouts = number in _largest(events)
        said: Prior = (
            hierarchy.prior_of_scout(number, passed, apart) if scouts else hierarchy.prior(number, sizes=passed)
        )
        return said

    # ------------------------------------------------------------------ what goes on elsewhere

    def to_record(self, stream: int) -> Record:
        """Return what the rounds to come of a stream depend on; of the pool, also who shares it."""
        record = {**super().to_record(stream), "apart": list(self.hierarchy.apart)}
        if stream == POOL:
            counts = np.array([[self._pooled[one], self._since[one]] for one in self.numbers], dtype=np.int64)
            record["pooled"] = counts.reshape(-1, 2)
            record["own"] = np.array([one in self.own for one in self.numbers], dtype=np.int64)
        return record

    def adopt(self, stream: int, record: Record) -> None:
        """Go on where `to_record` was called."""
        newer = record["variance_shares_learned"] >= self.hierarchy.learned
        super().adopt(stream, record)
        if newer:
            least, most = record["apart"]
            self.hierarchy.apart = least, most
        if stream == POOL:
            segments, (pooled, since) = list(self.numbers), np.asarray(record["pooled"]).T.tolist()
            self._pooled = Counter(dict(zip(segments, pooled, strict=False)))
            self._since_then = Counter(dict(zip(segments, since, strict=False)))
            self.own = frozenset(one for one, own in zip(segments, record["own"], strict=False) if own)
            self._mix(self._pooled_events())
            self._route()

    def abandon(self, stream: int, asked: int, closed: int) -> None:
        """After `adopt`: go on for the one that has written the record, which asks for nobody any more."""
        super().abandon(stream, asked, closed)
        if stream == POOL:
            self._since = self._since_then


def _largest(events: Floats) -> Integers:
    """Return the streams of the segments that go ahead."""
    return np.argsort(-events, kind="stable")[:_SCOUTS]
