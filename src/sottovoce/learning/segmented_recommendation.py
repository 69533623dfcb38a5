"""Decisions to take home for several segments: one for all beside one for each, with what telling them apart gains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._printed import Part
from sottovoce.learning.recommendation import Recommendation, from_belief, shown
from sottovoce.learning.segment_requests import plain_segment
from sottovoce.models import Belief, HierarchicalPrior, Segment, segment_text
from sottovoce.plans.problem import Problem

__all__ = ["SegmentGain", "SegmentedRecommendation", "for_all", "for_segment"]

_DRAWS, _FEW = 200, 2
_SHOWN = 20  # segments, in print


@dataclass(frozen=True)
class SegmentGain:
    """What a segment gains by a decision of its own, per event.

    Attributes
    ----------
    mean, low, high
        How much better it is expected to be per event than the decision for all, and between what with a probability of
        95%.
    differs
        Whether its decision is another than that for all.
    """

    mean: float
    low: float
    high: float
    differs: bool

    @property
    def sure(self) -> bool:
        """Whether it gains with a probability of 97.5%."""
        return self.differs and self.low > 0


@dataclass(frozen=True, eq=False)
class SegmentedRecommendation(Recommendation):
    """The decision to take home for all segments, and that of each: ``recommendation["phone"]``.

    Attributes
    ----------
    segments
        The recommendation of each segment, in the order in which they were first asked for.
    gains
        What each gains by its own decision.
    sizes
        Events that were asked for each.
    gain
        What all of them gain, per event.
    variance_shares
        How alike segments are, by what was released: the share of what is believed beforehand that each part has.
    """

    segments: Mapping[Segment, Recommendation] = field(default_factory=dict)
    gains: Mapping[Segment, SegmentGain] = field(default_factory=dict)
    sizes: Mapping[Segment, int] = field(default_factory=dict)
    gain: SegmentGain = SegmentGain(0.0, 0.0, 0.0, False)
    variance_shares: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, segment: Segment) -> Recommendation:
        return self.segments[segment]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def helps(self) -> bool:
        """Whether telling segments apart pays, with a probability of 97.5%."""
        return self.gain.sure

    @property
    def verdict(self) -> str:
        """Whether telling segments apart pays, in words."""
        if not self.segments:
            return "no segment has been asked for yet"
        silent = sum(not one.rounds for one in self.segments.values())
        if silent:
            return (
                f"too early to say whether segments help: nothing was released yet of {silent} of {len(self.segments)}"
            )
        if not any(one.differs for one in self.gains.values()):
            unsure = max((one.shortfall[1] for one in self.segments.values() if one.shortfall is not None), default=0.0)
            if unsure > 0:
                return (
                    "too early to say whether segments help: so far one decision is the best for all, and that of a "
                    f"segment may be better by {unsure:.2g} per event"
                )
            return "segments do not help here, as far as is known: the best decision is the same for all of them"
        gain = self.gain
        if self.helps:
            sure = sum(one.sure for one in self.gains.values())
            return (
                f"segments help: decisions of their own are better than one for all by {gain.mean:.2g} per event, "
                f"between {gain.low:.2g} and {gain.high:.2g}; {sure} of {len(self.segments)} segments gain with a "
                "probability of 97.5% each"
            )
        return (
            f"segments do not help, as far as is known: one decision for all is worse by {gain.mean:.2g} per event, "
            f"and that may be nothing (between {max(0.0, gain.low):.2g} and {gain.high:.2g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        parts = ("segments", "gains", "sizes", "gain", "variance_shares")
        plain = {name: value for name, value in super().to_dict().items() if name not in parts}
        rows = [
            {
                "segment": plain_segment(one),
                "events": self.sizes[one],
                "gain": [self.gains[one].mean, self.gains[one].low, self.gains[one].high],
                "differs": self.gains[one].differs,
                "recommendation": found.to_dict(),
            }
            for one, found in self.segments.items()
        ]
        gain = [self.gain.mean, self.gain.low, self.gain.high]
        return {
            **plain,
            "segments": rows,
            "gain": gain,
            "helps": self.helps,
            "verdict": self.verdict,
            "variance_shares": dict(self.variance_shares),
        }

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What it says: names and texts."""
        rows = [one for one in super().rows if one[0] != "how sure"]  # each segment is as sure as it is
        for one in sorted(self.segments, key=lambda each: -self.sizes[each])[:_SHOWN]:
            found, gain = self.segments[one], self.gains[one]
            what = f"{found.words}, better by {gain.mean:.2g} per event" if gain.differs else "as for all"
            rows.append((segment_text(one), f"{what} ({self.sizes[one]:,} events)"))
        if len(self.segments) > _SHOWN:
            rows.append(("", f"and {len(self.segments) - _SHOWN:,} smaller segments"))
        return (*rows, ("verdict", self.verdict))

    def _parts(self) -> list[Part]:
        ((heading, rows),) = super()._parts()
        return [(heading.replace("Recommendation", "Recommendation for all segments", 1), rows)]


