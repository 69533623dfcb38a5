"""The paper's claims, each judged by runs: nothing here is written down in advance but what the paper says.

The claims are upper bounds on the regret: Theorem 1.1, whose precise forms are Lemmas 5.2 and 5.5 on top of Lemma 3.1,
the comparisons that Section 1 draws from it, and the number of oracle calls (Section 3).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sottovoce.lab.algorithms import DELTA
from sottovoce.lab.reproduction.evidence import (
    UNSEEN,
    Evidence,
    Series,
    judge_match,
    judge_power,
    series,
)
from sottovoce.lab.reproduction.hindsight import best_by_seed
from sottovoce.lab.reproduction.lemmas import LEMMAS, Base, bound_power
from sottovoce.lab.reproduction.oracle_calls import OPEN_LOOP, POLYTOPE, judge_calls
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
    "smith-thakurta": "Smith-Thakurta, pure",
    f"smith-thakurta:delta={DELTA:g}": "Smith-Thakurta, approximate",
}
"""What the algorithms of the claims are called."""

PRIVATE_PAPER = ("paper-laplace", "paper-gaussian")
NEEDED = ("paper-needed-laplace", "paper-needed-gaussian")
GROUPS = dict.fromkeys(PRIVATE_PAPER, "paper") | dict.fromkeys(NEEDED, "needed") | {"default": "here"}
"""On which side of a verdict an algorithm counts."""


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A claim of the paper, with what was measured.

    Attributes
    ----------
    title
        In a few words.
    statement, source
        What the paper says, and where.
    axis
        What varies.
    rows
        The evidence, by algorithm.
    comparison
        Whether the claim is about another algorithm: what is measured is then the ratio of regrets, not a power.

    Examples
    --------
    >>> claims((), Base(dimension=8, horizon=100_000, epsilon=1.0))[0].title
    'Regret grows at most as T^(3/4)'
    """

    title: str
    statement: str
    source: str
    axis: str
    rows: tuple[Evidence, ...]
    comparison: bool = False

    @property
    def measured(self) -> str:
        """What the measurements are, in words."""
        return "measured" if self.comparison else f"power of {self.axis}"

    @property
    def of_paper(self) -> str:
        """What becomes of it with the noise of Lemmas 5.1 and 5.4, in words, from the rows alone."""
        return _together([row for row in self.rows if row.group == "paper"])

    @property
    def of_needed(self) -> str:
        """What becomes of it with the paper's parameters and the noise that privacy needs."""
        return _together([row for row in self.rows if row.group == "needed"])

    @property
    def of_default(self) -> str:
        """What becomes of it by this library's default."""
        return _together([row for row in self.rows if row.group == "here"])

    @property
    def verdict(self) -> str:
        """All three, in a sentence each."""
        return (
            f"With the noise of the paper's lemmas it {self.of_paper}. With the paper's parameters and the noise that "
            f"privacy needs it {self.of_needed}. By this library's default it {self.of_default}."
        )


def _together(rows: list[Evidence]) -> str:
    """Say what several rows come to; they agree more often than not."""
    if not rows:
        return "was not measured"
    verdicts = dict.fromkeys(row.verdict for row in rows)
    if list(verdicts) == [UNSEEN]:
        if not all(row.level for row in rows):
            return f"{UNSEEN}: {' and '.join(dict.fromkeys(row.why for row in rows))}"
        levels = " and ".join(dict.fromkeys(row.level for row in rows))
        return f"{UNSEEN}, since too little is learned: regret is {levels} times that of never learning"
    if len(verdicts) == 1:
        return f"{rows[0].verdict} ({', '.join(row.measured for row in rows)})"
    return ", and ".join(f"{row.verdict} with {row.who} ({row.measured or row.why})" for row in rows)


# ---------------------------------------------------------------------- the claims


