"""Choose an attack, a score and a threshold, on runs that will not judge it: or the judgement would be worthless."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.auditing.attacks._distinguishers import Distinguisher, learn
from sottovoce.auditing.attacks.bounds import at_least, at_most
from sottovoce.auditing.attacks.claims import Claim
from sottovoce.auditing.attacks.observations import Observations, alike, views

__all__ = ["Attack", "choose"]

_THRESHOLDS = 100
_MANY_RUNS_EACH = 50  # for each number that is seen
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
        seen_as = views(seen)
        return self.distinguisher.score(seen_as.get(self.distinguisher.view, np.zeros((seen.runs, 1))))

    def hits(self, low: Floats, high: Floats) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return (hits, trials) of the world where the set is likely, and of the one where it is rare."""
        likely, rare = (high, low) if self.above else (low, high)
        return (self._count(likely), len(likely)), (self._count(rare), len(rare))

    def _count(self, scores: Floats) -> int:
        return int(((scores > self.threshold) == self.above).sum())


def choose(claim: Claim, low: Observations, high: Observations) -> Attack:
    """Return the attack for which these runs show most.

    Where there are few runs for each number that is seen, attacks are learned on one half of them and compared on the
    other: on the runs that it was learned from, an attack on hundreds of numbers would know each by heart, and be
    preferred to one that sees something.
    """
    low_views, high_views = (views(seen) for seen in alike(low, high))
    found = []
    for view in low_views:
        both = low_views[view], high_views[view]
        few = min(map(len, both)) < _MANY_RUNS_EACH * both[0].shape[1]
        learning, comparing = (slice(0, None, 2), slice(1, None, 2)) if few else (slice(None), slice(None))
        for candidate in learn(view, *(seen[learning] for seen in both)):
            found.append(_threshold(claim, candidate, *(candidate.score(seen[comparing]) for seen in both)))
    return max(found, key=lambda attack: attack.strength, default=_BLIND)


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


_Counts = tuple[Integers, int]


def _sides(over_low: Integers, over_high: Integers, low: int, high: int) -> Iterator[tuple[bool, _Counts, _Counts]]:
    yield True, (over_high, high), (over_low, low)
    yield False, (low - over_low, low), (high - over_high, high)


# Where everything that is seen is the same in every run of both worlds.
_BLIND = Attack(Distinguisher("nothing", "what is seen", lambda seen: np.zeros(len(seen))), 0.0, True, -np.inf)
