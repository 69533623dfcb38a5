"""How numbers are written in all pictures and pages: ticks, figures for people, lists."""

import math
from collections.abc import Iterable

TWO_SIDES = 1.96
"""Deviations that hold 95% of what is believed."""


def short(value: float) -> str:
    """Write a tick: 250000 as 250k.

    Examples
    --------
    >>> short(250_000.0), short(0.05), short(0.0)
    ('250k', '0.05', '0')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def significant(value: float, digits: int = 3) -> str:
    """Write a number for people, with so many significant digits and no exponent where it can be avoided.

    Examples
    --------
    >>> significant(123456.0), significant(0.012345), significant(3.0), significant(float("inf")), significant(2e-9)
    ('123,456', '0.0123', '3.00', '∞', '2.00e-09')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = 0 if value == 0 else math.floor(math.log10(abs(value)))
    if not -5 <= size < 12:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - size)}f}".replace("-", "−")


def with_errors(values: Iterable[float], errors: Iterable[float] | None = None) -> list[str]:
    """Write numbers for people, each with its error where it has one.

    Examples
    --------
    >>> with_errors([1.0, 0.5], [0.25, 0.0])
    ['1.00 ± 0.25', '0.500']
    """
    words = [significant(value) for value in values]
    if errors is None:
        return words
    return [
        f"{said} ± {significant(error, 2)}" if error > 0 else said for said, error in zip(words, errors, strict=True)
    ]


def epsilon_name(epsilon: float) -> str:
    """Write an epsilon in words.

    Examples
    --------
    >>> epsilon_name(0.1), epsilon_name(math.inf)
    ('epsilon 0.1', 'no privacy')
    """
    return "no privacy" if math.isinf(epsilon) else f"epsilon {epsilon:g}"


def joined(words: Iterable[str]) -> str:
    """Write a list as people do: "a, b and c"."""
    every = list(words)
    return every[0] if len(every) == 1 else ", ".join(every[:-1]) + " and " + every[-1] if every else ""


def sentence(words: object) -> str:
    """Begin words with a capital letter.

    Examples
    --------
    >>> sentence("it fits")
    'It fits'
    """
    said = str(words)
    return said[:1].upper() + said[1:]


def shortened(name: str, letters: int) -> str:
    """Return a name that has room: so many letters at most.

    Examples
    --------
    >>> shortened("cocoa", 10), shortened("elderflower", 5)
    ('cocoa', 'elde…')
    """
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
