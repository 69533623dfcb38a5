"""From what people type to what the library takes. Every error names what was typed and what would do."""

import re
from typing import Any

from sottovoce._written import listed

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def count(name: str, value: Any) -> int:
    """Read a whole number as people write it: 1000000, 1_000_000, 1e6, 100k, 1M.

    Examples
    --------
    >>> from sottovoce.cli.parsing import count
    >>> [count("horizon", text) for text in ("1_000", "1e6", "2.5M", 100)]
    [1000, 1000000, 2500000, 100]
    """
    match = re.fullmatch(r"([0-9_.]+(?:e\+?[0-9]+)?)([kmg]?)", str(value).strip().lower())
    try:
        if match is None:
            raise ValueError
        found = float(match[1]) * _SUFFIXES[match[2]]
        if not 1 <= found <= 2**53 or found != int(found):
            raise ValueError
    except ValueError:
        message = f"{name} must be a whole number of at least 1, such as 1000000, 1e6, 100k or 1M, got {value!r}"
        raise ValueError(message) from None
    return int(found)


def pair(name: str, text: str) -> tuple[float, float]:
    """Read two numbers with a comma between them.

    Examples
    --------
    >>> from sottovoce.cli.parsing import pair
    >>> pair("loss-range", "0, 2.5")
    (0.0, 2.5)
    """
    try:
        low, high = map(float, listed(text))
    except ValueError:
        raise ValueError(f"{name} must be two numbers such as 0,1, got {text!r}") from None
    return low, high


def numbers(name: str, text: str) -> list[float]:
    """Read one or more numbers with commas between them.

    Examples
    --------
    >>> from sottovoce.cli.parsing import numbers
    >>> numbers("epsilon", "0.1, 1")
    [0.1, 1.0]
    """
    try:
        return [float(part) for part in listed(text)]
    except ValueError:
        raise ValueError(f"{name} must be numbers with commas between them, such as 0.1,1, got {text!r}") from None


def patience(text: str) -> int | str | None:
    """Read a patience: a count, auto, or none."""
    plain = text.strip().lower()
    if plain in ("auto", "none", "0"):
        return {"auto": "auto", "none": None, "0": 0}[plain]
    try:
        return count("patience", plain)
    except ValueError:
        raise ValueError(f"patience must be a whole number such as 0, 500 or 10k, auto or none, got {text!r}") from None


def deadline(text: str) -> float | None:
    """Read a deadline: seconds, or none."""
    if text.strip().lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"deadline must be a number of seconds, or none, got {text!r}") from None
