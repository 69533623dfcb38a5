"""Choose an attack, a score and a threshold, on runs that will not judge it: or the judgement would be worthless."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.auditing.bounds import at_least, at_most
from sottovoce.auditing.claims import Claim
from sottovoce.auditing.distinguishers import Distinguisher, learn
from sottovoce.auditing.observations import Observations, views

__all__ = ["Attack", "choose"]

Floats = NDArray[np.float64]
_THRESHOLDS = 100
_CAUTION = 1e-5  # error at which attacks are compared: so small that luck on few runs does not win


@dataclass(frozen=True)
class Attack:
    """A set of transcripts that one world hits more often: those with a score above (or not above) a threshold."""

    distinguisher: Distinguisher
    threshold: float
    above: bool
    strength: float  # what the runs that it was chosen on show

    @property
    def name(self) -> str:
        """The distinguisher and what it looks at."""
        return f"{self.distinguisher.name} of {self.distinguisher.view}"

    def scores(self, seen: Observations) -> Floats:
        """Return one score per run."""
        return self.distinguisher.score(views(seen)[self.distinguisher.view])

    def hits(self, low: Floats, high: Floats) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return (hits, trials) of the world where the set is likely, and of the one where it is rare."""
        likely, rare = (high, low) if self.above else (low, high)
        return (self._count(likely), len(likely)), (self._count(rare), len(rare))

    def _count(self, scores: Floats) -> int:
        return int(((scores > self.threshold) == self.above).sum())


def choose(claim: Claim, low: Observations, high: Observations) -> Attack:
    """Return the attack for which these runs show most."""
    low_views, high_views = views(low), views(high)
    found = (
        _threshold(claim, candidate, candidate.score(low_views[view]), candidate.score(high_views[view]))
        for view in low_views
        for candidate in learn(view, low_views[view], high_views[view])
    )
    return max(found, key=lambda attack: attack.strength)


def _threshold(claim: Claim, candidate: Distinguisher, low: Floats, high: Floats) -> Attack:
    both = np.sort(np.concatenate([low, high]))
    marks = np.unique(both[np.linspace(0, len(both) - 1, _THRESHOLDS + 1).astype(int)])
    middles = (marks[1:] + marks[:-1]) / 2 if len(marks) > 1 else marks
    over_low, over_high = (len(scores) - np.searchsorted(np.sort(scores), middles, "right") for scores in (low, high))
    best = Attack(candidate, float(middles[0]), True, -np.inf)
    for above, likely, rare in _sides(over_low, over_high, len(low), len(high)):
        shown = claim.shown(at_least(*likely, _CAUTION), at_most(*rare, _CAUTION))
        i = int(np.argmax(shown))
        if shown[i] > best.strength:
            best = Attack(candidate, float(middles[i]), above, float(shown[i]))
    return best


_Counts = tuple[NDArray[np.int64], int]


def _sides(
    over_low: NDArray[np.int64], over_high: NDArray[np.int64], low: int, high: int
) -> Iterator[tuple[bool, _Counts, _Counts]]:
    yield True, (over_high, high), (over_low, low)
    yield False, (low - over_low, low), (high - over_high, high)
