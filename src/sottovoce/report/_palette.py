"""One palette for figures and pages: the same number is the same colour, the same algorithm the same number.

Okabe and Ito's colours, which stay distinct for colour-blind readers, darkened so that words in them can be read on
white, and lightened for dark pages. After the eight come the same ones dashed, then dotted, then mixed.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sottovoce.experiments import ALGORITHMS
from sottovoce.experiments.naming import bare_name
from sottovoce.simulation import Run

__all__ = [
    "GREY",
    "NO_PRIVACY",
    "PRIVATE",
    "SHADES",
    "algorithm_colours",
    "colour",
    "dashes",
    "linestyle",
    "run_colours",
]


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
    Shade("#3f8fc0", "#8fd0ff"),
    Shade("#6b4fa0", "#b9a2ec"),
    Shade("#7a4a32", "#d0a088"),
)
GREY = Shade("#5f6672", "#9aa2af")  # never learning, and whatever is not compared

PRIVATE, NO_PRIVACY = 0, 1
_SOLID = (  # the algorithms that are met most often, by their number
    "default",
    "no-privacy",
    "garber-kretzu",
    "paper-laplace",
    "paper-gaussian",
    "fkm",
    "paper-no-noise",
    "smith-thakurta",
)
_DASHES: dict[str, Any] = {"": "solid", "dashed": (0, (5, 3)), "dotted": (0, (1, 2)), "mixed": (0, (6, 2, 1, 2))}


def colour(number: int) -> str:
    """Return the colour of a number on white; negative ones are grey."""
    return GREY.light if number < 0 else SHADES[number % len(SHADES)].light


def dashes(number: int) -> str:
    """Return how the line of a number is drawn: nothing for solid, "dashed", "dotted" or "mixed"."""
    return "dashed" if number < 0 else tuple(_DASHES)[min(number // len(SHADES), len(_DASHES) - 1)]


def linestyle(number: int) -> Any:
    """Return the same as matplotlib takes it."""
    return _DASHES[dashes(number)]


def algorithm_colours(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each algorithm, the same on every page; settings of one share its colour, not its dashes.

    Examples
    --------
    >>> algorithm_colours(["no-privacy", "default", "default:play=around"])
    {'no-privacy': 1, 'default': 0, 'default:play=around': 16}
    """
    own = dict.fromkeys((*_SOLID, *ALGORITHMS))
    numbers = {name: number for number, name in enumerate(own)}
    found: dict[str, int] = {}
    for name in dict.fromkeys(names):
        number = numbers.get(name)
        if number is None:
            base = numbers.get(bare_name(name), len(numbers))
            number = 2 * len(SHADES) + base % len(SHADES)
        while number in found.values():
            number += len(SHADES)
        found[name] = number
    return found


def run_colours(runs: Sequence[Run]) -> list[int]:
    """Return the number of each run: what has no privacy has the colour of no privacy, whatever its place."""
    free = next((i for i, run in enumerate(runs) if run.details.guarantee and not run.details.guarantee.private), None)
    others = iter(number for number in range(len(runs) + 1) if number != NO_PRIVACY)
    return [NO_PRIVACY if i == free else next(others) for i in range(len(runs))]
