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
from sottovoce.service.study_workers.open_books import OpenBook
from sottovoce.service.study_workers.requests import Requests
from sottovoce.studies import Recorded, Study, TellCall

Found = TypeVar("Found")
_Call = tuple[Any, "asyncio.Future[Any]"]
_APART = 0.001  # seconds between two transactions of a busy study: others join the next one meanwhile
_MOST_TOGETHER = 1024  # calls: the first of them shall not wait for thousands


class StudyWorker(OpenBook[Study]):
    """Serves one study.

    Parameters
    ----------
    study
        It is the worker's from now on, which closes it.
    requests
        The record of asks that may be repeated.
    loop
        Where callers wait.
    refusal
        Why nothing can be asked and told, if the study can only be looked at.
    """

    def __init__(
        self,
        study: Study,
        requests: Requests,
        loop: asyncio.AbstractEventLoop,
        refusal: Exception | None = None,
    ) -> None:
        super().__init__(study)
        self._requests, self._loop, self._refusal = requests, loop, refusal
        self._arrived: list[_Call] = []  # and not handed in yet
        self._queue: queue.SimpleQueue[list[_Call] | None] = queue.SimpleQueue()
        self._waiting = 0
        self._made: dict[str, tuple[Any, Any]] = {}  # by name, with the version of what it was made from
        self._locks: dict[str, asyncio.Lock] = {}
        self._began = 0.0  # when calls were last taken
        self._thread = threading.Thread(target=self._serve, name=f"worker of {study.name}", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return super().idle and not self._waiting

    async def ask(self, order: AskOrder) -> Answer:
        """Return actions as JSON, once that they were handed out is on record."""
        answer: Answer = _raised(await self._outcome(order))
        return answer

    async def tell(self, call: TellCall) -> Recorded:
        """Return what became of losses, once they are on record."""
        recorded: Recorded = _raised(await self._outcome(call))
        return recorded

    async def tell_each(self, calls: Sequence[TellCall]) -> list[Recorded | Exception]:
        """Return what became of the losses of several calls, or the error of each, once they are on record."""
        return list(await asyncio.gather(*(self._outcome(call) for call in calls)))

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

    async def _outcome(self, wanted: AskOrder | TellCall) -> Any:
        self.check()
        future = self._loop.create_future()
        self._waiting += 1
        try:
            self._arrived.append((wanted, future))
            if len(self._arrived) == 1:
                self._loop.call_soon(self._hand_in)  # with all that the loop reads in the same turn
            return await future
        finally:
            self._waiting -= 1

    def _hand_in(self) -> None:
        arrived, self._arrived = self._arrived, []
        self._queue.put(arrived)

    def check(self) -> None:
        """Refuse to ask, tell or change, where that cannot be done."""
        if self.closed:
            raise StorageError("the service is about to stop: repeat the call")
        if self._refusal is not None:
            raise self._refusal

    def retire(self) -> None:
        """Take no more calls."""
        super().retire()
        self._hand_in()
        self._queue.put(None)

    def close(self) -> None:
        """Carry out what is queued, and close the study."""
        self._thread.join()
        super().close()

    # ------------------------------------------------------------------ in the thread

    def _serve(self) -> None:
        going_on = True
        while going_on:
            calls, going_on = self._together()
            tells = [call for call in calls if isinstance(call[0], TellCall)]
            asks = [call for call in calls if isinstance(call[0], AskOrder)]
            self._finish(tells, self.kept.tell_each)
            self._finish(asks, self._asked)

    def _asked(self, orders: list[AskOrder], on_record: Callable[[list[Any]], None]) -> None:
        on_record(answer_asks(self.kept, self._requests, orders))

    def _together(self) -> tuple[list[_Call], bool]:
        """Wait for a call, and take all that wait; say whether there will be more."""
        calls: list[_Call] = []
        arrived = self._queue.get()
        wait = self._began + _APART - time.monotonic()
        if wait > 0 and arrived is not None:
            time.sleep(wait)
        self._began = time.monotonic()
        while arrived is not None:
            calls += arrived
            if len(calls) >= _MOST_TOGETHER:
                return calls, True
            try:
                arrived = self._queue.get_nowait()
            except queue.Empty:
                return calls, True
        return calls, False

    def _finish(self, calls: list[_Call], carry_out: Callable[..., Any]) -> None:
        """Carry out calls, and hand over what came of each as soon as that is on record."""
        if not calls:
            return
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


def _raised(outcome: Any) -> Any:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _hand_over(futures: list["asyncio.Future[Any]"], outcomes: list[Any]) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():  # a caller that has gone away
            future.set_result(outcome)  # errors too: nobody may be there to raise them
