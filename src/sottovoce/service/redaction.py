"""What a log may show of an error: its type, and where it happened. Never its words, which may repeat a loss.

A message is written by whoever raises, and repeats what it has found: `could not convert string to float: '0.7'`. Log
files are not protected. So everything that a worker writes to its log passes through here: errors of requests, of
threads and of the interpreter, and what uvicorn, asyncio and other libraries have to say.
"""

import logging
import secrets
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType

_LOG = logging.getLogger("sottovoce.service")
_MOST_PLACES = 12
_MOST_ERRORS = 5  # of one chain
_OURS = ("sottovoce", "uvicorn")  # loggers whose words hold nothing of a request
_BUT_NOT = ("uvicorn.access", "uvicorn.asgi")  # whose words are addresses with their queries


def redacted(error: BaseException) -> str:
    """Return what may be said of an error: its type, where it was raised, and what it came from.

    Examples
    --------
    >>> try:
    ...     float("0.7321 secret")
    ... except ValueError as error:
    ...     redacted(error).partition(" at ")[0]
    'ValueError'
    """
    said: list[str] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen and len(said) < _MOST_ERRORS:
        seen.add(id(one))
        said.append(f"{_kind(one)}{_places(one.__traceback__)}")
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return "; after ".join(said)


def _kind(error: BaseException) -> str:
    kind = type(error)
    home = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    return f"{home}{kind.__qualname__}"


def _places(trace: TracebackType | None) -> str:
    """Return where an error passed, innermost first."""
    found = [(frame.f_code, line) for frame, line in traceback.walk_tb(trace)][-_MOST_PLACES:]
    shown = [f"{_short(code.co_filename)}:{line} {code.co_name}" for code, line in reversed(found)]
    return f" at {' < '.join(shown)}" if shown else ""


def _short(file: str) -> str:
    """Return the end of the path of a file: where things are installed is nobody's business."""
    return "/".join(Path(file).parts[-3:])


def note_incident(error: BaseException, doing: str) -> str:
    """Write to the log that something went wrong; return the number under which it is found there.

    Parameters
    ----------
    error
        What was raised.
    doing
        What was being done: the method and the template of a route, nothing that was sent.
    """
    number = secrets.token_hex(4)
    _LOG.error("incident %s in %s: %s", number, doing, redacted(error))
    return number


class RedactingFormatter(logging.Formatter):
    """Formats records of whatever logger: words only of those that repeat nothing, errors as `redacted`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: ", "%Y-%m-%dT%H:%M:%S%z")

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        record.asctime = self.formatTime(record, self.datefmt)
        line = self.formatMessage(record) + self._words(record)
        error = record.exc_info[1] if record.exc_info else None
        return f"{line}: {redacted(error)}" if error is not None else line

    def _words(self, record: logging.LogRecord) -> str:
        if record.name.partition(".")[0] not in _OURS or record.name in _BUT_NOT:
            return f"(withheld, since it may repeat a request) {_short(record.pathname)}:{record.lineno}"
        first, *more = record.getMessage().strip().splitlines() or [""]
        return printable(first) + (" (the rest is withheld)" if more else "")


def printable(text: str) -> str:
    r"""Return a text in which nothing begins a line, or moves a terminal's cursor.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb\rc"))
    a\x1b[2Jb\rc
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def redact_errors() -> None:
    """Have errors that nobody catches, in this process and all its threads, written as `redacted`."""
    logging.raiseExceptions = False  # or records that cannot be written are printed, with all that they hold
    sys.excepthook = lambda _, error, trace: _note("the process ends", error.with_traceback(trace))
    threading.excepthook = lambda found: _note("a thread has ended", found.exc_value)
    sys.unraisablehook = lambda found: _note("an error that could not be raised", found.exc_value)


def _note(what: str, error: BaseException | None) -> None:
    if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        _LOG.error("%s: %s", what, redacted(error))
