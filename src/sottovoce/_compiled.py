"""Compiling with numba, in one place: on first call, kept on disk, and without losing the types of what is compiled.

Numba itself is loaded by the first call of any kernel, and not before: it takes longer to load than all the rest.
Where it is not installed, kernels are the Python functions that they are written as: the same answers, slowly. A kernel
calls no other.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from sottovoce._extras import faster_with
from sottovoce._wait_notice import watched

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile `function` on its first call; the machine code is cached on disk for later processes.

    The first call ever on a machine takes up to a few seconds for each kernel, and says so at a terminal; the first
    call in a process, some 20 ms to load it, and a quarter of a second more if numba itself was not awake. Whoever
    uses a set once, when a machine is set up, has its kernels compiled beforehand. `NUMBA_CACHE_DIR` moves the cache,
    where the package's own folder cannot be written to.
    """
    kernel: Any = None

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        nonlocal kernel
        if kernel is None:
            numba = faster_with("numba", "graphs, matroids and large projections are computed in plain Python, slowly,")
            if numba is None:
                kernel = np.errstate(all="ignore")(function)  # machine code does not warn of overflows either
                return kernel(*arguments)
            with watched(f"compiling {function.__name__} for this machine, once"):
                made = numba.njit(cache=True)(function)
                result = made(*arguments)
            kernel = made  # only now, so that other threads that come meanwhile wait in numba, and say why
            return result
        return kernel(*arguments)

    return cast(Function, call)
