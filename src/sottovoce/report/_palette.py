"""One table of colours for figures and pages: an algorithm has one colour, wherever it is drawn.

Okabe and Ito's colours, which stay distinct for colour-blind readers, darkened so that words in them can be read on
white, and lightened for dark pages. A number is a colour and a way of drawing a line: after the eight colours come the
same ones dashed, dotted, mixed, then in wide dashes. Settings of one algorithm share its colour and differ in their
dashes. What is no algorithm is grey, ink, or one of `WORLDS`.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sottovoce._written import bare_name
from sottovoce.lab import ALGORITHMS
from sottovoce.lab.simulation import Run, RunDetails
from sottovoce.privacy import Guarantee, LocalDP, PureDP


class Shade(NamedTuple):
    """A colour on light ground, and on dark."""

    light: str
    dark: str


SHADES = (
    Shade("#0072b2", "#56b4e9"),
    Shade("#d55e00", "#f0894a"),
    Shade("#008560", "#2fc79a"),
    Shade("#b0528c", "#e39bc4"),
    Shade("#8d6b00", "#e6c229"),
    Shade("#2b2f36", "#e3e6ec"),
    Shade("#6b4fa0", "#b9a2ec"),
    Shade("#7a4a32", "#d0a088"),
)
GREY = Shade("#5f6672", "#9aa2af")  # never learning, and whatever is not compared
INK = Shade("#1d2129", "#e9eaee")
WORLDS = (Shade("#00757f", "#4cc5cf"), Shade("#a8324a", "#f08c9e"))  # the two worlds of an audit

PRIVATE, NO_PRIVACY = 0, 1
_NUMBERS = {  # those that are met most often, and their kin in the same colour; the others take what is left
    "default": PRIVATE,
    "no-privacy": NO_PRIVACY,
    "garber-kretzu": 2,
    "paper-laplace": 3,
    "paper-gaussian": 4,
    "worst-case": 5,
    "paper-no-noise": 6,
    "smith-thakurta": 7,
    "local": 8 + PRIVATE,
    "paper-needed-laplace": 8 + 3,
    "paper-needed-gaussian": 8 + 4,
}
_DASHES: dict[str, Any] = {"": "solid", "dashed": (0, (5, 3)), "dotted": (0, (1, 2)), "mixed": (0, (6, 2, 1, 2))}
_DASHES["wide"] = (0, (11, 4))


def colour(number: int) -> str:
    """Return the colour of a number on white; negative ones are grey."""
    return GREY.light if number < 0 else SHADES[number % len(SHADES)].light


def dashes(number: int) -> str:
    """Return how the line of a number is drawn: nothing for solid, "dashed", "dotted", "mixed" or "wide"."""
    return "dashed" if number < 0 else tuple(_DASHES)[min(number // len(SHADES), len(_DASHES) - 1)]


def linestyle(number: int) -> Any:
    """Return the same as matplotlib takes it."""
    return _DASHES[dashes(number)]


def algorithm_colours(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each algorithm, the same on every page; settings of one share its colour, not its dashes.

    Examples
    --------
    >>> algorithm_colours(["no-privacy", "default", "default:play=around"])
    {'no-privacy': 1, 'default': 0, 'default:play=around': 8}
    """
    every = list(dict.fromkeys(names))
    found = {name: number for name, number in _table().items() if name in every}
    for name in every:
        if name not in found:
            found[name] = _another(_table().get(bare_name(name), len(_table())), found.values())
    return {name: found[name] for name in every}


def _table() -> dict[str, int]:
    """Return the number of every algorithm by itself; the colour of no privacy is nobody else's."""
    left = (n for n in itertools.count() if n not in _NUMBERS.values() and n % len(SHADES) != NO_PRIVACY)
    return {**_NUMBERS, **{name: next(left) for name in ALGORITHMS if name not in _NUMBERS}}


def _another(number: int, taken: Iterable[int]) -> int:
    """Return a number of the same colour, drawn otherwise than what is there already."""
    kin = number % len(SHADES)
    return next(one for one in itertools.count(len(SHADES) + kin, len(SHADES)) if one not in taken)


def algorithm_of(details: RunDetails) -> str:
    """Return which algorithm a run is of, by its plan and its promise, as `ALGORITHMS` names it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> environment = sv.lab.MovingTarget(sv.domains.Ball(2))
    >>> options = {"horizon": 200, "loss_range": environment.loss_range, "seed": 1, "noise": sv.SimulatedNoise(1)}
    >>> optimizer = sv.PrivateBandit(environment.domain, privacy=sv.PureDP(1.0), plan="worst-case", **options)
    >>> algorithm_of(sv.lab.simulate(optimizer, environment).details)
    'worst-case'
    """
    if details.plan_name in ALGORITHMS and details.plan_name != "worst-case":
        return details.plan_name  # a baseline's plan has its name
    return _of_plan(details.plan_name, details.guarantee)


def _of_plan(plan: str, guarantee: Guarantee | None) -> str:
    private = guarantee is None or guarantee.private
    if plan == "paper":
        noise = "laplace" if isinstance(guarantee, PureDP) else "gaussian"
        return f"paper-{noise}" if private else "paper-no-noise"
    if not private:
        return "no-privacy"
    if isinstance(guarantee, LocalDP):
        return "local"
    return "worst-case" if plan == "worst-case" else "default"


def run_colours(runs: Sequence[Run]) -> list[int]:
    """Return the number of each run: that of its algorithm, in other dashes for a second run of it."""
    found: list[int] = []
    table = _table()
    every = [table[algorithm_of(run.details)] for run in runs]
    for number in every:
        found.append(_another(number, {*found, *every}) if number in found else number)
    return found
