"""The policy of an optimizer with segments: a stream for each, whose explorers inform each other.

An event belongs to one segment, its loss is in one released number of that segment's stream, and what segments tell
each other is computed from released numbers. So the promise is that of one optimizer, given once.
"""

import copy
import json
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import Record, headed, part
from sottovoce.domains.naming import as_name, as_plain
from sottovoce.errors import UnknownSegment
from sottovoce.learning.epoch import Epoch, next_length
from sottovoce.learning.policy import BanditPolicy, Stream
from sottovoce.learning.recommendation import Recommendation, for_all, for_segment
from sottovoce.models import (
    Belief,
    HierarchicalPrior,
    ItemHierarchy,
    ModelSettings,
    Prior,
    Segment,
    Segments,
    VarianceShares,
)
from sottovoce.plans.plan import Plan
from sottovoce.rounds.round import Draft

__all__ = ["SegmentPolicy"]

_PASSED = attrgetter("passed")
_BEFORE = 20.0  # events of each segment that are taken for granted, in guessing what share of all it has


class SegmentPolicy(BanditPolicy):
    """See `BanditPolicy`; streams are numbered in the order in which segments were first asked for."""

    first_streams: tuple[str, ...] = ()
    pool: int | None = None
    """The stream of rounds that segments share, if they do."""

    _templates: dict[tuple[int, int], Epoch]  # by set and by length, epochs that know nothing

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.segments: Segments = self.configuration.segments
        self.start_over()

    @property
    def newest(self) -> Epoch:
        """The first epoch: all segments begin with its plan."""
        return self.first

    @property
    def template(self) -> Any:
        """What is believed of a segment of which nothing is known, in the newest set."""
        return self._template(self.first.plan.horizon, len(self.problems) - 1).explorer.belief

    def _template(self, length: int, number: int) -> Epoch:
        """Return an epoch of so many events in a set, which knows nothing."""
        found = self._templates.get((number, length))
        if found is None:
            like = self._template(length, 0) if number else None
            found = super()._epoch(0, length, number, like)
            self._templates = {**self._templates, (number, length): found}
        return found

    # ------------------------------------------------------------------ streams

    def key(self, segment: Any) -> Segment:
        """Return a segment as `numbers` has it; refuse what is none."""
        if segment is None:
            raise TypeError("segment is missing: say whom the action is for, as in ask(segment=...)")
        return self.segments.key(segment)

    def admit(self, name: str) -> None:
        """Refuse the stream of a segment beyond the number that there may be."""
        self.check_room([self.segment_named(name)])

    def check_room(self, segments: list[Segment]) -> None:
        """Refuse segments that were not named, beyond the limit; those that were have their room, and so has a pool."""
        named = set(self.segments.names)
        room = self.segments.most - len(named) - sum(one not in named for one in self.numbers)
        unnamed = [one for one in segments if one is not None and one not in named and one not in self.numbers]
        if len(unnamed) > room:
            raise UnknownSegment(
                f"segment {unnamed[room]!r} would be one more than the {self.segments.most} that there may be: raise "
                "limit=, or put rare ones together under one name"
            )

    def start_over(self) -> None:
        """Forget all segments."""
        self.problems, self.seen_changes = self.problems[:1], b""
        self._templates = {(0, self.first.plan.horizon): self.first}
        self.streams, self._hierarchies = {}, (-1, None)
        self.names: list[Any] = []  # of the streams
        self.numbers: dict[Any, int] = {}  # the streams of segments

    @property
    def hierarchy(self) -> Any:
        """What segments say of each other, of the newest set: those that play another one still are heard as well."""
        newest, (number, found) = len(self.problems) - 1, self._hierarchies
        if number != newest:
            if found is None:
                kind: Any = ItemHierarchy if self.template.model == "items" else HierarchicalPrior
                fresh = kind(self.segments, self.template)
            else:
                fresh = found.in_later_set(self.segments, self.template, map(self._member, range(found.count)))
            self._hierarchies = newest, fresh
        return self._hierarchies[1]

    def _member(self, stream: int) -> Any:
        """Return what speaks for a segment, of the newest set."""
        belief = self.belief(stream)
        newest = self.streams[stream].current.number == len(self.problems) - 1
        return belief if newest else _InLaterSet(belief, self.template)

    def stream(self, stream: int) -> Stream:
        """Return a stream; of one that another process has opened, read what it is."""
        if stream not in self.streams:
            self.refresh()
        return self.streams[stream]

    def join(self, stream: int, name: str) -> Stream:
        """Begin the stream of a segment, by its name as `name_of` writes it."""
        segment = self.segment_named(name)
        hierarchy = self.hierarchy
        found = self.streams[stream] = Stream(self._epoch(stream, next_length(self.horizon, 0)))
        hierarchy.join(self.segments.row(segment), self._member(stream), stream)
        self.names = [*self.names[:stream], segment]
        self.numbers = {one: place for place, one in enumerate(self.names) if one is not None}
        return found

    def segment_named(self, name: str) -> Segment:
        """Return the segment that `name_of` has written."""
        return self.segments.key(as_name(json.loads(name)))

    def name_of(self, segment: Any) -> str:
        """Return a segment as a text."""
        return json.dumps(as_plain(segment))

    def _epoch(self, stream: int, length: int, number: int = 0, at: Epoch | None = None) -> Epoch:
        """Return an epoch of a segment in one of the sets, which knows nothing."""
        like = self._template(length, number)
        problem = replace(self._problem_of(number), horizon=length)
        epoch = Epoch(problem, like.plan, self.source, like=like.explorer)
        epoch.explorer.ask_others = partial(self._said_of, stream, length)
        return epoch

    def _next_epoch(self, stream: int, previous: Epoch) -> Epoch:
        epoch = self._epoch(stream, next_length(self.horizon, previous.end), len(self.problems) - 1)
        epoch.follow(previous)
        self.hierarchy.replace(stream, epoch.explorer.belief)
        return epoch

    def _epoch_of(self, stream: int, plan: Plan, before: int, number: int) -> Epoch:
        return self._epoch(stream, next_length(self.horizon, before), number)

    def _follow_sets(self, stream: int, mine: Stream) -> None:
        super()._follow_sets(stream, mine)
        self.hierarchy.replace(stream, self._member(stream))

    # ------------------------------------------------------------------ what goes on elsewhere

    def to_record(self, stream: int) -> Record:
        """Return what the rounds to come of a stream depend on, how alike segments are, and what others say of it."""
        found = self.hierarchy
        alike = {"variance_shares": list(found.variance_shares.places()), "apart": list(found.apart)}
        alike["variance_shares_learned"] = found.learned
        return super().to_record(stream) | alike | headed("prior", self.belief(stream).prior_record())

    def adopt(self, stream: int, record: Record) -> None:
        """Go on where `to_record` was called."""
        super().adopt(stream, record)
        self.belief(stream).restore_prior(part(record, "prior"))
        self.hierarchy.replace(stream, self._member(stream))
        found, learned = self.hierarchy, record["variance_shares_learned"]
        if learned >= found.learned:
            found.variance_shares, found.learned = VarianceShares.at(record["variance_shares"]), learned
            found.apart = tuple(record["apart"])

    # ------------------------------------------------------------------ what segments say of each other

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream; how alike segments are is learned as rounds begin, not as somebody looks.

        Parameters
        ----------
        stream, number, position
            As for `Policy.begin`.
        """
        self.hierarchy.learn(self.pool)
        return super().begin(stream, number, position)

    def belief(self, stream: int) -> Any:
        """What is believed of a segment by now, which tells others what was released of it."""
        explorer: Any = self.current(stream).explorer
        return explorer.belief

    def _said_of(self, number: int, length: int) -> tuple[Prior, ModelSettings] | None:
        """Return what other segments say of one, and what holds for it among them."""
        template: Any = self._template(length, len(self.problems) - 1).explorer.belief
        count, sizes = len(self.names), self._passed()
        asked = int(sizes.sum())
        prior = self.hierarchy.prior(number, sizes=sizes)
        share = 1.0 if self.horizon is None else (float(sizes[number]) + _BEFORE) / (asked + _BEFORE * count)
        return prior, template.settings.among(count, asked, share, self.belief(number).variance)

    def _passed(self) -> Floats:
        """Events of the rounds that have begun, of each segment that has joined."""
        count = self.hierarchy.count
        return np.fromiter(map(_PASSED, map(self.streams.__getitem__, range(count))), np.float64, count)

    # ------------------------------------------------------------------ what is known

    def belief_of(self, segment: Segment) -> Belief:
        """Return what is believed of a segment, with what others say now; of one that was never asked for, just that.

        A copy takes that as its prior: what is played and learned does not depend on who has looked.
        """
        belief: Belief
        stream = self.numbers.get(segment)
        if stream is None:
            belief = self.template.fresh_copy()
            belief.use_prior(self.hierarchy.prior(-1, self.segments.row(segment), self._passed()), belief.settings)
            return belief
        explorer: Any = self.informed(stream).explorer
        said = explorer.ask_others()  # first: asking settles how the segment's own numbers count
        belief = copy.copy(explorer.belief)
        belief.use_prior(*said)
        return belief

    def shared_rounds(self, segment: Segment) -> int:
        """Rounds that were learned from which a segment shares with others."""
        return 0

    def recommended(self, segment: Any, sizes: dict[Segment, int]) -> Recommendation:
        """Return the decision to take home for a segment, or for all together, who have so many events."""
        if segment is not None:
            key = self.key(segment)
            found = for_segment(self.belief_of(key), self.problem, self.shared_rounds(key))
            return replace(found, events=sizes.get(key, 0))
        beliefs = {one: (self.belief_of(one), self.shared_rounds(one)) for one in self.numbers}
        return for_all(beliefs, sizes, self.hierarchy, self.template, self.problem)

    def point(self) -> Floats:
        """Refuse: there is one of each segment."""
        raise ValueError("each segment plays around a point of its own: recommend(segment=...) says what is best")


class _InLaterSet:
    """Speaks for a segment that plays an earlier set until its next round."""

    def __init__(self, belief: Any, template: Any) -> None:
        self._belief, self._template = belief, template

    @property
    def known(self) -> object:
        """What the segment has learned."""
        return self._belief.known

    def sufficient_statistics(self) -> Any:
        """Return what was released of it, in the names of the later set."""
        view = self._template.fresh_copy()
        view.carry_over(self._belief, 0)
        return view.sufficient_statistics()
