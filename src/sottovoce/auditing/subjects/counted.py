"""People who are counted as something to audit: each has more events than the promise names, and all of them differ."""

from dataclasses import dataclass
from typing import Any

from sottovoce.auditing.playing.transcripts import harness_for
from sottovoce.privacy import NoiseSource


@dataclass(frozen=True, eq=False)
class CountedConfiguration:
    """The same as another subject, whose every call says for whom it is.

    Parameters
    ----------
    subject
        A `Configuration`, `StudyConfiguration` or `EvaluationConfiguration`.
    people
        How many come often: neighbouring worlds differ in all events of one of them. Everybody else comes once.
    label
        A name for tables.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.auditing import Configuration, align
    >>> small = Configuration(sv.domains.Simplex(3), sv.PureDP(1.0), 12, {"probes": 2, "least_events": 2})
    >>> print(align(CountedConfiguration(small, people=2, label="counted")))
    counted: a person costs at most 1 of epsilon = 1, and nothing else shows, in 12 pairs of worlds
    """

    subject: Any
    people: int
    label: str

    def __getattr__(self, name: str) -> Any:
        if name == "subject" or name.startswith("__"):  # while it is copied
            raise AttributeError(name)
        return getattr(self.subject, name)

    def __call__(self, seed: int, noise: NoiseSource) -> Any:
        """Return a harness that says whose events are."""
        harness: Any = harness_for(self.subject(seed, noise), noise)
        harness.people = self.people
        return harness
