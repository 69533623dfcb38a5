"""Carrying out for many who call together, in a thread, what costs hardly more for all of them than for one."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from sottovoce.errors import StorageError

Wanted = TypeVar("Wanted")
Outcomes = list[Any]
_QUIET = 4  # turns of the loop in which nobody calls: then a run begins
_LONGEST = 0.003  # seconds after which it begins, though they go on calling
_MOST_TOGETHER = 1024  # calls of a run: the first of them shall not wait for thousands


class Together(Generic[Wanted]):
    """`await together(wanted)` is what came of it, in a run that began after the call.

    Whoever calls while one runs waits for the next, and all who wait share it: so the more call, the less each costs.
    Who is answered calls again at once, and joins those who came meanwhile: both would else take turns. A run has a
    thread of its own: whoever is slow in the threads that all share holds up nobody here.

    Parameters
    ----------
    run
        Is called in the thread, once at a time, with what is wanted, and with what it hands over what came of each: a
        list, with an error in place of what is refused. It may go on after that.
    name
        Of the thread.
    """

    def __init__(self, run: Callable[[list[Wanted], Callable[[Outcomes], None]], Any], name: str) -> None:
        self._run, self._thread = run, ThreadPoolExecutor(1, name)
        self._arrived: list[tuple[Wanted, asyncio.Future[Any]]] = []  # and not taken yet
        self._ended: asyncio.Future[None] | None = None  # there is one for as long as there is something to do

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return self._ended is None or self._ended.get_loop().is_closed()

    async def __call__(self, wanted: Wanted) -> Any:
        """Return what came of it, or raise it; one who goes away takes nobody along."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._arrived.append((wanted, future))
        if self.idle:
            self._ended = loop.create_future()
            loop.call_soon(self._gather, self._ended, time.monotonic() + _LONGEST)
        outcome = await future
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _gather(self, ended: "asyncio.Future[None]", until: float, before: int = 0, quiet: int = 0) -> None:
        """Let a run begin, once nobody calls for a while; or end, if nobody has."""
        loop, quiet = ended.get_loop(), quiet + 1 if len(self._arrived) == before else 0
        if not self._arrived:
            self._ended = None
            ended.set_result(None)
        elif quiet < _QUIET and time.monotonic() < until:
            loop.call_soon(self._gather, ended, until, len(self._arrived), quiet)
        else:
            calls, self._arrived = self._arrived[:_MOST_TOGETHER], self._arrived[_MOST_TOGETHER:]
            self._thread.submit(self._carry_out, calls, ended)

    def _carry_out(self, calls: list[tuple[Wanted, "asyncio.Future[Any]"]], ended: "asyncio.Future[None]") -> None:
        delivered, loop = list[bool](), ended.get_loop()

        def deliver(outcomes: Outcomes) -> None:
            delivered.append(True)
            loop.call_soon_threadsafe(_hand_over, [future for _, future in calls], outcomes)

        try:
            self._run([wanted for wanted, _ in calls], deliver)
        except BaseException as problem:  # of all of them: none shall wait for ever
            if not delivered:
                stopped = StorageError("the service was interrupted: repeat the call")
                deliver([problem if isinstance(problem, Exception) else stopped] * len(calls))
        loop.call_soon_threadsafe(self._gather, ended, time.monotonic() + _LONGEST)

    async def finish(self) -> None:
        """Carry out what has arrived."""
        if self._ended is not None and not self.idle:
            await self._ended

    def close(self) -> None:
        """Let the thread end, once it has done what it is at."""
        self._thread.shutdown()


def _hand_over(futures: list["asyncio.Future[Any]"], outcomes: Outcomes) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():  # a caller that has gone away
            future.set_result(outcome)  # errors too: nobody may be there to raise them
