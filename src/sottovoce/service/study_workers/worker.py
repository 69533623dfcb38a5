"""A study worker: one open study, and the thread that carries out what callers want of it.

While the thread waits for the disk, calls arrive; then it takes all of them at once, and one transaction serves them.
So the busier a study, the less each call costs.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sottovoce.errors import StorageError, StudyNotFound
from sottovoce.service.study_workers.asking import Answer, AskOrder, answer_asks
from sottovoce.service.study_workers.open_books import OpenBook
from sottovoce.service.study_workers.requests import Requests
from sottovoce.studies import Recorded, Study, TellCall

_Call = tuple[AskOrder | TellCall, "asyncio.Future[Any]"]
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
    refusal
        Why nothing can be asked and told, if the study can only be looked at.
    """

    def __init__(self, study: Study, requests: Requests, refusal: Exception | None = None) -> None:
        super().__init__(study)
        self._requests, self._refusal = requests, refusal
        self._arrived: list[_Call] = []  # and not taken yet
        self._serving: asyncio.Task[None] | None = None  # for as long as there is something to do
        self._thread = ThreadPoolExecutor(1, f"worker of {study.name}")

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return super().idle and self._serving is None

    async def ask(self, order: AskOrder) -> Answer:
        """Return actions as JSON, once that they were handed out is on record."""
        answer: Answer = await self._outcome(order)
        return answer

    async def tell(self, call: TellCall) -> Recorded:
        """Return what became of losses, once they are on record."""
        recorded: Recorded = await self._outcome(call)
        return recorded

    async def _outcome(self, wanted: AskOrder | TellCall) -> Any:
        self.check()
        future = asyncio.get_running_loop().create_future()
        self._arrived.append((wanted, future))
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())  # with all that the loop reads in the same turn
        outcome = await future
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _serve(self) -> None:
        """Carry out what has arrived, and what arrives meanwhile, until there is nothing more."""
        loop = asyncio.get_running_loop()
        while self._arrived:
            began = loop.time()
            calls, self._arrived = self._arrived[:_MOST_TOGETHER], self._arrived[_MOST_TOGETHER:]
            await loop.run_in_executor(self._thread, self._carry_out, calls, loop)
            await asyncio.sleep(began + _APART - loop.time())
        self._serving = None

    def check(self) -> None:
        """Refuse to ask, tell or change, where that cannot be done."""
        if self.closed:
            raise StorageError("the service is about to stop: repeat the call")
        if self._refusal is not None:
            raise self._refusal

    async def close(self) -> None:
        """Carry out what has arrived, and close the study."""
        self.closed = True
        if self._serving is not None:
            await self._serving
        self._thread.shutdown()
        await super().close()

    # ------------------------------------------------------------------ in the thread

    def _carry_out(self, calls: list[_Call], loop: asyncio.AbstractEventLoop) -> None:
        tells = [call for call in calls if isinstance(call[0], TellCall)]
        asks = [call for call in calls if isinstance(call[0], AskOrder)]
        self._finish(tells, self.kept.tell_each, loop)
        self._finish(asks, self._ask_each, loop)

    def _ask_each(self, orders: list[AskOrder], on_record: Callable[[list[Any]], None]) -> None:
        on_record(answer_asks(self.kept, self._requests, orders))

    def _finish(self, calls: list[_Call], carry_out: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> None:
        """Carry out calls, and hand over what came of each as soon as that is on record."""
        delivered: list[bool] = []

        def deliver(outcomes: list[Any]) -> None:
            delivered.append(True)
            self.gone = self.gone or any(isinstance(one, StudyNotFound) for one in outcomes)
            loop.call_soon_threadsafe(_hand_over, [future for _, future in calls], outcomes)

        if calls:
            try:
                carry_out([wanted for wanted, _ in calls], deliver)
            except BaseException as problem:  # of all of them: none shall wait for ever
                if not delivered:
                    stopped = StorageError("the service was interrupted: repeat the call")
                    deliver([problem if isinstance(problem, Exception) else stopped] * len(calls))


def _hand_over(futures: list["asyncio.Future[Any]"], outcomes: list[Any]) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():  # a caller that has gone away
            future.set_result(outcome)  # errors too: nobody may be there to raise them
