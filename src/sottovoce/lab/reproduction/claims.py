"""The paper's claims, each judged by runs: nothing here is written down in advance but what the paper says.

The claims are upper bounds on the regret: Theorem 1.1, whose precise forms are Lemmas 5.2 and 5.5 on top of Lemma 3.1,
the comparisons that Section 1 draws from it, and the number of oracle calls (Section 3).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.reproduction.evidence import Evidence, judge_calls, judge_match, judge_power
from sottovoce.lab.reproduction.extent import NEEDED, OPEN_LOOP, PAPER, POLYTOPE, THEIRS, Base
from sottovoce.lab.reproduction.tables import SeedTable, fit, seed_table
from sottovoce.lab.sweeps.cell import Result

WORDS = {
    "default": "this library, pure privacy",
    "no-privacy": "this library, no privacy",
    "paper-laplace": "the paper's noise, Laplace",
    "paper-gaussian": "the paper's noise, Gaussian",
    "paper-needed-laplace": "the needed noise, Laplace",
    "paper-needed-gaussian": "the needed noise, Gaussian",
    "paper-no-noise": "the paper's parameters, no noise",
    "garber-kretzu": "Garber-Kretzu",
    THEIRS[0]: "Smith-Thakurta, pure",
    THEIRS[1]: "Smith-Thakurta, approximate",
}
"""What the algorithms of the claims are called."""

_CALLERS = {"paper-no-noise": "no noise, line search", OPEN_LOOP: "no noise, steps of 2/(k+2)"}
_USUAL = 10.0  # largest epsilon that anyone would call private; beyond it only the formulas are looked at
_AXES: dict[str, Callable[[Result], float]] = {
    "horizon": lambda result: float(result.cell.horizon),
    "dimension": lambda result: float(result.dimension),
    "1/epsilon": lambda result: 1 / result.cell.epsilon,
}


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A claim of the paper, with what was measured.

    Attributes
    ----------
    title, source
        What the paper says, in a few words, and where.
    rows
        The evidence, by algorithm.

    Examples
    --------
    >>> claims((), Base(dimension=8, horizon=100_000, epsilon=1.0))[0].title
    'Regret grows at most as T^(3/4)'
    """

    title: str
    source: str
    rows: tuple[Evidence, ...]


def claims(results: Sequence[Result], base: Base) -> tuple[PaperClaim, ...]:
    """Judge every claim by these results.

    Parameters
    ----------
    results
        Of the cells of `reproduction_grid`.
    base
        What is fixed while one quantity varies.
    """

    def powers(axis: str, claimed: float, *algorithms: str) -> tuple[Evidence, ...]:
        return tuple(_power(results, one, axis, base, claimed) for one in algorithms)

    def matches(*pairs: tuple[str, str]) -> tuple[Evidence, ...]:
        return tuple(_match(results, base, ours, theirs) for ours, theirs in pairs)

    free = ("paper-no-noise", "default", "no-privacy")
    pure, approximate = THEIRS
    return (
        PaperClaim(
            "Regret grows at most as T^(3/4)",
            "Theorem 1.1; Lemmas 3.1, 5.2 and 5.5",
            powers("horizon", 0.75, *PAPER, *NEEDED, *free, "garber-kretzu"),
        ),
        PaperClaim(
            "Under pure privacy regret grows at most as n^(3/2)",
            "Theorem 1.1, first part; Lemma 5.2",
            powers("dimension", 1.5, PAPER[0], NEEDED[0], "default"),
        ),
        PaperClaim(
            "Under approximate privacy, and without privacy, regret grows at most as n^(1/2)",
            "Theorem 1.1, second part; Lemma 5.5",
            powers("dimension", 0.5, PAPER[1], NEEDED[1], *free, "garber-kretzu"),
        ),
        PaperClaim(
            "Regret grows at most as 1/epsilon",
            "Theorem 1.1; Lemmas 5.2 and 5.5",
            (*powers("1/epsilon", 1.0, *PAPER, *NEEDED, "default"), _at_huge_epsilon(results, base)),
        ),
        PaperClaim(
            "Private regret matches that of Garber and Kretzu, who have no privacy",
            "Section 1, after Theorem 1.1",
            matches(*((ours, "garber-kretzu") for ours in (*PAPER, *NEEDED, *free))),
        ),
        PaperClaim(
            "Regret matches that of Smith and Thakurta, who need projections",
            "Section 1, after Theorem 1.1",
            matches(*zip((*PAPER, *NEEDED, "default", "default"), 3 * (pure, approximate), strict=True)),
        ),
        PaperClaim(
            "Each oracle call can be charged to one event",
            "Section 3; line 14 of Algorithm 1; Lemma C.4",
            _oracle_calls(results, base),
        ),
    )


