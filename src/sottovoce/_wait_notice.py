"""Telling people at a terminal what takes long, in one line."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SOON = 1.0  # seconds in which nobody needs to be told


class _Watch(threading.local):
    on = False  # whether somebody watches what this thread is doing


_watch = _Watch()


@contextmanager
def watched(what: str, how_far: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Say, if this takes longer than a second, what is being done, and go on saying for how long, in one line.

    Where standard error is no terminal nothing is written, and no thread is started; within what is watched already,
    nothing more is said.

    Parameters
    ----------
    what
        What is being done, in a few words.
    how_far
        Returns how far it has come; called by another thread.

    Examples
    --------
    >>> with watched("nothing much"):
    ...     pass
    """
    if _watch.on or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def look() -> None:
        begin, width = time.monotonic(), 0
        while not done.wait(_SOON):
            spent, far = time.monotonic() - begin, how_far()
            line = f"sottovoce: {what} ({spent:.0f} s{', ' if far else ''}{far})"
            sys.stderr.write(f"\r{line:<{width}}")
            sys.stderr.flush()
            width = len(line)
        if width:
            sys.stderr.write("\n")
            sys.stderr.flush()

    watcher = threading.Thread(target=look, daemon=True, name="sottovoce: watching")
    _watch.on = True
    watcher.start()
    try:
        yield
    finally:
        _watch.on = False
        done.set()
        watcher.join()
