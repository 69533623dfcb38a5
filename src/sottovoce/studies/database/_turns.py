"""Taking turns at an SQLite file: a lock that whoever waits longest is likely to get.

SQLite's own waiting sleeps and tries again, so that among many processes some wait for seconds while others work. A
lock of the operating system wakes up whoever waits. It decides nothing but the order: SQLite's locks still guard the
file, so that a process without this one (another system, another program) does no harm.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sottovoce.errors import StorageError

try:
    import fcntl
except ImportError:  # where there is none, SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]

__all__ = ["Turns"]


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

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock; used by one thread at a time, which does not hold it yet."""
        try:
            self._acquire()
            yield
        finally:
            self.release()

    def _acquire(self) -> None:
        if fcntl is None:
            return
        if self._descriptor is None:
            with suppress(OSError):  # a folder that cannot be written: then in no order
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if self._descriptor is None:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait(self._descriptor)
        except OSError:  # a file system without such locks
            self.close()

    def _wait(self, descriptor: int) -> None:
        """Wait in a thread of its own, since a wait for a lock cannot be ended."""
        got, given_up, lock = threading.Event(), False, threading.Lock()

        def wait() -> None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                with lock:
                    if given_up:
                        fcntl.flock(descriptor, fcntl.LOCK_UN)
                    got.set()

        try:
            threading.Thread(target=wait, name="sottovoce turn", daemon=True).start()
            if got.wait(self._seconds):
                return
            raise StorageError(
                f"{self._path}: another process has held the database for too long; nothing was changed. Try again"
            )
        except BaseException:
            with lock:
                given_up = True
                if got.is_set():
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                else:
                    self._descriptor = None  # the thread has it, and lets go of the lock
            raise

    def release(self) -> None:
        """Let go of the lock, held or not."""
        if self._descriptor is not None:
            with suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file. In a forked child, too: a copy of the descriptor would hold its parent's lock."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)