def along(results: Sequence[Result], algorithm: str, axis: str, base: Base) -> SeedTable:
    """Return the runs of an algorithm along an axis, everything else as in `base`.

    Values with no more than half as many seeds as others have are left out.
    """

    def fits(result: Result) -> bool:
        cell = result.cell
        return (
            result.status == "done"
            and cell.algorithm == algorithm
            and cell.problem != POLYTOPE
            and (axis == "horizon" or cell.horizon == base.horizon)
            and (axis == "dimension" or result.dimension == base.dimension)
            and (axis == "1/epsilon" or cell.epsilon in (base.epsilon, math.inf))
        )

    picked = [result for result in results if fits(result)]
    counts = Counter(map(_AXES[axis], picked))
    return seed_table([one for one in picked if 2 * counts[_AXES[axis](one)] > max(counts.values())], _AXES[axis])


def _power(results: Sequence[Result], algorithm: str, axis: str, base: Base, claimed: float) -> Evidence:
    found = along(results, algorithm, axis, base)
    if axis == "1/epsilon":
        found = found.only([value for value in found.values if value >= 1 / _USUAL])
    allowed = max(claimed, _bound_power(algorithm, axis, found.values, base) or claimed)
    return judge_power(WORDS[algorithm], found, allowed, claimed=claimed)


def _at_huge_epsilon(results: Sequence[Result], base: Base) -> Evidence:
    found = along(results, PAPER[0], "1/epsilon", base)
    found = found.only([value for value in found.values if value < 1 / _USUAL])
    budgets = f"epsilon {1 / found.values[-1]:g} to {1 / found.values[0]:g}" if found.values else "huge epsilon"
    return judge_power(f"{WORDS[PAPER[0]]}, {budgets}", found, 1.0, claimed=1.0)


def _match(results: Sequence[Result], base: Base, algorithm: str, other: str) -> Evidence:
    ours, theirs = (along(results, one, "horizon", base) for one in (algorithm, other))
    power = _bound_power(algorithm, "horizon", theirs.values, base)
    logarithms = 0.0 if power is None else max(0.0, power - 0.75)
    return judge_match(WORDS[algorithm], ours, WORDS[other], theirs, allowed=logarithms)


def _oracle_calls(results: Sequence[Result], base: Base) -> tuple[Evidence, ...]:
    """Count calls on the page's own setting, and on a polytope."""
    here = [one for one in results if one.cell.problem != POLYTOPE and one.dimension == base.dimension]
    here = [one for one in here if one.cell.epsilon in (base.epsilon, math.inf)]
    there = [one for one in results if one.cell.problem == POLYTOPE]
    callers = (*PAPER, *NEEDED, "paper-no-noise", OPEN_LOOP, "garber-kretzu", "default")

    def judged(algorithm: str, among: Sequence[Result], where: str = "") -> Evidence:
        mine = [one for one in among if one.cell.algorithm == algorithm]
        return judge_calls((_CALLERS.get(algorithm) or WORDS[algorithm]) + where, mine)

    return (*(judged(one, here) for one in callers), *(judged(one, there, ", 5 of 20 items") for one in _CALLERS))


# ------------------------------------------------------------------ the bounds, up to constants


def lemma_without_noise(horizon: float, dimension: float, epsilon: float) -> float:
    """Lemma 3.1 without noise: T^(3/4) n^(1/2)."""
    return math.sqrt(dimension) * math.pow(horizon, 0.75)


def lemma_laplace(horizon: float, dimension: float, epsilon: float) -> float:
    """Lemma 5.2: T^(3/4) n^(1/2) + T^(3/4) n^(3/2) log^2 T / epsilon."""
    base = lemma_without_noise(horizon, dimension, epsilon)
    return base + base * dimension * math.log(horizon) ** 2 / epsilon


def lemma_gaussian(horizon: float, dimension: float, epsilon: float) -> float:
    """Lemma 5.5, its three terms."""
    spread = math.log((dimension + horizon) / DELTA)
    logs = math.log(horizon) ** 2 * math.log(horizon / DELTA)
    base = lemma_without_noise(horizon, dimension, epsilon)
    short = math.sqrt(horizon) * dimension * logs * spread / epsilon
    return base + short + base * logs * math.sqrt(spread) / epsilon


LEMMAS = {"paper-laplace": lemma_laplace, "paper-gaussian": lemma_gaussian}


def _bound_power(algorithm: str, axis: str, values: Sequence[float], base: Base) -> float | None:
    """Return the power that the paper's bound has over these values; other algorithms have no logarithms to lean on."""
    if algorithm not in LEMMAS or len(values) < 2:
        return None
    bounds = []
    for value in values:
        at = {"horizon": base.horizon, "dimension": base.dimension, "1/epsilon": 1 / base.epsilon, axis: value}
        bounds.append(LEMMAS[algorithm](at["horizon"], at["dimension"], 1 / at["1/epsilon"]))
    return fit(np.array(values), np.array([bounds])).slope