def claims(results: Sequence[Result], base: Base) -> tuple[PaperClaim, ...]:
    """Judge every claim by these results.

    Parameters
    ----------
    results
        Of the cells of `reproduction_grid`.
    base
        What is fixed while one quantity varies.
    """
    return (
        *(
            PaperClaim(title, statement, source, axis, _power_rows(results, algorithms, axis, base, power))
            for title, statement, source, axis, power, algorithms in _POWERS
        ),
        _epsilon_claim(results, base),
        _garber_kretzu_claim(results, base),
        _smith_thakurta_claim(results, base),
        _oracle_claim(results, base),
    )


def along(
    results: Sequence[Result],
    algorithm: str,
    axis: str,
    base: Base,
    *,
    largest: float = math.inf,
    every: bool = False,
) -> Series:
    """Return the runs of an algorithm along an axis, everything else as in `base`; epsilons up to `largest`.

    Values with few seeds are left out, unless `every` one is wanted.
    """

    def fits(result: Result) -> bool:
        cell = result.cell
        private = not math.isinf(cell.epsilon)
        return (
            cell.algorithm == algorithm
            and cell.problem != POLYTOPE
            and (axis == "horizon" or cell.horizon == base.horizon)
            and (axis == "dimension" or result.dimension == base.dimension)
            and (cell.epsilon <= largest if axis == "1/epsilon" else not private or cell.epsilon == base.epsilon)
        )

    words = WORDS.get(algorithm, algorithm)
    return series(results, words, axis, fits, group=GROUPS.get(algorithm, ""), every=every)


def _power_rows(
    results: Sequence[Result], algorithms: tuple[str, ...], axis: str, base: Base, claimed: float
) -> tuple[Evidence, ...]:
    rows = []
    for algorithm in algorithms:
        found = along(results, algorithm, axis, base)
        allowed = claimed
        if algorithm in LEMMAS and len(found.values) > 1:  # other algorithms have no logarithms to lean on
            allowed = max(claimed, bound_power(algorithm, axis, found.values, base))
        far = along(results, algorithm, axis, base, every=True) if axis == "horizon" else None
        rows.append(judge_power(found, allowed, claimed=claimed, far=far))
    return tuple(rows)


_POWERS = (  # title, statement, source, axis, power, and the algorithms that are held to it
    (
        "Regret grows at most as T^(3/4)",
        "The regret of T events is at most of order T^(3/4), up to logarithms, privately or not.",
        "Theorem 1.1; Lemmas 3.1, 5.2 and 5.5",
        "horizon",
        0.75,
        (*PRIVATE_PAPER, *NEEDED, "paper-no-noise", "default", "no-privacy", "garber-kretzu"),
    ),
    (
        "Under pure privacy regret grows at most as n^(3/2)",
        "Under (epsilon, 0)-privacy the regret in n dimensions is at most of order n^(3/2).",
        "Theorem 1.1, first part; Lemma 5.2",
        "dimension",
        1.5,
        ("paper-laplace", "paper-needed-laplace", "default"),
    ),
    (
        "Under approximate privacy, and without privacy, regret grows at most as n^(1/2)",
        "Under (epsilon, delta)-privacy the regret in n dimensions is at most of order n^(1/2) once T is above n^2, "
        "as without privacy. This library's default is held to it under pure privacy, which is more than the paper "
        "claims.",
        "Theorem 1.1, second part; Lemma 5.5",
        "dimension",
        0.5,
        ("paper-gaussian", "paper-needed-gaussian", "paper-no-noise", "default", "no-privacy", "garber-kretzu"),
    ),
)


def _epsilon_claim(results: Sequence[Result], base: Base) -> PaperClaim:
    rows = []
    for algorithm in (*PRIVATE_PAPER, *NEEDED, "default"):
        found = along(results, algorithm, "1/epsilon", base, largest=USUAL)
        rows.append(judge_power(found, 1.0, claimed=1.0))
    found = along(results, "paper-laplace", "1/epsilon", base)
    huge = found.where([value < 1 / USUAL for value in found.values.tolist()])
    row = judge_power(huge, 1.0, claimed=1.0)
    budgets = f"epsilon {1 / huge.values[-1]:g} to {1 / huge.values[0]:g}" if len(huge.values) else "huge epsilon"
    rows.append(replace(row, who=f"{row.who}, {budgets}", group=""))
    return PaperClaim(
        "Regret grows at most as 1/epsilon",
        "The price of privacy is a factor of at most 1/epsilon.",
        "Theorem 1.1; Lemmas 5.2 and 5.5",
        "1/epsilon",
        tuple(rows),
    )


