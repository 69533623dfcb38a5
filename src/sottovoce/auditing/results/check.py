"""What a check found that has no epsilon: it holds, or it does not."""

from dataclasses import dataclass
from typing import Any


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
        return {
            "label": self.label,
            "kind": self.kind,
            "passed": self.passed,
            "words": self.words,
            "tests": self.tests,
            "false_alarm": self.false_alarm,
        }

    def __str__(self) -> str:
        return f"{self.label}: {'' if self.passed else 'REFUTED: '}{self.words}"
