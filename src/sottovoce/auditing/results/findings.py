"""What the whole audit found, and, in plain words, what it could and could not have seen."""

import math
from dataclasses import dataclass

from sottovoce.auditing.results.audited import Audit
from sottovoce.auditing.results.check import Check


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
    return [_verdict(found), *_seen(found), _NOT_SEEN]


def _verdict(found: Findings) -> str:
    alarm = f"A right program fails somewhere here with probability {1 - found.confidence:.2g} at most."
    if found.refuted:
        return f"REFUTED: {'; '.join(found.refuted)}. {alarm}"
    return f"Nothing was refuted. {alarm}"


def _seen(found: Findings) -> list[str]:
    paragraphs = []
    aligned = [one for one in found.checks if one.kind == "alignment"]
    if aligned:
        pairs = sum(one.tests for one in aligned)
        paragraphs.append(
            f"Seen without doubt, for {len(aligned)} configurations in {pairs:,} pairs of worlds: whether a person can "
            "move what is released by more than its noise was made for, at every place in a round, by losses far "
            "outside the range, told in every way; whether a number lacks a noise of its own; whether actions, or when "
            "rounds close, show anything but what was released."
        )
    noise = [one for one in found.checks if one.kind == "noise"]
    if noise:
        paragraphs.append(
            "Seen of the noise itself, in fresh processes: a scale that is off by a few percent in samplers and "
            "channels, or by a third in optimizers and studies; another shape; draws that repeat, or that depend on "
            "each other between numbers, rounds, threads or processes."
        )
    for kind, name in (
        ("mechanism", "Mechanisms alone"),
        ("optimizer", "Optimizers"),
        ("evaluations", "Evaluations"),
        ("stored evaluations", "Stored evaluations"),
        ("study", "Studies"),
    ):
        least = [one.smallest_seen for one in found.audits if one.kind == kind]
        if least:
            paragraphs.append(f"{name}: {_range(found, kind, least)}")
    return paragraphs


def _range(found: Findings, kind: str, least: list[float]) -> str:
    bare = all(one.sees_bare_values for one in found.audits if one.kind == kind)
    words = "a value without any noise would have been noticed" if bare else "runs were too few for anything but luck"
    finite = [one for one in least if math.isfinite(one)]
    if not finite:
        return f"{words}; noise of a wrong scale would not."
    reach = f"{min(finite):.3g}" if len(set(finite)) == 1 else f"{min(finite):.3g} to {max(finite):.3g}"
    return (
        f"{words}; a true epsilon of {reach} of everybody would have been told from the claim nine times out of ten, "
        "one below that not. More runs see less of a difference: --runs."
    )


_NOT_SEEN = (
    "Not seen: a fault that needs another configuration, a longer run or a rarer event than these; a leak by time, "
    "memory, logs or files; noise that only its maker can predict. An audit can refute a claim, never prove it."
)
