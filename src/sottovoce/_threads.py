"""One BLAS thread for work on small matrices.

Linear algebra libraries start a thread per core even for matrices of a few dozen rows, and let them spin: on a busy
machine with few cores that is thirty times slower than one thread.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded"]


@cache
def _controller() -> Any:
    return ThreadpoolController()


def single_threaded() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread; ten microseconds to enter."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context
