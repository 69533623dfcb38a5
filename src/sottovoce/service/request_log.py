"""Around every request: it is counted, timed and logged, and what goes wrong in it is answered without its words.

A line of the log holds no address with its query, no body and no header: the template of the route, the name of the
study if the request was let in to one that exists, the public part of the key. So there is no place in it for a loss.
"""

import asyncio
import json
import logging
import time
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sottovoce.service.metrics import Metrics
from sottovoce.service.problem_documents import Problem, problem_response
from sottovoce.service.redaction import note_incident

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_GONE = 499  # the client has gone before it was answered; as nginx has it
_NOWHERE = "-"
_NAME = "sottovoce.access"
_LONGEST_NAME = 200


@dataclass(slots=True)
class Answered:
    """What becomes known of a request while it is answered; in its scope under "sottovoce.facts".

    Attributes
    ----------
    at
        When it was answered, in seconds since 1970.
    method, route
        What was called: one of a few words, and the template of the route.
    status, seconds, size
        What came of it, how long it took, and the bytes of the answer.
    key
        The public part of the key that it came with, once that was found to be good.
    study
        That of the address, if it exists and the key was let in to it.
    """

    at: float = 0.0
    method: str = ""
    route: str = ""
    status: int = 0
    seconds: float = 0.0
    size: int = 0
    key: str | None = None
    study: str | None = None

    def __str__(self) -> str:
        """Return the line of the log."""
        second = int(self.at)
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(second))}.{int(1000 * (self.at - second)):03d}Z"
        named = "" if self.study is None else f" study={json.dumps(self.study[:_LONGEST_NAME])}"  # ASCII, with escapes
        return (
            f"{stamp} {self.method} {self.route}{named} status={self.status} "
            f"ms={1000 * self.seconds:.1f} key={self.key or '-'} bytes={self.size}"
        )


class RequestLog:
    """An ASGI middleware, the outermost: it sees every answer, and every error that nobody has answered.

    Parameters
    ----------
    app
        What is called.
    metrics
        Where requests are counted.
    delay
        Seconds after which they are counted and logged: many at once take a third of the work that each would take by
        itself.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, delay: float = 0.05) -> None:
        self._app, self._metrics, self._delay, self._logger = app, metrics, delay, logging.getLogger(_NAME)
        self._answered: list[Answered] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application."""
        if scope["type"] != "http":
            try:
                await self._app(scope, receive, send)
            finally:
                self._flush()  # the service stops
            return
        facts = scope["sottovoce.facts"] = Answered()
        began = time.perf_counter()

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                facts.status = message["status"]
            else:
                facts.size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            pass
        except Exception as error:
            number = note_incident(error, doing(scope))
            if not facts.status:  # otherwise the server closes the connection: an answer that has begun is not ended
                await problem_response(Problem("internal", incident=number))(scope, receive, noted)
        finally:
            facts.at, facts.seconds = time.time(), time.perf_counter() - began
            facts.method, facts.route = _method(scope), _route(scope)
            facts.study, facts.status = _study(scope, facts), facts.status or _GONE
            self._answered.append(facts)
            if not self._delay:
                self._flush()
            elif len(self._answered) == 1:
                asyncio.get_running_loop().call_later(self._delay, self._flush)

    def _flush(self) -> None:
        answered, self._answered = self._answered, []
        for one in answered:
            self._metrics.count_request(one.route, one.method, one.status, one.seconds)
        if answered and self._logger.isEnabledFor(logging.INFO):
            lines = "\n".join(map(str, answered))
            # Not by `info`, which looks for the caller's file and line.
            self._logger.handle(logging.LogRecord(_NAME, logging.INFO, "", 0, lines, None, None))


def doing(scope: Scope) -> str:
    """Return what a request is about, without anything of it: "POST /studies/{name}/ask"."""
    return f"{_method(scope)} {_route(scope)}"


def _method(scope: Scope) -> str:
    method: str = scope["method"]
    return method if method in _METHODS else "OTHER"


def _route(scope: Scope) -> str:
    """Return the template of a route, "/studies/{name}/ask"; what leads nowhere is not shown: it may be anything."""
    path: Any = getattr(scope.get("route"), "path", None)
    return path.replace(":path}", "}") or "/" if isinstance(path, str) else _NOWHERE


def _study(scope: Scope, facts: Answered) -> str | None:
    """Return the name of the study, if there is one of that name: otherwise it may be anything."""
    if facts.key is None or not 200 <= facts.status < 400:
        return None
    name = scope.get("path_params", {}).get("name")
    return name if isinstance(name, str) else None


def logging_config(level: str = "WARNING") -> dict[str, Any]:
    """Return how a worker logs, as `uvicorn.Config(log_config=...)` and `logging.config.dictConfig` take it.

    Parameters
    ----------
    level
        From which on other things than requests are logged.
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"redacted": {"()": "sottovoce.service.redaction.RedactingFormatter"}},
        "handlers": {
            "errors": {"class": "logging.StreamHandler", "formatter": "redacted", "stream": "ext://sys.stderr"},
            "access": {"class": "logging.StreamHandler", "stream": "ext://sys.stdout"},
        },
        "root": {"handlers": ["errors"], "level": level},
        "loggers": {_NAME: {"handlers": ["access"], "level": "INFO", "propagate": False}},
    }
