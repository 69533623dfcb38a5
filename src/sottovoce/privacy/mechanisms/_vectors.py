"""The check that every mechanism makes of a private vector: its type and shape, never its values."""

from typing import Any

import numpy as np

from sottovoce._arrays import Integers


def check_vector(vector: Any, dimension: int) -> Integers:
    """Return `vector` if it is int64 of the right length; the message never holds its values.

    Examples
    --------
    >>> check_vector(np.array([1, 2]), 2)
    array([1, 2])
    """
    checked = np.asarray(vector)
    if checked.shape != (dimension,) or checked.dtype != np.int64:
        raise ValueError(f"vector must be int64 of shape ({dimension},), got {checked.dtype} {checked.shape}")
    return checked
