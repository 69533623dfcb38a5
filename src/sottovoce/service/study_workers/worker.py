"""A study worker: one open study, and the threads that carry out what callers want of it."""

from typing import Any

from sottovoce.errors import StorageError, StudyNotFound
from sottovoce.service.study_workers.asking import Answer, AskOrder, answer_asks
from sottovoce.service.study_workers.open_books import OpenBook
from sottovoce.service.together import Together
from sottovoce.studies import Recorded, Study, TellCall


class StudyWorker(OpenBook[Study]):
    """Serves one study: while a thread waits for the disk, calls arrive, and one transaction serves all of them.

    Parameters
    ----------
    study
        It is the worker's from now on, which closes it.
    refusal
        Why nothing can be asked and told, if the study can only be looked at.
    """

    def __init__(self, study: Study, refusal: Exception | None = None) -> None:
        super().__init__(study)
        self._refusal = refusal
        self._asks = Together[AskOrder](lambda orders, deliver: deliver(answer_asks(study, orders)), "asks")
        self._tells = Together[TellCall](study.tell_each, "tells")

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return super().idle and self._asks.idle and self._tells.idle

    async def ask(self, order: AskOrder) -> Answer:
        """Return actions as JSON, once that they were handed out is on record."""
        answer: Answer = await self._outcome(self._asks, order)
        return answer

    async def tell(self, call: TellCall) -> Recorded:
        """Return what became of losses, once they are on record."""
        recorded: Recorded = await self._outcome(self._tells, call)
        return recorded

    async def _outcome(self, together: Together[Any], wanted: Any) -> Any:
        self.check()
        try:
            return await together(wanted)
        except StudyNotFound:
            self.gone = True
            raise

    def check(self) -> None:
        """Refuse to ask, tell or change, where that cannot be done."""
        if self.closed:
            raise StorageError("the service is about to stop: repeat the call")
        if self._refusal is not None:
            raise self._refusal

    async def close(self) -> None:
        """Carry out what has arrived, and close the study."""
        self.closed = True
        for together in (self._asks, self._tells):
            await together.finish()
            together.close()
        await super().close()
