"""How much of the regret is the cost of exploring: playing the best fixed point at the algorithm's own radius."""

import numpy as np

from sottovoce.lab.reproduction.evidence import Series
from sottovoce.lab.reproduction.lemmas import Base
from sottovoce.lab.slopes import fit

EXPLORERS = {
    "paper-no-noise": "paper-no-noise",
    "paper-needed-laplace": "paper-no-noise",  # noise changes no radius
    "paper-needed-gaussian": "paper-no-noise",
    "default": "default",
    "no-privacy": "no-privacy",
    "garber-kretzu": "garber-kretzu",
}
"""Algorithms whose cost of exploring is measured by itself, with the one whose radius they have."""


def exploring_of(algorithm: str, base: Base) -> str:
    """Return the name of the run that explores as an algorithm does, around the best fixed point.

    Examples
    --------
    >>> exploring_of("default", Base(8, 1_000, 1.0)), exploring_of("paper-needed-laplace", Base(8, 1_000, 1.0))
    ('exploring-alone:of=default,epsilon=1', 'exploring-alone:of=paper-no-noise')
    """
    budget = f",epsilon={base.epsilon:g}" if algorithm == "default" else ""
    return f"exploring-alone:of={EXPLORERS[algorithm]}{budget}"


def parts_in_words(found: Series, exploring: Series) -> str:
    """Say how much of the regret exploring is by itself, how it grows, and how the rest does; nothing if unknown.

    Parameters
    ----------
    found, exploring
        Of the algorithm, and of the best fixed point at its radius, along the same axis.
    """
    seeds = sorted(set(found.seeds) & set(exploring.seeds))
    if not seeds or len(found.values) < 2 or found.values.tolist() != exploring.values.tolist():
        return ""
    found, exploring = found.among(set(seeds)), exploring.among(set(seeds))
    shares = exploring.regrets.mean(axis=0) / found.regrets.mean(axis=0)
    word = "mostly" if shares.min() > 0.5 else "partly" if shares.max() > 0.2 else "hardly"
    own = fit(exploring.values, exploring.regrets)
    below = bool((exploring.regrets < exploring.bounds).all())
    parts = (
        f"{word} exploring, {shares[0]:.0%} to {shares[-1]:.0%} of it, to the power of {own.slope:.2f} ± "
        f"{own.error:.2f} and {exploring.share_of_bound} of its own bound{' (below it throughout)' if below else ''}"
    )
    rest = found.regrets - exploring.regrets
    if (rest > 0).all():
        left = fit(found.values, rest)
        return f"{parts}; the rest to the power of {left.slope:.2f} ± {left.error:.2f}"
    sizes = np.abs(rest).mean(axis=0) / found.regrets.mean(axis=0)
    return f"{parts}; the rest is within {sizes.max():.0%} of it"
