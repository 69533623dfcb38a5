"""Around every request: it is counted, timed and logged, and what goes wrong in it is answered without its words."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sottovoce.service.access_log import AccessLog, Answered
from sottovoce.service.metrics import Metrics
from sottovoce.service.problem_documents import Problem, problem_response
from sottovoce.service.redaction import note_incident

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_GONE = 499  # the client has gone before it was answered; as nginx has it
_NOWHERE = "-"


@dataclass(slots=True)
class RequestFacts:
    """What becomes known of a request while it is answered; in its scope under "sottovoce.facts".

    Attributes
    ----------
    key
        The public part of the key that it came with, once that was found to be good.
    study
        The study that the key is for, if it is for one and was used for that.
    status, size
        Of the answer.
    """

    key: str | None = None
    study: str | None = None
    status: int = 0
    size: int = 0


class RequestLog:
    """An ASGI middleware, the outermost: it sees every answer, and every error that nobody has answered.

    Parameters
    ----------
    app
        What is called.
    log
        Where lines are written; None for nowhere.
    metrics
        Where requests are counted; None for nowhere.
    delay
        Seconds after which they are: many at once take a third of the work that each would take by itself.
    """

    def __init__(
        self, app: ASGIApp, *, log: AccessLog | None = None, metrics: Metrics | None = None, delay: float = 0.05
    ) -> None:
        self._app, self._log, self._metrics, self._delay = app, log, metrics, delay
        self._answered: list[Answered] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application."""
        if scope["type"] != "http":
            try:
                await self._app(scope, receive, send)
            finally:
                self._flush()  # the service stops
            return
        facts = scope["sottovoce.facts"] = RequestFacts()
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
            seconds, status = time.perf_counter() - began, facts.status or _GONE
            self._answered.append(
                Answered(
                    time.time(),
                    _method(scope),
                    _route(scope),
                    status,
                    seconds,
                    facts.size,
                    facts.key,
                    _study(scope, facts),
                )
            )
            if not self._delay:
                self._flush()
            elif len(self._answered) == 1:
                asyncio.get_running_loop().call_later(self._delay, self._flush)

    def _flush(self) -> None:
        answered, self._answered = self._answered, []
        if not answered:
            return
        if self._metrics is not None:
            for one in answered:
                self._metrics.count_request(one.route, one.method, one.status, one.seconds)
        if self._log is not None:
            self._log.write(answered)


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


def _study(scope: Scope, facts: RequestFacts) -> str | None:
    """Return the name of the study, if there is one of that name: otherwise it may be anything."""
    if facts.study is not None or facts.key is None or not 200 <= facts.status < 400:
        return facts.study
    name = scope.get("path_params", {}).get("name")
    return name if isinstance(name, str) else None
