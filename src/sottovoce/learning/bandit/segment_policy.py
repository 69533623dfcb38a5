"""The policy of an optimizer with segments: a stream for each, whose explorers inform each other.

An event belongs to one segment, its loss is in one released number of that segment's stream, and what segments tell
each other is computed from released numbers. So the promise is that of one optimizer, given once.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import Record, part
from sottovoce.errors import UnknownSegment
from sottovoce.learning.bandit.doubling import next_length
from sottovoce.learning.bandit.epoch import Epoch
from sottovoce.learning.bandit.policy import BanditPolicy, Stream, Stretch
from sottovoce.learning.segmented.plain import plain_segment, segment_of
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

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.segments: Segments = self.configuration.segments
        self._templates = {self.first.plan.horizon: self.first}
        self.start_over()

    @property
    def template(self) -> Belief:
        """What is believed of a segment of which nothing is known."""
        belief = self.first.explorer.belief
        assert belief is not None
        return belief

    # ------------------------------------------------------------------ streams

    def check_room(self, segments: list[Segment]) -> None:
        """Refuse segments that were not named, beyond the limit; those that were have their room."""
        named = set(self.segments.names)
        room = self.segments.most - len(named) - sum(one not in named for one in self.numbers)
        unnamed = [one for one in segments if one not in named and one not in self.numbers]
        if len(unnamed) > room:
            raise UnknownSegment(
                f"segment {unnamed[room]!r} would be one more than the {self.segments.most} that there may be: raise "
                "limit=, or put rare ones together under one name"
            )

    def start_over(self) -> None:
        """Forget all segments."""
        kind: Any = ItemHierarchy if self.template.model == "items" else HierarchicalPrior
        self.streams, self.hierarchy = {}, kind(self.segments, self.template)
        self.names: list[Any] = []  # of the streams
        self.numbers: dict[Any, int] = {}  # the streams of segments

    def stream(self, stream: int) -> Stream:
        """Return a stream; of one that another process has opened, read what it is."""
        if stream not in self.streams:
            self.refresh()
        return self.streams[stream]

    def join(self, stream: int, name: str) -> Stream:
        """Begin the stream of a segment, by its name as `name_of` writes it."""
        segment = self.segment_named(name)
        found = self.streams[stream] = Stream(Stretch(self._epoch(stream, segment, None, 0), 0, 0))
        self.hierarchy.join(self.segments.row(segment), self.belief(stream), stream)
        self.names = [*self.names[:stream], segment]
        self.numbers = {one: place for place, one in enumerate(self.names) if one is not None}
        return found

    def segment_named(self, name: str) -> Segment:
        """Return the segment that `name_of` has written."""
        return self.segments.key(segment_of(json.loads(name)))

    @staticmethod
    def name_of(segment: Any) -> str:
        """Return a segment as a text."""
        return json.dumps(plain_segment(segment))

    def _epoch(self, number: int, segment: Any, previous: Epoch | None, planned: int) -> Epoch:
        length = next_length(self.horizon, planned)
        like = self._templates.get(length)
        if like is None:
            like = self._planned(Stretch(self.first, planned - self.first.plan.horizon, 0))
            self._templates = {**self._templates, length: like}
        epoch = self._like(like.plan, like)
        if previous is not None:
            epoch.follow(previous)
        return self._among_others(epoch, number, segment, length)

    def _like(self, plan: Plan, like: Epoch) -> Epoch:
        return Epoch(replace(self.problem, horizon=plan.horizon), plan, self.source, like=like.explorer)

    def _among_others(self, epoch: Epoch, number: int, segment: Any, length: int) -> Epoch:
        epoch.explorer.ask_others = partial(self._said_of, number, segment, length)
        if number < self.hierarchy.count and epoch.explorer.belief is not None:
            self.hierarchy.replace(number, epoch.explorer.belief)
        return epoch

    def _next_epoch(self, stream: int, previous: Stretch) -> Epoch:
        return self._epoch(stream, self.names[stream], previous.epoch, previous.end)

    def _epoch_of(self, stream: int, plan: Plan, before: int, number: int) -> Epoch:
        return self._epoch(stream, self.names[stream], None, before)

    # ------------------------------------------------------------------ what goes on elsewhere

    def to_record(self, stream: int) -> Record:
        """Return what the rounds to come of a stream depend on, how alike segments are, and what others say of it."""
        alike = {
            "variance_shares": list(self.hierarchy.variance_shares.places()),
            "variance_shares_learned": self.hierarchy.learned,
        }
        prior_record = {f"prior.{name}": value for name, value in self.belief(stream).prior_record().items()}
        return {**super().to_record(stream), **alike, **prior_record}

    def adopt(self, stream: int, record: Record) -> None:
        """Go on where `to_record` was called."""
        super().adopt(stream, record)
        self.belief(stream).restore_prior(part(record, "prior"))
        self.hierarchy.replace(stream, self.belief(stream))
        if record["variance_shares_learned"] >= self.hierarchy.learned:
            self.hierarchy.variance_shares = VarianceShares.at(tuple(record["variance_shares"]))
            self.hierarchy.learned = record["variance_shares_learned"]

    @property
    def oracle_calls(self) -> int:
        """Calls of the linear oracle for planning, points and decisions."""
        setup = sum(one.oracle_calls for one in self._templates.values())
        return setup + sum(one.finished_calls + one.current.epoch.oracle_calls for one in self.streams.values())

    @property
    def setup_calls(self) -> int:
        """Those of them that were made before the first event."""
        return self.first.setup_calls

    # ------------------------------------------------------------------ what segments say of each other

    def begin(self, stream: int, number: int, position: int) -> Draft:
        """Return the next round of a stream; how alike segments are is learned as rounds begin, not as somebody looks.

        Parameters
        ----------
        stream, number, position
            As for `Policy.begin`.
        """
        self._learn_alike()
        return super().begin(stream, number, position)

    def _learn_alike(self) -> None:
        self.hierarchy.learn()

    def belief(self, stream: int) -> Any:
        """What is believed of a segment by now, which tells others what was released of it."""
        explorer: Any = self.current(stream).explorer
        return explorer.belief

    def _said_of(self, number: int, segment: Any, length: int) -> tuple[Prior, ModelSettings] | None:
        """Return what other segments say of one, and what holds for it among them."""
        explorer: Any = self._templates[length].explorer
        template: Belief = explorer.belief
        count, sizes = max(number + 1, len(self.names)), self.sizes()
        asked = int(sizes.sum())
        if number == len(self.names):  # it is being opened
            prior = self.hierarchy.prior(-1, self.segments.row(segment), sizes)
            mine, variance = 0.0, template.variance
        else:
            prior = self.hierarchy.prior(number, sizes=sizes)
            mine, variance = float(sizes[number]), self.belief(number).variance
        share = 1.0 if self.horizon is None else (mine + _BEFORE) / (asked + _BEFORE * count)
        return prior, template.settings.among(count, asked, share, variance)

    def sizes(self) -> Floats:
        """Events of the rounds that have begun, of each segment that has joined; none of one that is about to."""
        sizes, count = np.zeros(self.hierarchy.count), len(self.names)
        sizes[:count] = np.fromiter(map(_PASSED, map(self.streams.__getitem__, range(count))), np.float64, count)
        return sizes

    def informed_belief(self, stream: int) -> Belief:
        """Return what is believed of a segment, by the epoch that has learned most, with what others say now.

        A copy takes them as its prior: what is played and learned does not depend on who has looked.
        """
        explorer: Any = (self.informed(stream) or self.current(stream)).explorer
        said = explorer.ask_others()  # first: asking settles how the segment's own numbers count
        belief: Belief = copy.copy(explorer.belief)
        if said is not None:
            belief.use_prior(*said)
        return belief

    # ------------------------------------------------------------------ how many events each has

    def counts(self, asked: Callable[[int], int]) -> dict[Segment, int]:
        """Return how many events each segment has, by how many were `asked` of each stream."""
        return {segment: asked(stream) for segment, stream in self.numbers.items()}

    @property
    def shared_rounds(self) -> int:
        """Rounds that were learned from which segments share."""
        return 0

    def shares(self, segment: Segment) -> bool:
        """Whether a segment is asked for in rounds that it shares with others."""
        return False

    def unseen_belief(self, segment: Segment) -> Belief:
        """Return what others say of a segment that was never asked for."""
        unseen: Belief = self.template.fresh_copy()
        unseen.use_prior(self.hierarchy.prior(-1, self.segments.row(segment), self.sizes()), unseen.settings)
        return unseen
