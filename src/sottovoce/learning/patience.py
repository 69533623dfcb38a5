"""Patience: how many later positions are asked before a round is closed without the losses that are missing.

When a call of ask hands out a round's last position, what was asked after that call is noted: the round is full. Every
later call of ask first closes the rounds that have been full for `patience` positions; a missing loss then counts as
the middle of the range, exactly as if it was forgotten. Positions are public and asking is not telling, so nothing
private decides when a round closes.

Tests: tests/learning/test_patience.py.
"""

from typing import Any

from sottovoce._checks import whole

_UNKNOWN = 10_000  # events that are planned for, at least, if nobody knows how many there will be


def default_patience(planned: int) -> int:
    """Return the patience of a run of `planned` events: a tenth of a short one, a hundredth of a long one.

    Examples
    --------
    >>> default_patience(500), default_patience(50_000), default_patience(10_000_000)
    (50, 5000, 100000)
    """
    return max(planned // 100, min(10_000, planned // 10))


def patience_for(patience: int | str | None, horizon: int | None, asked: int) -> int | None:
    """Return the positions that a full round waits for; None for ever.

    Parameters
    ----------
    patience
        "auto", a number of positions, or None.
    horizon
        Of the run; None if it is unknown.
    asked
        Events so far: what counts where the horizon is unknown.

    Examples
    --------
    >>> patience_for("auto", 2000, 0), patience_for("auto", None, 256), patience_for(7, 2000, 0)
    (200, 1000, 7)
    """
    if isinstance(patience, str):
        return default_patience(max(_UNKNOWN, asked) if horizon is None else horizon)
    return patience


def check_patience(patience: Any) -> int | str | None:
    """Return a patience as it was passed, or say what is wrong with it."""
    if patience is None or (isinstance(patience, str) and patience == "auto"):
        return patience
    if isinstance(patience, str):
        raise ValueError(f"patience must be 'auto', a whole number of positions or None (for ever), got {patience!r}")
    return whole("patience", patience, least=0)
