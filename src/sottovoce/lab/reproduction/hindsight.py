"""Baselines with the constant that turns out best: what their bounds leave on the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.grouping import gather
from sottovoce.lab.reproduction.lemmas import Base
from sottovoce.lab.summary import Summary, standard_error, summarise
from sottovoce.lab.sweeps.cell import Result

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
    best_by_seed
        The best one's regret per event, by seed.
    """

    who: str
    horizon: int
    own: float
    own_error: float
    best: float
    best_error: float
    factor: float
    never: float
    best_by_seed: Mapping[int, float]


def hindsight(results: Sequence[Result], base: Base) -> tuple[Hindsight, ...]:
    """Return the baselines at every horizon where other constants were tried, as far as they were."""
    mine = [one for one in results if one.status == "done" and one.dimension == base.dimension]
    rows = []
    for name, words in BASELINES_IN_WORDS.items():
        several = {with_factor(name, factor): factor for factor in FACTORS}
        tried = gather(summarise(one for one in mine if one.cell.algorithm in several), lambda one: one.horizon)
        for horizon, found in sorted(tried.items()):
            at = {several[one.algorithm]: one for one in found if one.epsilon in (base.epsilon, float("inf"))}
            if 1.0 in at and len(at) > 1 and _shared(at):
                rows.append(_row(words, horizon, at))
    return tuple(rows)


def _shared(at: dict[float, Summary]) -> set[int]:
    """Return the seeds that all factors have."""
    return set.intersection(*({one.cell.seed for one in summary.done} for summary in at.values()))


def _row(words: str, horizon: int, at: dict[float, Summary]) -> Hindsight:
    """Compare factors on the seeds that all of them have."""
    seeds = _shared(at)
    regrets = {
        factor: {one.cell.seed: one.regret_per_event for one in summary.done if one.cell.seed in seeds}
        for factor, summary in at.items()
    }
    best = min(regrets, key=lambda factor: sum(regrets[factor].values()))
    own, ends = (np.array(list(regrets[factor].values())) for factor in (1.0, best))
    return Hindsight(
        words,
        horizon,
        float(own.mean()),
        standard_error(own),
        float(ends.mean()),
        standard_error(ends),
        best,
        float(np.mean([one.never_learning_per_event for one in at[1.0].done if one.cell.seed in seeds])),
        regrets[best],
    )


def best_by_seed(results: Sequence[Result], base: Base, who: str) -> dict[int, Mapping[int, float]]:
    """Return, by horizon and seed, a baseline's regret per event with its best constant in hindsight."""
    return {row.horizon: row.best_by_seed for row in hindsight(results, base) if row.who == who}
