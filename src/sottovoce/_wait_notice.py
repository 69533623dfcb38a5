"""Telling people at a terminal what takes long, in one line."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["WaitNotice", "watched"]

_SOON = 1.0  # seconds in which nobody needs to be told
_AGAIN = 0.2  # seconds until a line is written again


class _Watch(threading.local):
    on = False  # whether somebody watches what this thread is doing
    told = 0  # how often it has said something itself


_watch = _Watch()


def _at_a_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def watched(what: str, how_far: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Say, if this takes longer than a second, what is being done, and go on saying for how long.

    For work that cannot say it itself: in solvers, in somebody's oracle, in a compiler. Where standard error is no
    terminal nothing is written, and no thread is started; within what is watched already, nothing more is said.

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
    if _watch.on or not _at_a_terminal():
        yield
        return
    done, own = threading.Event(), vars(_watch)
    own["on"], own["told"] = True, 0

    def look() -> None:
        begin, line = time.monotonic(), WaitNotice(what)
        pause = _SOON
        while not done.wait(pause) and not own["told"]:  # the work has words of its own, which say more
            spent, far = time.monotonic() - begin, how_far()
            line.say(f"{spent:.0f} s, {far}" if far else f"{spent:.0f} s")
            pause = 1.0
        line.over()

    watcher = threading.Thread(target=look, daemon=True, name="sottovoce: watching")
    watcher.start()
    try:
        yield
    finally:
        own["on"] = False
        done.set()
        watcher.join()


class WaitNotice:
    """Something that may take long: after a second, one line on the terminal says what it is and how far it has come.

    Where standard error is no terminal, nothing is written.

    Parameters
    ----------
    what
        What is being done, in a few words.

    Examples
    --------
    >>> waiting = WaitNotice("a search")
    >>> waiting.say("step 1 of 3")  # too soon to say anything
    >>> waiting.over()
    """

    def __init__(self, what: str) -> None:
        self._what, self._width, self._due = what, 0, time.monotonic() + _SOON

    def say(self, how_far: str) -> None:
        """Write how far it has come, over what was written before."""
        now = time.monotonic()
        if now < self._due or not _at_a_terminal():
            return
        self._due = now + _AGAIN
        _watch.told += 1
        line = f"sottovoce: {self._what} ({how_far})"
        sys.stderr.write(f"\r{line:<{self._width}}")
        sys.stderr.flush()
        self._width = len(line)

    def over(self) -> None:
        """Let the line stand, and begin the next."""
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()
