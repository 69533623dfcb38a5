"""A study worker: one open study, and the thread that carries out what callers want of it.

While the thread waits for the disk, calls queue up; then it takes all of them at once, and one transaction serves them.
So the busier a study, the less each call costs.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sottovoce.errors import StorageError, StudyNotFound
from sottovoce.service.study_workers.asking import Answer, AskOrder, answer_asks
from sottovoce.service.study_workers.requests import Requests
from sottovoce.studies import Recorded, Study, TellCall

Found = TypeVar("Found")
_Call = tuple[Any, "asyncio.Future[Any]"]
_APART = 0.002  # seconds between two transactions of a busy study: others join the next one meanwhile
_MOST_TOGETHER = 1024  # calls: the first of them shall not wait for thousands


class StudyWorker:
    """Serves one study.

    Parameters
    ----------
    study
        It is the worker's from now on, which closes it.
    requests
        The record of asks that may be repeated.
    loop
        Where callers wait.
    gathered
        Is told how many calls were carried out together.
    refusal
        Why nothing can be asked and told, if the study can only be looked at.
    """

    def __init__(
        self,
        study: Study,
        requests: Requests,
        loop: asyncio.AbstractEventLoop,
        gathered: Callable[[str, int], None] = lambda kind, count: None,
        refusal: Exception | None = None,
    ) -> None:
        self.study, self._refusal = study, refusal
        self._requests, self._loop, self._gathered = requests, loop, gathered
        self._queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._looking = self._waiting = 0
        self.closed = self.gone = False
        self._made: dict[str, tuple[Any, Any]] = {}  # by name, with the version of what it was made from
        self._locks: dict[str, asyncio.Lock] = {}
        self._began = 0.0  # when calls were last taken
        self._thread = threading.Thread(target=self._serve, name=f"worker of {study.name}", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._looking and not self._waiting

    async def ask(self, order: AskOrder) -> Answer:
        """Return actions as JSON, once that they were handed out is on record."""
        answer: Answer = await self._carried_out(order)
        return answer

    async def tell(self, call: TellCall) -> Recorded:
        """Return what became of losses, once they are on record."""
        recorded: Recorded = await self._carried_out(call)
        return recorded

    async def tell_each(self, calls: Sequence[TellCall]) -> list[Recorded | Exception]:
        """Return what became of the losses of several calls, or the error of each, once they are on record."""
        return list(await asyncio.gather(*(self._outcome(call) for call in calls)))

    async def look(self, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of the study; it runs in a thread, beside those who ask and tell."""
        self._looking += 1
        try:
            return await asyncio.to_thread(function, self.study)
        except StudyNotFound:
            self.gone = True
            raise
        finally:
            self._looking -= 1

    async def make(self, what: str, look: Callable[[Study], tuple[Any, Callable[[], Found]]]) -> Found:
        """Return what takes long to make, made once for each version of what it is made from.

        Parameters
        ----------
        what
            Its name.
        look
            Says what version the study is at, and what makes it: in a thread, and without the study.
        """
        async with self._locks.setdefault(what, asyncio.Lock()):  # of many who want it at once, one works
            version, make = await self.look(look)
            if what not in self._made or self._made[what][0] != version:
                self._made[what] = version, await asyncio.to_thread(make)
            found: Found = self._made[what][1]
            return found

    async def _carried_out(self, wanted: AskOrder | TellCall) -> Any:
        outcome = await self._outcome(wanted)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _outcome(self, wanted: AskOrder | TellCall) -> Any:
        self.check()
        future = self._loop.create_future()
        self._waiting += 1
        try:
            self._queue.put((wanted, future))
            return await future
        finally:
            self._waiting -= 1

    def check(self) -> None:
        """Refuse to ask, tell or change, where that cannot be done."""
        if self.closed:
            raise StorageError("the service is about to stop: repeat the call")
        if self._refusal is not None:
            raise self._refusal

    def retire(self) -> None:
        """Take no more calls; `close` is to follow. Called where callers wait."""
        self.closed = True
        self._queue.put(None)

    def close(self) -> None:
        """Carry out what is queued, and close the study: waits for that."""
        self._thread.join()
        self.study.close()

    # ------------------------------------------------------------------ in the thread

    def _serve(self) -> None:
        going_on = True
        while going_on:
            calls, going_on = self._together()
            tells = [call for call in calls if isinstance(call[0], TellCall)]
            asks = [call for call in calls if isinstance(call[0], AskOrder)]
            self._finish("tell", tells, self.study.tell_each)
            self._finish("ask", asks, self._asked)

    def _asked(self, orders: list[AskOrder], on_record: Callable[[list[Any]], None]) -> None:
        on_record(answer_asks(self.study, self._requests, orders))

    def _together(self) -> tuple[list[_Call], bool]:
        """Wait for a call, and take all that wait; say whether there will be more."""
        calls: list[_Call] = []
        call = self._queue.get()
        wait = self._began + _APART - time.monotonic()
        if wait > 0 and call is not None:
            time.sleep(wait)
        self._began = time.monotonic()
        while call is not None:
            calls.append(call)
            if len(calls) == _MOST_TOGETHER:
                return calls, True
            try:
                call = self._queue.get_nowait()
            except queue.Empty:
                return calls, True
        return calls, False

    def _finish(self, kind: str, calls: list[_Call], carry_out: Callable[..., Any]) -> None:
        """Carry out calls, and hand over what came of each as soon as that is on record."""
        if not calls:
            return
        self._gathered(kind, len(calls))
        delivered: list[bool] = []

        def deliver(outcomes: list[Any]) -> None:
            delivered.append(True)
            self.gone = self.gone or any(isinstance(one, StudyNotFound) for one in outcomes)
            self._loop.call_soon_threadsafe(_hand_over, [future for _, future in calls], outcomes)

        try:
            carry_out([wanted for wanted, _ in calls], deliver)
        except Exception as problem:  # of all of them
            if not delivered:
                deliver([problem] * len(calls))
        except BaseException:  # the thread ends, and those who wait must not wait for ever
            if not delivered:
                deliver([StorageError("the service was interrupted: repeat the call")] * len(calls))
            raise


def _hand_over(futures: list["asyncio.Future[Any]"], outcomes: list[Any]) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():  # a caller that has gone away
            future.set_result(outcome)  # errors too: nobody may be there to raise them
