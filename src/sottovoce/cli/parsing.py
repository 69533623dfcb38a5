"""From what people type to what the library takes. Every error names what was typed and what would do."""

import re
from typing import Any

from sottovoce._checks import number
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


def pair(name: str, text: Any) -> tuple[float, float]:
    """Read two numbers with a comma between them.

    Examples
    --------
    >>> from sottovoce.cli.parsing import pair
    >>> pair("loss-range", "0, 2.5")
    (0.0, 2.5)
    """
    try:
        low, high = map(float, listed(text) if isinstance(text, str) else text)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two numbers such as 0,1, got {text!r}") from None
    return low, high


def one_number(name: str, value: Any) -> float:
    """Read a number: a file has it as such, a command line as text.

    Examples
    --------
    >>> from sottovoce.cli.parsing import one_number
    >>> one_number("epsilon", "0.1"), one_number("epsilon", 2)
    (0.1, 2.0)
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise TypeError(f"{name} must be a number, got {value!r}") from None
    return number(name, value)


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


def whole(name: str, text: str, also: str = "") -> int:
    """Read a count that may be 0; `also` is what else would do."""
    if text.strip() == "0":
        return 0
    try:
        return count(name, text)
    except ValueError:
        raise ValueError(f"{name} must be a whole number such as 0, 500 or 10k{also}, got {text!r}") from None


def patience(text: Any) -> int | str | None:
    """Read a patience: a count, auto, or none.

    Examples
    --------
    >>> from sottovoce.cli.parsing import patience
    >>> [patience(text) for text in ("10k", "0", "auto", "none")]
    [10000, 0, 'auto', None]
    """
    plain = str(text).strip().lower()
    if plain in ("auto", "none"):
        return None if plain == "none" else "auto"
    return whole("patience", str(text), ", auto or none")
