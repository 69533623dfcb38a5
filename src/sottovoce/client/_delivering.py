"""One at a time delivers what waits in a file: otherwise processes that share it would all send the same.

It spares work and decides nothing: a tell that is sent twice is counted once. Where the system has no such locks
(Windows), several may send.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sottovoce import _fork

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

__all__ = ["delivering"]

_LOOK_AGAIN = 0.05  # seconds

_held: set[int] = set()  # descriptors


@contextmanager
def delivering(path: str, seconds: float) -> Iterator[bool]:
    """Yield whether it is this one's turn, which is waited for as long as `seconds` say; a process that dies gives up.

    Parameters
    ----------
    path
        Of the file of the queue.
    seconds
        How long to wait.
    """
    if fcntl is None:
        yield True
        return
    descriptor = os.open(f"{path}-delivery", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _held.add(descriptor)
    try:
        yield _locked(descriptor, time.monotonic() + seconds)
    finally:
        if descriptor in _held:  # in a child it is closed already
            _held.discard(descriptor)
            os.close(descriptor)


def _locked(descriptor: int, until: float) -> bool:
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOK_AGAIN)


def _let_go() -> None:
    """In a forked child: the parent's lock would outlive the parent if a descriptor of it did."""
    for descriptor in list(_held):
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


_fork.in_child(_let_go)
