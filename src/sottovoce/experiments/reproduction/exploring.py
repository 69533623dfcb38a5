"""How much of the regret is the cost of exploring: playing the best fixed point at the algorithm's own radius."""

from sottovoce.experiments.reproduction.lemmas import Base

__all__ = ["EXPLORERS", "exploring_of"]

EXPLORERS = ("paper-no-noise", "default", "no-privacy", "garber-kretzu")
"""Algorithms whose cost of exploring is measured by itself."""


def exploring_of(algorithm: str, base: Base) -> str:
    """Return the name of the run that explores as an algorithm does, around the best fixed point.

    Examples
    --------
    >>> exploring_of("default", Base(8, 1_000, 1.0)), exploring_of("garber-kretzu", Base(8, 1_000, 1.0))
    ('exploring-alone:of=default,epsilon=1', 'exploring-alone:of=garber-kretzu')
    """
    budget = f",epsilon={base.epsilon:g}" if algorithm == "default" else ""
    return f"exploring-alone:of={algorithm}{budget}"
