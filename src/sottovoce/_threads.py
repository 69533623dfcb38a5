"""One BLAS thread for work on small matrices.

Linear algebra libraries start a thread per core even for matrices of a few dozen rows, and let them spin: on a busy
machine with few cores that is thirty times slower than one thread.

The limit holds for the whole process, so it is counted: it ends with the last one inside. Otherwise the first of two
threads to leave would lift it for the other, whose sums would then be split differently and end in other last bits.
"""

import os
import sys
import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import Any
from weakref import WeakSet

from threadpoolctl import ThreadpoolController


@cache
def _libraries(scipy: bool) -> list[Any]:
    """Return the libraries that are loaded: SciPy, once it is there, has one of its own."""
    return [one for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]


class _Limit:
    """Who is inside, and the threads that libraries had before the first of them: None if nobody is.

    Whoever is cut short on the way in or out is inside no longer once nothing refers to it.
    """

    def __init__(self) -> None:
        self.inside: WeakSet[_SingleThreaded] = WeakSet()
        self.before: list[tuple[Any, int]] | None = None
        self.renew_lock()
        if hasattr(os, "register_at_fork"):  # absent where there is no fork
            os.register_at_fork(after_in_child=self.renew_lock)  # a lock that another thread held is held for ever

    def renew_lock(self) -> None:
        self.lock = threading.RLock()  # a signal handler may look while its thread is on the way in or out

    def begin(self, one: "_SingleThreaded") -> None:
        self.inside.add(one)
        if self.before is None:
            self.before = [(one, one.num_threads) for one in _libraries("scipy.linalg" in sys.modules)]
        for library, threads in self.before:
            if threads > 1:
                library.set_num_threads(1)

    def end(self, one: "_SingleThreaded") -> None:
        self.inside.discard(one)
        if not self.inside:
            for library, threads in self.before or ():
                if threads > 1:
                    library.set_num_threads(threads)
            self.before = None


_LIMIT = _Limit()


class _SingleThreaded(AbstractContextManager[None]):
    """The limit, set by the first one inside and lifted by the last.

    The lock is taken and let go of on one line: an interrupt between two would leave it held.
    """

    def __enter__(self) -> None:
        with _LIMIT.lock: _LIMIT.begin(self)  # noqa: E701  # fmt: skip

    def __exit__(self, *exception: object) -> None:
        with _LIMIT.lock: _LIMIT.end(self)  # noqa: E701  # fmt: skip


def single_threaded() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread; a few microseconds to enter."""
    return _SingleThreaded()
