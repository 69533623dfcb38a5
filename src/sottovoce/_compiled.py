"""Compiling with numba, in one place: on first call, kept on disk, and without losing the types of what is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile `function` on its first call; the machine code is cached on disk for later processes.

    The first call ever on a machine takes up to a few seconds for each kernel; the first call in a process, some 20 ms
    to load it, and a quarter of a second more if numba itself was not awake. `NUMBA_CACHE_DIR`
    moves the cache, where the package's own folder cannot be written to.
    """
    return cast(Function, numba.njit(cache=True)(function))
