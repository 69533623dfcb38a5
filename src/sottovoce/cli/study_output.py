"""Printing actions so that none is lost on the way: what was surely not written is known, and can be taken back.

An id that is handed out and reaches nobody is a loss that never comes. So lines go to the standard output itself, past
all buffers, and each piece is counted; a pipe is waited for until its reader has taken what is in it.
"""

import errno
import os
import select
import signal
import stat
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, Self

try:
    import fcntl
    import termios
except ImportError:  # where there are none, nobody can tell what a pipe's reader has taken
    fcntl = termios = None  # type: ignore[assignment]

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE
_PIECE = 4096  # bytes: a pipe that has room takes as many at once
_MOST_WAIT = 50  # milliseconds between two looks at a pipe


class Written(NamedTuple):
    """How far a call of `Output.write` came: lines of which anything was written, whether all, and what stopped it."""

    begun: int
    finished: bool
    problem: BaseException | None

    @property
    def code(self) -> int:
        """The code to end with."""
        if isinstance(self.problem, KeyboardInterrupt):
            return INTERRUPTED
        return BROKEN_PIPE if isinstance(self.problem, BrokenPipeError) else 1

    @property
    def reason(self) -> str:
        """What stopped it, in words."""
        if isinstance(self.problem, KeyboardInterrupt):
            return "interrupted"
        if isinstance(self.problem, BrokenPipeError):
            return "the reader has gone away"
        words = self.problem.strerror if isinstance(self.problem, OSError) else None
        return f"the output cannot be written ({words or type(self.problem).__name__})"


class Output:
    """The standard output, in lines. Within `with`, Ctrl-C comes between two steps, so that each is known to its end.

    Examples
    --------
    >>> with Output() as out:
    ...     out.write(["one", "two"])
    one
    two
    Written(begun=2, finished=True, problem=None)
    """

    def __init__(self) -> None:
        if sys.stdout is None:  # it was closed before the command began
            raise OSError(errno.EBADF, "there is no standard output to print to; nothing was asked")
        self._interrupted = self._waiting = False
        self._before: Any = None
        try:
            self._descriptor: int | None = sys.stdout.fileno()
        except (OSError, ValueError):  # what stands in for it has none
            self._descriptor = None
        self._is_pipe = self._descriptor is not None and stat.S_ISFIFO(os.fstat(self._descriptor).st_mode)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._interrupted and kind is None:
            raise KeyboardInterrupt  # late, but not forgotten

    def _note(self, _signal: int, _frame: FrameType | None) -> None:
        if self._waiting or self._interrupted:  # the second one does not wait
            raise KeyboardInterrupt
        self._interrupted = True

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        if self._interrupted:
            raise KeyboardInterrupt
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    def write(self, lines: Sequence[str]) -> Written:
        """Write lines, and say how far that came; nothing is raised."""
        pieces = [f"{line}\n".encode() for line in lines]
        data, done, problem = b"".join(pieces), 0, None
        try:
            while done < len(data):
                done += self._write(data[done : done + _PIECE])
        except (OSError, KeyboardInterrupt) as stopped:
            problem = stopped
        begun, start = 0, 0
        for piece in pieces:
            begun += start < done
            start += len(piece)
        return Written(begun, done >= len(data) - 1, problem)  # the last line needs no end

    def _write(self, piece: bytes) -> int:
        if self._descriptor is None:
            sys.stdout.write(piece.decode())
            sys.stdout.flush()
            return len(piece)
        if self._is_pipe and fcntl is not None:
            with self._interruptible():
                select.select([], [self._descriptor], [])
        return os.write(self._descriptor, piece)

    def wait_until_taken(self) -> Written:
        """Wait until the reader of a pipe has taken what was written, or has gone away. Files are not waited for."""
        try:
            with self._interruptible():
                if self._is_pipe and self._descriptor is not None and fcntl is not None:
                    self._wait(self._descriptor)
        except (OSError, KeyboardInterrupt) as stopped:
            return Written(0, True, stopped)
        return Written(0, True, None)

    def _wait(self, descriptor: int) -> None:
        looker, pause = select.poll(), 1
        looker.register(descriptor, 0)  # errors are always reported: here, that nobody reads any more
        while _unread(descriptor):
            if looker.poll(pause):
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
            pause = min(2 * pause, _MOST_WAIT)
        if looker.poll(0):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _unread(descriptor: int) -> int:
    """Return how many bytes of a pipe its reader has not taken; 0 where that cannot be known."""
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
    except OSError:
        return 0
    return int(count)