def for_segment(belief: Belief, problem: Problem, shared: int = 0) -> Recommendation:
    """Return the decision to take home for one segment, which has its part in so many `shared` rounds."""
    found = shown(from_belief(belief), problem)
    return replace(found, why=f"{found.why}, of the segment and of those like it", rounds=found.rounds + shared)


def for_all(
    beliefs: Mapping[Segment, Belief],
    sizes: Mapping[Segment, int],
    hierarchy: HierarchicalPrior,
    blank: Belief,
    problem: Problem,
    shared: tuple[int, Sequence[Segment]] = (0, ()),
) -> SegmentedRecommendation:
    """Return the decision that is best for all segments together, by how many events they have; and that of each.

    Some segments have their part in so many `shared` rounds.
    """
    rounds, sharing = shared
    shares = np.array([float(sizes[one]) for one in beliefs])
    shares = shares / shares.sum() if shares.sum() else np.full(len(shares), 1 / max(1, len(shares)))
    x = np.array(blank.leader)
    if beliefs:
        mean = np.einsum("s,sp->p", shares, np.array([one.coefficients() for one in beliefs.values()]))
        x = np.array(blank.best_for(mean))
    found = {
        segment: for_segment(one, problem, rounds if segment in sharing else 0) for segment, one in beliefs.items()
    }
    drawn = {segment: _gaps(one, x, found[segment].x) for segment, one in beliefs.items()}
    gains = {segment: _gain(one, bool(np.abs(found[segment].x - x).max() > 1e-9)) for segment, one in drawn.items()}
    losses = [one.expected_loss(x) for one in beliefs.values()]
    unsure = [one.certainty(x, _FEW).deviation for one in beliefs.values()]  # together at most: they go hand in hand
    whole = shown(
        Recommendation(
            x,
            "the best decision for the mean of what is believed of all segments, by their events",
            rounds + sum(one.measurements.rounds for one in beliefs.values()),
            float(shares @ losses) if losses else None,
            float(shares @ unsure) if losses else None,
        ),
        problem,
    )
    summed = np.einsum("s,sd->d", shares, np.array(list(drawn.values()))) if drawn else np.zeros(1)
    return SegmentedRecommendation(
        **{name: getattr(whole, name) for name in Recommendation.__dataclass_fields__},
        segments=found,
        gains=gains,
        sizes=dict(sizes),
        gain=_gain(summed, any(one.differs for one in gains.values())),
        variance_shares=hierarchy.shares(),
    )


def _gaps(belief: Belief, one: Floats, other: Floats) -> Floats:
    """Draw by how much one decision loses more than another, around the mean, which is known exactly."""
    drawn = belief.gaps(one, other, _DRAWS)
    return np.asarray(drawn + (belief.expected_loss(one) - belief.expected_loss(other) - drawn.mean()))


def _gain(drawn: Floats, differs: bool) -> SegmentGain:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return SegmentGain(float(drawn.mean()), float(low), float(high), differs)
