"""Carrying out for many who call together, in a thread, what costs hardly more for all of them than for one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from sottovoce.errors import StorageError

Wanted = TypeVar("Wanted")
Outcomes = list[Any]
_APART = 0.001  # seconds from the end of a run to the next, or from its beginning if it was for one call
_MOST_TOGETHER = 1024  # calls of a run: the first of them shall not wait for thousands


class Together(Generic[Wanted]):
    """`await together(wanted)` is what came of it, in a run that began after the call.

    Whoever calls while one runs waits for the next, and all who wait share it: so the more call, the less each costs. A
    run has a thread of its own: whoever is slow in the threads that all share holds up nobody here.

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
        self._serving: asyncio.Task[None] | None = None  # for as long as there is something to do

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return self._serving is None or self._serving.done()  # done, if its loop has ended

    async def __call__(self, wanted: Wanted) -> Any:
        """Return what came of it, or raise it; one who goes away takes nobody along."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._arrived.append((wanted, future))
        if self.idle:
            self._serving = asyncio.create_task(self._serve())  # with all that the loop reads in the same turn
        outcome = await future
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while self._arrived:
            began = loop.time()
            calls, self._arrived = self._arrived[:_MOST_TOGETHER], self._arrived[_MOST_TOGETHER:]
            await loop.run_in_executor(self._thread, self._carry_out, calls, loop)
            # Who is answered calls again at once, and joins those who came meanwhile: both would else take turns.
            await asyncio.sleep(_APART if len(calls) > 1 else began + _APART - loop.time())
        self._serving = None

    def _carry_out(self, calls: list[tuple[Wanted, "asyncio.Future[Any]"]], loop: asyncio.AbstractEventLoop) -> None:
        delivered: list[bool] = []

        def deliver(outcomes: Outcomes) -> None:
            delivered.append(True)
            loop.call_soon_threadsafe(_hand_over, [future for _, future in calls], outcomes)

        try:
            self._run([wanted for wanted, _ in calls], deliver)
        except BaseException as problem:  # of all of them: none shall wait for ever
            if not delivered:
                stopped = StorageError("the service was interrupted: repeat the call")
                deliver([problem if isinstance(problem, Exception) else stopped] * len(calls))

    async def finish(self) -> None:
        """Carry out what has arrived."""
        if self._serving is not None and not self.idle:
            await self._serving

    def close(self) -> None:
        """Let the thread end, once it has done what it is at."""
        self._thread.shutdown()


def _hand_over(futures: list["asyncio.Future[Any]"], outcomes: Outcomes) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():  # a caller that has gone away
            future.set_result(outcome)  # errors too: nobody may be there to raise them
