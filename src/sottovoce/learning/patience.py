"""Patience: how many later positions are asked before a round stops waiting for its losses."""

__all__ = ["default_patience"]


def default_patience(planned: int) -> int:
    """Return the patience for so many planned events: a tenth of them up to 10,000, and never less than a hundredth.

    Examples
    --------
    >>> [default_patience(planned) for planned in (1000, 10**5, 10**6, 10**7)]
    [100, 10000, 10000, 100000]
    """
    return max(planned // 100, min(10_000, planned // 10))
