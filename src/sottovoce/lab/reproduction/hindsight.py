"""Baselines with the constant that turns out best: what their bounds leave on the table."""

from collections.abc import Mapping, Sequence

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.grouping import gather
from sottovoce.lab.reproduction.lemmas import Base
from sottovoce.lab.sweeps.cell import Result

FACTORS = (0.35, 0.6, 1.0, 1.7, 2.8)
"""What radii are multiplied by; 1 is the radius with the least bound."""

TUNED = {
    "Garber-Kretzu": "garber-kretzu",
    "Smith-Thakurta, pure": "smith-thakurta",
    "Smith-Thakurta, approximate": f"smith-thakurta:delta={DELTA:g}",
}
"""The baselines that claims are about, by what they are called there."""


def with_factor(algorithm: str, factor: float) -> str:
    """Return the name of a baseline whose radius is multiplied.

    Examples
    --------
    >>> with_factor("fkm", 1.7), with_factor("smith-thakurta:delta=1e-6", 0.6)
    ('fkm:radius_factor=1.7', 'smith-thakurta:delta=1e-6,radius_factor=0.6')
    """
    if factor == 1.0:
        return algorithm
    return f"{algorithm}{',' if ':' in algorithm else ':'}radius_factor={factor:g}"


def best_by_seed(results: Sequence[Result], base: Base, who: str) -> dict[int, Mapping[int, float]]:
    """Return, by horizon and seed, a baseline's regret per event with its best constant in hindsight.

    Factors are compared on the seeds that all of them have; horizons at which no other constant was tried are left out.
    """
    names = {with_factor(TUNED[who], factor) for factor in FACTORS} if who in TUNED else set()
    mine = [
        one
        for one in results
        if one.status == "done"
        and one.dimension == base.dimension
        and one.cell.algorithm in names
        and one.cell.epsilon in (base.epsilon, float("inf"))
    ]
    found: dict[int, Mapping[int, float]] = {}
    for horizon, tried in sorted(gather(mine, lambda one: one.cell.horizon).items()):
        by_name = gather(tried, lambda one: one.cell.algorithm)
        each = [{one.cell.seed: one.regret_per_event for one in runs} for runs in by_name.values()]
        seeds = set.intersection(*map(set, each))
        if TUNED[who] in by_name and len(each) > 1 and seeds:
            best = min(each, key=lambda one: sum(one[seed] for seed in seeds))
            found[horizon] = {seed: best[seed] for seed in sorted(seeds)}
    return found
