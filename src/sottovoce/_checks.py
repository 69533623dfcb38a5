"""Argument checks: each error names the argument, the value, and what to do.

Only *public* arguments come here. Losses have their own check, whose message never holds the value.
"""

import math
import operator
from typing import Any

import numpy as np
from scipy.linalg.blas import dnrm2

from sottovoce._arrays import Floats
from sottovoce._arrays import Vector as Vector


def number(name: str, value: Any, *, above: float = -math.inf, at_most: float = math.inf) -> float:
    """Return `value` as a float with above < value <= at_most, or say what is wrong with it."""
    if isinstance(value, str | bytes | bool | np.bool_):  # float() would take them, and nobody means them
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if not above < result <= at_most:
        bounds = f"greater than {above:g}" + (f" and at most {at_most:g}" if at_most < math.inf else "")
        raise ValueError(f"{name} must be {bounds}, got {value!r}")
    return result


def whole(name: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """Return `value` as an int with least <= value <= most, or say what is wrong with it."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    try:
        result = operator.index(value)
    except TypeError:
        if not (isinstance(value, float) and value.is_integer()):  # 1e6 is how people write a million
            if isinstance(value, str):  # "1M" is for the command line
                raise TypeError(f"{name} must be a whole number such as 1_000_000, got the text {value!r}") from None
            raise TypeError(f"{name} must be a whole number, got {value!r}") from None
        result = int(value)
    if result < least or (most is not None and result > most):
        bounds = f"at least {least}" + (f" and at most {most}" if most is not None else "")
        raise ValueError(f"{name} must be {bounds}, got {value!r}")
    return result


def numbers(name: str, value: Any) -> Floats:
    """Return `value` as an array of floats, whatever its shape, or say that it is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):  # rows of different lengths among them
        raise TypeError(f"{name} must be an array of numbers, with rows of one length, got {value!r:.80}") from None


def vector(name: str, value: Any, dimension: int) -> Vector:
    """Return `value` as a finite float vector of length `dimension`, or say what is wrong with it."""
    result = numbers(name, value)
    if result.shape != (dimension,):
        raise ValueError(f"{name} must have shape ({dimension},), got {result.shape}")
    # A norm is several times cheaper than isfinite().all(), and BLAS scales it so that huge entries do not overflow.
    if result.size and not math.isfinite(dnrm2(result)) and not np.isfinite(result).all():
        raise ValueError(f"{name} must be finite, got {result!r}")
    return result


def boolean(name: str, value: Any) -> bool:
    """Return `value` if it is True or False: anything else would be taken for one of them."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return `value` if it is one of `options`, or list them."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return str(value)


def generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` if it is a generator of random numbers, or say how to make one."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"{name} must be a generator of numpy, such as np.random.default_rng(0), got {value!r}")
    return value
