"""Names of studies: what can be stored, printed and typed everywhere."""

import unicodedata
from typing import Any

__all__ = ["study_name"]

_LONGEST = 200
_REFUSED = ("Cc", "Cs", "Zl", "Zp")  # control characters (NUL, line breaks), halves of a pair, separators of lines


def study_name(name: Any) -> str:
    """Return the name of a study, or refuse it.

    Examples
    --------
    >>> study_name("spring, round 2")
    'spring, round 2'
    """
    if not isinstance(name, str):
        shown = type(name).__name__
    elif 0 < len(name) <= _LONGEST and not any(unicodedata.category(letter) in _REFUSED for letter in name):
        return name
    else:
        shown = f"{name[:60]!a}{'' if len(name) <= 60 else '...'}"
    raise ValueError(
        f"name must be 1 to {_LONGEST} letters without control characters, line breaks or halves of a surrogate pair, "
        f"got {shown}"
    )
