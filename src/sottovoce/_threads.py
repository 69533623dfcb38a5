"""One BLAS thread for work on small matrices.

Linear algebra libraries start a thread per core even for matrices of a few dozen rows, and let them spin: on a busy
machine with few cores that is thirty times slower than one thread.

The limit holds for the whole process, so it is counted: it ends with the last one inside. Otherwise the first of two
threads to leave would lift it for the other, whose sums would then be split differently and end in other last bits.
"""

import os
import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded"]


@cache
def _controller() -> Any:
    return ThreadpoolController()


class _SingleThreaded(AbstractContextManager[None]):
    """The limit, set by the first one inside and lifted by the last."""

    def __init__(self) -> None:
        self._inside = 0
        self._limit: Any = None
        self._renew_lock()
        if hasattr(os, "register_at_fork"):  # absent where there is no fork
            os.register_at_fork(after_in_child=self._renew_lock)  # a lock that another thread held is held for ever

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


_SINGLE_THREADED = _SingleThreaded()


def single_threaded() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread; ten microseconds to enter."""
    return _SINGLE_THREADED
