"""Compiling with numba, in one place: on first call, kept on disk, and without losing the types of what is compiled.

Numba itself is loaded by the first call of any kernel, and not before: it takes longer to load than all the rest.
Where it is not installed, kernels are the Python functions that they are written as: the same answers, slowly.
"""

import functools
import os
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from sottovoce._extras import faster_with
from sottovoce._wait_notice import watched

__all__ = ["compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])

_lock = threading.RLock()


def _renew_lock() -> None:
    """In a forked child, a lock that another thread of the parent held would be held for ever."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)

_kernels: dict[Any, Any] = {}  # what numba made of a function that was called, or that one that was calls


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
            if _numba() is None:
                kernel = np.errstate(all="ignore")(function)  # machine code does not warn of overflows either
                return kernel(*arguments)
            with watched(f"compiling {function.__name__} for this machine, once"):
                made = _kernel(call)
                result = made(*arguments)
            kernel = made  # only now, so that other threads that come meanwhile wait in numba, and say why
            return result
        return kernel(*arguments)

    return cast(Function, call)


def _numba() -> Any:
    return faster_with("numba", "graphs, matroids and large projections are computed in plain Python, slowly,")


def _kernel(call: Any) -> Any:
    """Return what numba makes of a function, and of those that it calls: machine code calls no Python."""
    with _lock:
        if call not in _kernels:
            made: dict[Any, Any] = {}
            _make(call, made, ())
            _kernels.update(made)  # all of them at once: what is cut short is made again
        return _kernels[call]


def _make(call: Any, made: dict[Any, Any], callers: tuple[Any, ...]) -> Any:
    if call in callers:
        raise TypeError(f"{call.__name__} calls itself: numba crashes when it takes such a function from its cache")
    if call in _kernels or call in made:
        return _kernels.get(call) or made[call]
    function = call.__wrapped__
    known = dict(function.__globals__)  # names mean what they mean there, but for kernels: these, compiled
    own = FunctionType(function.__code__, known, function.__name__, function.__defaults__)
    own.__qualname__, own.__doc__ = function.__qualname__, function.__doc__
    for name in function.__code__.co_names:
        if getattr(known.get(name), "__code__", None) is call.__code__:
            known[name] = _make(known[name], made, (*callers, call))
    made[call] = _numba().njit(cache=True)(own)
    return made[call]