USUAL = 10.0
"""Largest epsilon that anyone would call private; beyond it only the formulas are looked at."""


def _matches(
    results: Sequence[Result], base: Base, pairs: Sequence[tuple[str, Series]], title: str, statement: str
) -> PaperClaim:
    """Judge the regrets of algorithms against those of others, with their best constants in hindsight."""
    best = {theirs.who: best_by_seed(results, base, theirs.who) for _, theirs in pairs}
    rows = tuple(
        judge_match(
            along(results, algorithm, "horizon", base),
            theirs,
            allowed=_logs(algorithm, theirs, base),
            best=best[theirs.who],
        )
        for algorithm, theirs in pairs
    )
    return PaperClaim(title, statement, "Section 1, after Theorem 1.1", "horizon", rows, comparison=True)


def _garber_kretzu_claim(results: Sequence[Result], base: Base) -> PaperClaim:
    theirs = along(results, "garber-kretzu", "horizon", base)
    return _matches(
        results,
        base,
        [(name, theirs) for name in (*PRIVATE_PAPER, *NEEDED, "paper-no-noise", "default", "no-privacy")],
        "Private regret matches that of Garber and Kretzu, who have no privacy",
        "The best known regret without privacy and without projections, n^(1/2) T^(3/4), is matched up to 1/epsilon "
        "under approximate and n/epsilon under pure privacy.",
    )


def _smith_thakurta_claim(results: Sequence[Result], base: Base) -> PaperClaim:
    pure, approximate = (
        along(results, name, "horizon", base) for name in ("smith-thakurta", f"smith-thakurta:delta={DELTA:g}")
    )
    return _matches(
        results,
        base,
        list(zip((*PRIVATE_PAPER, *NEEDED, "default", "default"), 3 * (pure, approximate), strict=True)),
        "Regret matches that of Smith and Thakurta, who need projections",
        "The best known private regret with projections is matched under approximate privacy, and up to n^(1/2) under "
        "pure privacy.",
    )


def _oracle_claim(results: Sequence[Result], base: Base) -> PaperClaim:
    """Count calls on the page's own setting, and on a polytope."""
    rows = []
    here = [one for one in results if one.cell.problem != POLYTOPE and one.dimension == base.dimension]
    for algorithm in (*PRIVATE_PAPER, *NEEDED, "paper-no-noise", OPEN_LOOP, "garber-kretzu", "default"):
        mine = [one for one in here if one.cell.algorithm == algorithm and one.cell.epsilon in (base.epsilon, math.inf)]
        rows.append(judge_calls(mine, CALLERS.get(algorithm) or WORDS[algorithm], group=GROUPS.get(algorithm, "")))
    for algorithm in ("paper-no-noise", OPEN_LOOP):
        mine = [one for one in results if one.cell.problem == POLYTOPE and one.cell.algorithm == algorithm]
        rows.append(judge_calls(mine, f"{CALLERS[algorithm]}, 5 of 20 items"))
    return PaperClaim(
        "Each oracle call can be charged to one event",
        "Points are computed to a precision at which conditional gradient needs no more calls of the linear oracle "
        "than the round has events.",
        "Section 3; line 14 of Algorithm 1; Lemma C.4",
        "horizon",
        tuple(rows),
        comparison=True,
    )


CALLERS = {
    "paper-no-noise": "no noise, line search",
    OPEN_LOOP: "no noise, steps of 2/(k+2)",
}
"""How points are computed without noise, in words."""


def _logs(algorithm: str, theirs: Series, base: Base) -> float:
    """Return what the logarithms of the paper's bound add to its power of T over these horizons."""
    if algorithm not in LEMMAS or len(theirs.values) < 2:
        return 0.0
    return max(0.0, bound_power(algorithm, "horizon", theirs.values, base) - 0.75)
