"""Choose an attack on runs that will not judge it: or the judgement would be worthless."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.auditing.attacks._distinguishers import Distinguisher, learn
from sottovoce.auditing.attacks.betting import Claim, Guesses
from sottovoce.auditing.attacks.observations import Observations, views

_THRESHOLDS = 100
_MANY_RUNS_EACH = 50  # for each number that is seen
_LEAST_RUNS = 4  # of each world, to learn anything
_CAUTION = 4.3  # standard errors by which attacks are compared: so many that luck on few runs does not win
_WORTH_A_BET = 0.5  # standard errors above what the claim allows


@dataclass(frozen=True)
class Attack:
    """Guesses one person's world: the second if a score is above a threshold, the first if not above a lower one."""

    distinguisher: Distinguisher
    under: float
    over: float
    right: float = 0.0  # of cautious guesses on the runs that it was chosen on
    wrong: float = 0.0
    trials: float = 0.0  # these runs, counted twice if both worlds are guessed
    strength: float = -np.inf  # what these show

    @property
    def name(self) -> str:
        """The distinguisher and what it looks at."""
        return f"{self.distinguisher.name} of {self.distinguisher.view}"

    @property
    def share(self) -> float:
        """Of both worlds, how many are guessed."""
        return sum(map(math.isfinite, (self.under, self.over))) / 2

    def scores(self, seen_as: Mapping[str, Floats], runs: int) -> Floats:
        """Return one score per run."""
        return self.distinguisher.score(seen_as.get(self.distinguisher.view, np.zeros((runs, 1))))

    def guesses(self, scores: Floats) -> Integers:
        """Return 1 for the second world, -1 for the first, 0 for no guess."""
        return (scores > self.over).astype(np.int64) - (scores <= self.under)


@dataclass(frozen=True)
class JointAttack:
    """Guesses the worlds of several people of each run: those about whom most can be shown together.

    Attributes
    ----------
    attacks
        By the number of the person, the strongest first.
    strength
        What the runs that it was chosen on show.
    """

    attacks: Mapping[int, Attack]
    strength: float

    @property
    def lead(self) -> tuple[int, Attack]:
        """The person about whom most is seen, and how."""
        return next(iter(self.attacks.items()))

    def judged(self, claim: Claim, seen: Observations) -> Guesses:
        """Guess, and count what was right and wrong."""
        seen_as = views(seen)
        truth = np.where(seen.worlds, 1, -1)
        outcomes = np.stack(
            [one.guesses(one.scores(seen_as, seen.runs)) * truth[:, who] for who, one in self.attacks.items()], axis=1
        )
        every = self.attacks.values()
        share = sum(one.share for one in every) / len(self.attacks)
        rare = (sum(one.wrong for one in every) + 0.5) / (sum(one.trials for one in every) + 1)
        return Guesses.of(outcomes.reshape(-1, 1) if claim.pure else outcomes, rare, share)


def choose(claim: Claim, seen: Observations) -> JointAttack:
    """Return the attack for which these runs show most."""
    seen_as = views(seen)
    single = {who: _single(claim, seen_as, seen.worlds[:, who]) for who in range(seen.worlds.shape[1])}
    order = sorted(single, key=lambda who: -single[who].strength)
    right, wrong, trials = np.cumsum([[single[who].right, single[who].wrong, single[who].trials] for who in order], 0).T
    together = _shown(claim, right, wrong, trials)
    count = int(np.argmax(together)) + 1
    return JointAttack({who: single[who] for who in order[:count]}, float(together[count - 1]))


def _single(claim: Claim, seen_as: Mapping[str, Floats], world: Any) -> Attack:
    """Return the attack on one person for which these runs show most.

    Where there are few runs for each number that is seen, attacks are learned on one half of them and compared on the
    other: on the runs that it was learned from, an attack on hundreds of numbers would know each by heart, and be
    preferred to one that sees something.
    """
    fewest = min(world.sum(), len(world) - world.sum())
    if fewest < _LEAST_RUNS:
        return _BLIND
    best = _BLIND
    for view, values in seen_as.items():
        both = values[~world], values[world]
        few = fewest < _MANY_RUNS_EACH * values.shape[1]
        learning, comparing = (slice(0, None, 2), slice(1, None, 2)) if few else (slice(None), slice(None))
        for candidate in learn(view, *(one[learning] for one in both)):
            found = _thresholds(claim, candidate, *(candidate.score(one[comparing]) for one in both))
            best = max(best, found, key=lambda attack: attack.strength)
    return best


def _thresholds(claim: Claim, candidate: Distinguisher, low: Floats, high: Floats) -> Attack:
    """Return the best thresholds: one for each world, or for one of them alone; all pairs of a hundred are compared."""
    both = np.sort(np.concatenate([low, high]))
    marks = np.unique(both[np.linspace(0, len(both) - 1, _THRESHOLDS + 1).astype(int)])
    middles = (marks[1:] + marks[:-1]) / 2 if len(marks) > 1 else marks
    runs, count = (len(low) + len(high)) / 2, len(middles)
    # How many runs of each world lie below a threshold, as if coins were even.
    lower, higher = (
        np.searchsorted(np.sort(scores), middles, "right") * (runs / len(scores)) for scores in (low, high)
    )
    below, above = np.stack([lower, higher]), np.stack([runs - higher, runs - lower])  # right and wrong guesses
    below, above = (np.column_stack([one, np.zeros(2)]) for one in (below, above))  # last of all: no guess
    first, second = np.triu_indices(count)
    every, none = np.arange(count), np.full(count, -1)
    under, over = np.concatenate([every, none, first]), np.concatenate([none, every, second])
    right, wrong = below[:, under] + above[:, over]
    trials = runs * np.add(under >= 0, over >= 0, dtype=np.float64)
    shown = _shown(claim, right, wrong, trials)
    chosen = cautious = int(np.argmax(shown))
    if claim.mu is None:
        # Pure privacy is at its worst where an output says most, seldom as that may be: there the bets are made, if
        # anything speaks against the claim. Gaussian noise is as bad at every threshold.
        against = _against(claim, right, wrong, trials)
        chosen = int(np.argmax(against)) if against.max() > _WORTH_A_BET else cautious
    ends = [float(middles[one[chosen]]) if one[chosen] >= 0 else None for one in (under, over)]
    thresholds = -np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1]
    found = float(right[cautious]), float(wrong[cautious]), float(trials[cautious]), float(shown[cautious])
    return Attack(candidate, *thresholds, *found)


def _shown(claim: Claim, right: Any, wrong: Any, trials: Any) -> Any:
    """What so many right and wrong guesses show, with caution: both rates at the unlucky ends of Wilson's intervals."""
    trials = np.maximum(trials, 1.0)
    square = _CAUTION**2
    ends = []
    for hits, sign in ((right, -1), (wrong, 1)):
        hits = np.minimum(hits, trials)
        spread = np.sqrt(square * (hits * (trials - hits) / trials + square / 4))
        ends.append((hits + square / 2 + sign * spread) / (trials + square))
    return claim.shown(*ends)


def _against(claim: Claim, right: Any, wrong: Any, trials: Any) -> Any:
    """How many standard errors the gain of a bet against the claim lies above 0; a few guesses are never many."""
    slope, intercept = claim.line(claim.tested, 0.5)
    return (right - slope * wrong - intercept * trials) / np.sqrt(right + slope**2 * wrong + _CAUTION**2)


# Where everything that is seen is the same in every run of both worlds, or there is too little to learn from.
_BLIND = Attack(Distinguisher("nothing", "what is seen", lambda seen: np.zeros(len(seen))), -np.inf, np.inf)
