"""The access log: a line for each request, which says what was done, by which key, and what came of it.

A line holds no address with its query, no body and no header: the template of the route, the name of the study if the
request was let in to one that exists, the public part of the key. So there is no place in it for a loss.
"""

import json
import logging
import time
from typing import Any

__all__ = ["AccessLog", "logging_config"]

_NAME = "sottovoce.access"
_LONGEST_NAME = 200


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

    def write(
        self, method: str, route: str, study: str | None, status: int, seconds: float, key: str | None, size: int
    ) -> None:
        """Write a line.

        Parameters
        ----------
        method, route
            What was called: one of a few words, and the template of the route.
        study
            Its name, if there is one.
        status, seconds, size
            What came of it, how long it took, and the bytes of the answer.
        key
            The public part.
        """
        if not self._logger.isEnabledFor(logging.INFO):
            return
        named = "" if study is None else f" study={json.dumps(study[:_LONGEST_NAME])}"  # in ASCII, with escapes
        line = (
            f"{self._now()} {method} {route}{named} status={status} ms={1000 * seconds:.1f} key={key or '-'} "
            f"bytes={size}"
        )
        # Not by `info`, which looks for the caller's file and line: that takes as long as all the rest.
        self._logger.handle(logging.LogRecord(_NAME, logging.INFO, "", 0, line, None, None))

    def _now(self) -> str:
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second, self._stamp = second, time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{int(1000 * (now - second)):03d}Z"


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
            "discreet": {"()": "sottovoce.service.discretion.DiscreetFormatter"},
            "plain": {"format": "%(message)s"},
        },
        "handlers": {
            "errors": {"class": "logging.StreamHandler", "formatter": "discreet", "stream": "ext://sys.stderr"},
            "access": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stdout"},
        },
        "root": {"handlers": ["errors"], "level": level},
        "loggers": {
            _NAME: {"handlers": ["access"], "level": "INFO" if access else "CRITICAL", "propagate": False},
            "uvicorn": {"level": level},
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }
