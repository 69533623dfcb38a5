"""Baselines with the constant that turns out best: what their bounds leave on the table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce.experiments.algorithms import DELTA
from sottovoce.experiments.grouping import gather
from sottovoce.experiments.reproduction.lemmas import Base
from sottovoce.experiments.summary import Summary, standard_error, summarise
from sottovoce.experiments.sweeps.cell import Result

__all__ = ["BASELINES_IN_WORDS", "FACTORS", "Hindsight", "hindsight", "with_factor"]

FACTORS = (0.35, 0.6, 1.0, 1.7, 2.8)
"""What radii are multiplied by; 1 is the radius with the least bound."""

BASELINES_IN_WORDS = {
    "garber-kretzu": "Garber-Kretzu",
    "smith-thakurta": "Smith-Thakurta, pure",
    f"smith-thakurta:delta={DELTA:g}": "Smith-Thakurta, approximate",
    "chen-zhang-karbasi": "Chen-Zhang-Karbasi",
    "fkm": "Flaxman-Kalai-McMahan",
}
"""The baselines of the page, in words."""


def with_factor(algorithm: str, factor: float) -> str:
    """Return the name of a baseline whose radius is multiplied.

    Examples
    --------
    >>> with_factor("garber-kretzu", 1.0), with_factor("smith-thakurta:delta=1e-06", 0.6)
    ('garber-kretzu', 'smith-thakurta:delta=1e-06,radius_factor=0.6')
    """
    if factor == 1.0:
        return algorithm
    return f"{algorithm}{',' if ':' in algorithm else ':'}radius_factor={factor:g}"


@dataclass(frozen=True, slots=True)
class Hindsight:
    """A baseline at one horizon: with the constant of its bound, and with the best of those tried.

    Attributes
    ----------
    who, horizon
        The baseline, in words, and T.
    own, own_error
        Regret per event with the constant that minimises its own bound, and its standard error.
    best, best_error, factor
        The least over the factors tried, on the same seeds, its standard error, and the factor. It is chosen by the
        very losses that it is measured on.
    never
        Regret per event of never learning.
    """

    who: str
    horizon: int
    own: float
    own_error: float
    best: float
    best_error: float
    factor: float
    never: float


def hindsight(results: Sequence[Result], base: Base) -> tuple[Hindsight, ...]:
    """Return the baselines at every horizon where other constants were tried, as far as they were."""
    mine = [one for one in results if one.status == "done" and one.dimension == base.dimension]
    rows = []
    for name, words in BASELINES_IN_WORDS.items():
        several = {with_factor(name, factor): factor for factor in FACTORS}
        tried = gather(summarise(one for one in mine if one.cell.algorithm in several), lambda one: one.horizon)
        for horizon, found in sorted(tried.items()):
            at = {several[one.algorithm]: one for one in found if one.epsilon in (base.epsilon, float("inf"))}
            if 1.0 in at and len(at) > 1:
                rows.append(_row(words, horizon, at))
    return tuple(rows)


def _row(words: str, horizon: int, at: dict[float, Summary]) -> Hindsight:
    """Compare factors on the seeds that all of them have."""
    seeds = set.intersection(*({one.cell.seed for one in summary.done} for summary in at.values()))
    regrets = {
        factor: np.array([one.regret_per_event for one in summary.done if one.cell.seed in seeds])
        for factor, summary in at.items()
    }
    best = min(regrets, key=lambda factor: float(regrets[factor].mean()))
    own, ends = regrets[1.0], regrets[best]
    return Hindsight(
        words,
        horizon,
        float(own.mean()),
        standard_error(own),
        float(ends.mean()),
        standard_error(ends),
        best,
        float(np.mean([one.never_learning_per_event for one in at[1.0].done if one.cell.seed in seeds])),
    )
