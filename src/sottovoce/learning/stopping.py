"""When to stop: whether the decision to take home is good enough, or how many more events that should take.

It is said from a recommendation alone, so from released numbers: it costs no privacy, and may be asked at any time.
Decisions that may be the best are played more and more, so that a shortfall falls faster than a standard error: about
as events to the power -0.8 on arms, slates and convex losses. On the seeds that this power was chosen on, the events it
took were 0.6 (arms), 1.5 (slates) and 0.9 times (boxes) what was foretold, in the geometric mean; single runs differ by
more, of arms up to five times.

What is known of a segment comes from others as well, by how alike segments have been so far; of that little is known
for long, and a segment that differs is the last to show it. So its own events must be as many as it takes to
contradict. Two standard errors of a mean of n losses, which scatter by half the range at most, are 1/sqrt(n) of the
range, and that is what was asked for once n is 1/within^2. Without this rule 6 of 31 answers were a wrong yes (eight
segments that differ by 5% of the range, 100 and 200 events each, within 5%, epsilon 1, three seeds);
with it 11 of 511 (four worlds, 400 to 800 events each, epsilon 1 and none, five other seeds).

Tests: tests/learning/test_stopping.py.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from scipy.special import ndtri

from sottovoce._checks import number
from sottovoce._printed import Part, Printed
from sottovoce.learning.recommendation import Recommendation

_STATED = 0.95  # the probability that a recommendation states its shortfall with
_POWER = 1.25  # of a shortfall: how many times the events it takes to have it fall


@dataclass(frozen=True)
class Enough(Printed):
    """Whether the decision to take home is good enough; `bool` of it is the answer, `print` says why.

    Attributes
    ----------
    yes
        The answer.
    why
        The reason, in a sentence.
    more
        About how many more events it should take; 0 if none, None if that cannot be said.
    shortfall
        How much better the best decision may be, per event, with the probability that was asked for; None if unknown.
    within, certainty
        What was asked, `within` in units of the loss.
    """

    yes: bool
    why: str
    more: int | None
    shortfall: float | None
    within: float
    certainty: float

    def __bool__(self) -> bool:
        return self.yes

    def _parts(self) -> list[Part]:
        return [(f"{'Enough' if self.yes else 'Not enough'}: {self.why}.", ())]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold."""
        return {**asdict(self), "words": str(self)}


class MayStop:
    """What can be stopped: an optimizer, a study, or the client of one."""

    def enough(self, certainty: float = 0.95, within: float = 0.01, *, segment: Any = None) -> Enough:
        """Say whether the decision to take home is good enough to stop, and if not how many more events it should take.

        It follows from released numbers alone: ask as often as you like, it costs no privacy.

        Parameters
        ----------
        certainty
            The probability that it is to be as good as that.
        within
            How much worse than the best it may be, per event, as a share of the loss range.
        segment
            Of whom, of an optimizer with `segments`; None for every segment's own decision.
        """
        return enough_for(self, certainty, within, segment)


def enough_for(
    optimizer: Any, certainty: float, within: float, segment: Any = None, found: Recommendation | None = None
) -> Enough:
    """Return whether the recommendation of an optimizer, a study or the client of one is good enough.

    Parameters
    ----------
    optimizer
        With `recommend`, `segments`, `loss_range` and `remaining`.
    certainty, within, segment
        As for `PrivateBandit.enough`.
    found
        What it recommends, if that is known already.
    """
    certainty = number("certainty", certainty, above=0.5, at_most=0.999)
    low, high = optimizer.loss_range
    share = number("within", within, above=0.0, at_most=1.0)
    allowed, own = share * (high - low), 0 if optimizer.segments is None else math.ceil(share**-2)
    known = optimizer.recommend(segment=segment) if found is None else found
    recommended = [known] if known.segments is None else list(known.segments.values())
    sizes, all_of = [one.events for one in recommended], "" if known.segments is None else " for a segment"
    unknown = _unknown(recommended)
    if unknown:
        return Enough(False, unknown, None, None, allowed, certainty)
    shortfalls = [_shortfall(one, certainty) for one in recommended]
    worst, fewest = max(shortfalls), min(sizes)
    if worst <= allowed and fewest >= own:
        most = f" by more than {worst:.2g} per event, and {allowed:.2g} was asked for" if worst > 0 else ""
        why = f"with a probability of {100 * certainty:.3g}% no decision{all_of} is better{most}"
        return Enough(True, why, 0, worst, allowed, certainty)
    needed = (  # of all events, so that as many as it takes are of each segment
        sum(sizes) / max(1, size) * max(size * ((one / allowed) ** _POWER - 1), own - size)
        for one, size in zip(shortfalls, sizes, strict=True)
    )
    more, left = _two_digits(max(needed)), optimizer.remaining
    why = (
        f"with a probability of {100 * (1 - certainty):.3g}% the best decision{all_of} is better by more than "
        f"{worst:.2g} per event, and {allowed:.2g} was asked for"
        if worst > allowed
        else f"a segment has {fewest:,} events of its own, and takes {own:,} to contradict what others have shown"
    ) + f"; about {more:,} more events should do"
    if left is not None and left < more:
        why += f", and {left:,} are left"
    return Enough(False, why, more, worst, allowed, certainty)


def _unknown(each: list[Recommendation]) -> str:
    """Say why nothing can be said; nothing if it can."""
    if not each or any(not one.rounds for one in each):
        return "nothing was released yet" if len(each) < 2 else "of some segments nothing was released yet"
    if any(one.shortfall is None for one in each):
        return "how sure it is cannot be said, since this plan has no model of the losses"
    caution = next((one.caution for one in each if one.caution), "")
    return f"how sure it is cannot be said, since the model does not fit: {caution}" if caution else ""


def _shortfall(found: Recommendation, certainty: float) -> float:
    """Return what a shortfall stays below with a probability: as stated, or farther out in a Gaussian tail.

    Where 95% of what may be is no shortfall at all, Markov's inequality bounds the rest.
    """
    assert found.shortfall is not None
    mean, stated = found.shortfall
    if certainty <= _STATED:
        return stated
    if stated <= 0.0:
        return mean / (1 - certainty)
    return stated * float(ndtri(certainty) / ndtri(_STATED))


def _two_digits(events: float) -> int:
    unit = int(10 ** max(0, math.floor(math.log10(max(1.0, events))) - 1))
    return max(1, math.ceil(events / unit)) * unit
