"""Telling people at a terminal what takes long, in one line."""

import sys
import time

__all__ = ["Waiting"]

_SOON = 1.0  # seconds in which nobody needs to be told


class Waiting:
    """Something that may take long: after a second, one line on the terminal says what it is and how far it has come.

    Where standard error is no terminal, nothing is written.

    Parameters
    ----------
    what
        What is being done, in a few words.

    Examples
    --------
    >>> waiting = Waiting("a search")
    >>> waiting.say("step 1 of 3")  # too soon to say anything
    >>> waiting.over()
    """

    def __init__(self, what: str) -> None:
        self._what, self._since, self._width = what, time.monotonic(), 0

    def say(self, how_far: str) -> None:
        """Write how far it has come, over what was written before."""
        if time.monotonic() - self._since < _SOON or sys.stderr is None or not sys.stderr.isatty():
            return
        line = f"sottovoce: {self._what} ({how_far})"
        sys.stderr.write(f"\r{line:<{self._width}}")
        sys.stderr.flush()
        self._width = len(line)

    def over(self) -> None:
        """Let the line stand, and begin the next."""
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()
