"""How long a study waits for losses: its settings, which rounds are due, and what still waits.

A round is due once it is asked to its end and so many events were asked after that (patience), or so many seconds have
passed (deadline). Neither looks at a loss, so when a round closes tells nothing about one.
"""

from typing import Any

from sottovoce._checks import number, whole
from sottovoce.studies.head import AUTO

__all__ = ["checked_waiting", "in_words"]


def checked_waiting(given: dict[str, Any]) -> dict[str, Any]:
    """Return patience and deadline, of which only those that are given, as they are stored.

    Examples
    --------
    >>> checked_waiting({"patience": "auto", "deadline": 60}), checked_waiting({"patience": None})
    ({'patience': -1, 'deadline': 60.0}, {'patience': None})
    """
    stored = dict(given)
    if given.get("patience") is not None:
        stored["patience"] = _checked_patience(given["patience"])
    if given.get("deadline") is not None:
        stored["deadline"] = number("deadline", given["deadline"], above=0)
    return stored


def _checked_patience(patience: Any) -> int:
    if isinstance(patience, str) and patience == "auto":
        return AUTO
    try:
        return whole("patience", patience, least=0, most=2**62)
    except (TypeError, ValueError):
        raise ValueError(
            f"patience must be a whole number of events, 0 or more, 'auto', or None to wait for ever, got {patience!r}"
        ) from None


def in_words(stored: Any) -> Any:
    """Return a patience or a deadline as a caller would pass it."""
    return "auto" if stored == AUTO else stored
