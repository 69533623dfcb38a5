"""Rectangles of a wanted size, for instances whose dimension grows."""

import math

from sottovoce._checks import whole


def rectangle(size: int) -> tuple[int, int]:
    """Return (rows, columns) of the most square rectangle that has `size` cells or a few more.

    Examples
    --------
    >>> rectangle(12), rectangle(13)
    ((3, 4), (3, 5))
    """
    rows = math.isqrt(whole("size", size))
    return rows, -(-size // rows)
