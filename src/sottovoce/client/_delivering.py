"""One at a time delivers what waits in a file: otherwise processes that share it would all send the same.

It spares work and decides nothing: a tell that is sent twice is counted once. Where the system has no such locks
(Windows), several may send.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from weakref import WeakSet

from sottovoce import _fork

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


_LOOK_AGAIN = 0.05  # seconds

_held: WeakSet[FileIO] = WeakSet()


def delivering(path: str, seconds: float, deliver: Callable[[], None]) -> bool:
    """Deliver when it is this one's turn, and then return True; a process that dies gives up its turn.

    Parameters
    ----------
    path
        Of the file of the queue.
    seconds
        How long to wait for the turn.
    deliver
        Is called, unless the turn does not come. However it ends, an interrupt at any line included, the turn is over.
    """
    if fcntl is None:
        deliver()
        return True
    with open(f"{path}-delivery", "ab", buffering=0, opener=_for_the_owner) as file:
        return _in_turn(file, time.monotonic() + seconds, deliver)


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _in_turn(file: FileIO, until: float, deliver: Callable[[], None]) -> bool:
    _held.add(file)
    while not _locked(file):
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOK_AGAIN)
    deliver()
    return True


def _locked(file: FileIO) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _let_go() -> None:
    """In a forked child: the parent's lock would outlive the parent if a descriptor of it did."""
    for file in list(_held):
        with suppress(OSError):
            file.close()


_fork.in_child(_let_go)
