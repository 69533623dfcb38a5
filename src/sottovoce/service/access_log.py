"""The access log: a line for each request, which says what was done, by which key, and what came of it.

A line holds no address with its query, no body and no header: the template of the route, the name of the study if the
request was let in to one that exists, the public part of the key. So there is no place in it for a loss.
"""

import json
import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

_NAME = "sottovoce.access"
_LONGEST_NAME = 200


class Answered(NamedTuple):
    """A request that was answered.

    Attributes
    ----------
    at
        When, in seconds since 1970.
    method, route
        What was called: one of a few words, and the template of the route.
    status, seconds, size
        What came of it, how long it took, and the bytes of the answer.
    key
        The public part of its key, if that was good.
    study
        The name of the study, if there is one of that name.
    """

    at: float
    method: str
    route: str
    status: int
    seconds: float
    size: int
    key: str | None = None
    study: str | None = None


class AccessLog:
    """Writes the lines.

    Parameters
    ----------
    logger
        Where to; "sottovoce.access" by default.
    """

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logging.getLogger(_NAME) if logger is None else logger
        self._second, self._stamp = -1, ""

    def write(self, answers: Sequence[Answered]) -> None:
        """Write a line for each of some requests.

        Parameters
        ----------
        answers
            What became of them.
        """
        if self._logger.isEnabledFor(logging.INFO):
            lines = "\n".join(map(self._line, answers))
            # Not by `info`, which looks for the caller's file and line.
            self._logger.handle(logging.LogRecord(_NAME, logging.INFO, "", 0, lines, None, None))

    def _line(self, one: Answered) -> str:
        second = int(one.at)
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        named = "" if one.study is None else f" study={json.dumps(one.study[:_LONGEST_NAME])}"  # ASCII, with escapes
        return (
            f"{self._stamp}.{int(1000 * (one.at - second)):03d}Z {one.method} {one.route}{named} status={one.status} "
            f"ms={1000 * one.seconds:.1f} key={one.key or '-'} bytes={one.size}"
        )


def logging_config(level: str = "WARNING", *, access: bool = True) -> dict[str, Any]:
    """Return how a worker logs, as `uvicorn.Config(log_config=...)` and `logging.config.dictConfig` take it.

    Parameters
    ----------
    level
        From which on other things than requests are logged.
    access
        Whether requests are logged.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "redacted": {"()": "sottovoce.service.redaction.RedactingFormatter"},
            "plain": {"format": "%(message)s"},
        },
        "handlers": {
            "errors": {"class": "logging.StreamHandler", "formatter": "redacted", "stream": "ext://sys.stderr"},
            "access": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stdout"},
        },
        "root": {"handlers": ["errors"], "level": level},
        "loggers": {
            _NAME: {"handlers": ["access"], "level": "INFO" if access else "CRITICAL", "propagate": False},
            "uvicorn": {"handlers": [], "level": level, "propagate": True},  # whatever it has set up before
            "uvicorn.error": {"handlers": [], "level": level, "propagate": True},
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }
