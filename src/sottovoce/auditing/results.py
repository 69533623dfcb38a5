"""What audits found, as values that print themselves; in plain words, what they could have seen."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce.auditing.attacks.betting import Claim


@dataclass(frozen=True)
class Check:
    """One check; `print` it.

    Attributes
    ----------
    label
        What was checked.
    kind
        "alignment" or "noise".
    passed
        Whether nothing was found.
    words
        What was found, in words.
    tests
        How many single tests stand behind it.
    false_alarm
        Probability, at most, that a right program fails; 0 for checks that involve no chance.
    """

    label: str
    kind: str
    passed: bool
    words: str
    tests: int
    false_alarm: float

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.label}: {'' if self.passed else 'REFUTED: '}{self.words}"


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found; `print` it.

    Attributes
    ----------
    label
        What was audited.
    claim
        The guarantee under test.
    epsilon_lower
        The epsilon that the runs prove to be needed, at `delta` and with `confidence`.
    confidence
        Whatever is audited, `epsilon_lower` exceeds its true epsilon with at most 1 - confidence probability.
    distinguisher
        The strongest that was found.
    neighbours
        How the two worlds differ, in words: the pair of worlds for which most was found.
    runs
        For choosing and for judging together.
    right, wrong
        How many guesses of a person's world were right, and wrong.
    trials
        How many could have been made.
    kind
        What was audited: an "optimizer", "evaluations", a "study" or a "mechanism" alone.
    tried
        How many people, each with a pair of worlds, were tried.
    people
        How many of them were watched in each run that judged.
    smallest_seen
        The smallest epsilon, of all who were watched, that this audit would have told from the claim, nine times out of
        ten, by the right attack.
    sees_bare_values
        Whether a value without any noise, of one person alone, would have refuted the claim with these runs.
    simulated
        True if the noise came from a seed. Then the audit is of the arithmetic alone: nothing is private.
    """

    label: str
    claim: Claim
    epsilon_lower: float
    confidence: float
    distinguisher: str
    neighbours: str
    runs: int
    right: int
    wrong: int
    trials: int
    simulated: bool
    kind: str = "optimizer"
    tried: int = 1
    people: int = 1
    smallest_seen: float = math.inf
    sees_bare_values: bool = False

    @property
    def epsilon_claimed(self) -> float:
        """The epsilon that is promised, at `delta`."""
        return self.claim.epsilon

    @property
    def delta(self) -> float:
        """Where epsilon is stated; 0 for pure privacy."""
        return self.claim.delta

    @property
    def passed(self) -> bool:
        """Whether the claim stands."""
        return self.epsilon_lower <= self.epsilon_claimed

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        if self.passed:
            return "not refuted: no attack that was tried needs more than is claimed"
        return "REFUTED: the outputs give away more than is claimed"

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, for JSON."""
        return {
            "label": self.label,
            "guarantee": self.claim.guarantee.to_dict(),
            "epsilon_claimed": self.epsilon_claimed,
            "epsilon_lower": self.epsilon_lower,
            "delta": self.delta,
            "confidence": self.confidence,
            "passed": self.passed,
            "distinguisher": self.distinguisher,
            "neighbours": self.neighbours,
            "neighbours_tried": self.tried,
            "runs": self.runs,
            "guesses": {"right": self.right, "wrong": self.wrong, "trials": self.trials},
            "people": self.people,
            "smallest_epsilon_seen": self.smallest_seen if math.isfinite(self.smallest_seen) else None,
            "sees_bare_values": self.sees_bare_values,
            "kind": self.kind,
            "simulated_noise": self.simulated,
        }

    def __str__(self) -> str:
        at = f" at delta = {self.delta:g}" if self.delta else ""
        rows = [
            ("Claimed", f"{self.claim.guarantee}" + f": epsilon = {self.epsilon_claimed:.4g}{at}" * bool(self.delta)),
            (
                "Shown",
                f"epsilon is at least {self.epsilon_lower:.4g}{at}, with {100 * self.confidence:.6g}% confidence",
            ),
            ("Verdict", self.verdict),
            (
                "Attack",
                f"{self.distinguisher}. The person: {self.neighbours}. {self.tried} such pairs of worlds were tried, "
                f"{self.people} together in each run",
            ),
            (
                "Counts",
                f"{self.trials:,} coins chose people's worlds; of the guesses that were made, by an attack that was "
                f"learned before, {self.right:,} were right and {self.wrong:,} wrong; {self.runs:,} runs in all",
            ),
            ("Power", _could_have_seen([self])),
            ("Meaning", _MEANING + (_GAUSSIAN if self.claim.mu is not None else "")),
        ]
        if self.simulated:
            rows.append(("NOT PRIVATE", "the noise was simulated from a seed: this audits the arithmetic alone"))
        lines = (
            textwrap.fill(text, width=110, initial_indent=f"  {name:<12} ", subsequent_indent=" " * 15)
            for name, text in rows
        )
        return "\n".join([f"Audit: {self.label}", *lines])


def _could_have_seen(audits: Sequence[Audit]) -> str:
    """Say in words what the runs of audits could have told from their claims."""
    bare = all(one.sees_bare_values for one in audits)
    words = "a value without any noise would have been noticed" if bare else "runs were too few for anything but luck"
    finite = {f"{one.smallest_seen:.3g}": one.smallest_seen for one in audits if math.isfinite(one.smallest_seen)}
    if not finite:
        return f"{words}; noise of a wrong scale would not"
    reach = " to ".join(
        dict.fromkeys([min(finite, key=lambda one: finite[one]), max(finite, key=lambda one: finite[one])])
    )
    return (
        f"{words}; a true epsilon of {reach} of everybody would have been told from the claim nine times out of ten, "
        "by the right attack, one below that not. More runs see less of a difference"
    )


_MEANING = "an audit can refute a claim, never prove it. It tried these neighbours and these attacks, and no others."
_GAUSSIAN = " The claim under test is the whole trade-off curve of Gaussian noise, stated as an epsilon at delta."


@dataclass(frozen=True)
class Findings:
    """What the whole audit found.

    Attributes
    ----------
    audits
        Of optimizers, studies and mechanisms, by their runs.
    checks
        Alignments, and the noise itself.
    confidence
        Of all of it together: 1 - confidence is the probability that a right program fails anywhere.
    complete
        Whether everything was done.
    """

    audits: tuple[Audit, ...]
    checks: tuple[Check, ...]
    confidence: float
    complete: bool

    @property
    def passed(self) -> bool:
        """Whether nothing was refuted."""
        return not self.refuted

    @property
    def refuted(self) -> list[str]:
        """What was refuted, by its label."""
        audits = [one.label for one in self.audits if not one.passed]
        return audits + [one.label for one in self.checks if not one.passed]


def summary(found: Findings) -> list[str]:
    """Return a few paragraphs: the verdict, what the runs could have seen, and what no run can see.

    Parameters
    ----------
    found
        What `audit_all` returned.
    """
    alarm = f"A right program fails somewhere here with probability {1 - found.confidence:.2g} at most."
    verdict = f"REFUTED: {'; '.join(found.refuted)}." if found.refuted else "Nothing was refuted."
    paragraphs = [f"{verdict} {alarm}"]
    aligned = [one for one in found.checks if one.kind == "alignment"]
    if aligned:
        paragraphs.append(_ALIGNED.format(len(aligned), sum(one.tests for one in aligned)))
    if len(aligned) < len(found.checks):
        paragraphs.append(_OF_NOISE)
    kinds = dict.fromkeys(one.kind for one in found.audits)
    paragraphs += [f"{kind}: {_could_have_seen([one for one in found.audits if one.kind == kind])}." for kind in kinds]
    return [*paragraphs, _NOT_SEEN]


_ALIGNED = (
    "Seen without doubt, for {} configurations in {:,} pairs of worlds: whether a person can move what is released by "
    "more than its noise was made for, at every place in a round, by losses far outside the range, told in every way; "
    "whether a number lacks a noise of its own; whether actions, or when rounds close, show anything but what was "
    "released."
)
_OF_NOISE = (
    "Seen of the noise itself, in fresh processes: a scale that is off by a few percent in samplers and channels, or "
    "by a third in optimizers and studies; another shape; draws that repeat, or that depend on each other between "
    "numbers, rounds, threads or processes."
)
_NOT_SEEN = (
    "Not seen: a fault that needs another configuration, a longer run or a rarer event than these; a leak by time, "
    "memory, logs or files; noise that only its maker can predict. An audit can refute a claim, never prove it."
)
