"""Taking turns at an SQLite file: a lock that whoever waits longest is likely to get.

SQLite's own waiting sleeps and tries again, so that among many processes some wait for seconds while others work. A
lock of the operating system wakes up whoever waits. It decides nothing but the order: SQLite's locks still guard the
file, so that a process without this one (another system, another program) does no harm.
"""

import _thread
import os
import time
from contextlib import suppress

from sottovoce.errors import StorageError

try:
    import fcntl
except ImportError:  # where there is none, SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]

__all__ = ["Turns"]

_A_WHILE = 0.2  # seconds: a signal that comes just before a wait begins is met when it ends


class Turns:
    """The turns of one connection, by a file beside the database.

    Parameters
    ----------
    path
        Of the file; it is empty, and may be removed while no process has the database open.
    seconds
        How long to wait.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self._path, self._seconds = path, seconds
        self._descriptor: int | None = None
        self._wait: _Wait | None = None  # the last one: held until `release`

    def acquire(self) -> None:
        """Wait for the lock, and hold it until `release`, which is called even if this fails; by one thread at a time.

        Whoever waits cannot be ended by the system, and so waits in a thread of its own.
        """
        if self._wait is not None:
            self.release()  # it was cut short
        if fcntl is None:
            return
        if self._descriptor is None:
            with suppress(OSError):  # a folder that cannot be written: then in no order
                self._descriptor = _opened(self._path)
        if self._descriptor is None:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            self._wait = wait = _Wait(self._path)
        except OSError:  # a file system without such locks
            self.close()
            return
        _thread.start_new_thread(wait.run, ())
        end = time.monotonic() + self._seconds
        while not wait.over.acquire(timeout=min(_A_WHILE, self._seconds)):
            if time.monotonic() >= end:
                raise StorageError(
                    f"{self._path}: another process has held the database for too long; nothing was changed. Try again"
                )

    def release(self) -> None:
        """Let go of the lock, held or not."""
        if self._wait is not None:
            self._wait.give_up()
            self._wait = None
        if self._descriptor is not None:
            with suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file. In a forked child, too: a copy of the descriptor would hold its parent's lock."""
        held = [] if self._wait is None else self._wait.held
        for one in (self._descriptor, *held):
            if one is not None:
                with suppress(OSError):
                    os.close(one)
        self._descriptor = self._wait = None


class _Wait:
    """A wait for the lock: by a descriptor of its own, which is closed by whoever finds it once nobody wants it.

    An event would be left locked, should an interrupt come while somebody waits for it; a plain lock is not.
    """

    def __init__(self, path: str) -> None:
        self._path, self._unwanted = path, False
        self.held: list[int] = []
        self.over = _thread.allocate_lock()
        self.over.acquire()

    def run(self) -> None:
        """Wait; let go at once, if that was given up meanwhile."""
        with suppress(OSError):  # then in no order
            descriptor = _opened(self._path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self.held.append(descriptor)
        if self._unwanted:
            self.give_up()
        self.over.release()

    def give_up(self) -> None:
        """Let go of the lock, or have the thread do so when it gets it."""
        self._unwanted = True
        with suppress(IndexError, OSError):
            fcntl.flock(self.held[0], fcntl.LOCK_UN)
            os.close(self.held.pop())


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
