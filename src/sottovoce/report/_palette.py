"""One table of colours for figures and pages.

Okabe and Ito's colours, which stay distinct for colour-blind readers, darkened so that words in them can be read on
white, and lightened for dark pages. A number is a colour and a way of drawing a line: after the eight colours come the
same ones dashed, dotted, mixed, then in wide dashes. What is compared is numbered in its order; what is not is grey.
"""

from typing import Any, NamedTuple


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
