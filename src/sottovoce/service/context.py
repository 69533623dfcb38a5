"""What endpoints and pages work with: the settings, the workers, and who may do what."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import Request

from sottovoce.service.fresh_reads import FreshReads
from sottovoce.service.gate import KeyGate, OpenGate
from sottovoce.service.keys import Key, KeyStore
from sottovoce.service.metrics import Metrics
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.service.study_workers import OpenEvaluations, Requests, StudyWorkers
from sottovoce.studies import Catalogue, Study, StudyEntry

Found = TypeVar("Found")
_REFRESH = 3.0  # seconds between two looks of a page that keeps itself up to date


class Context:
    """Everything that an endpoint needs.

    Parameters
    ----------
    settings, store, workers
        Of this worker.
    gate
        Says who may do what.
    metrics
        Where events are counted.
    """

    def __init__(
        self, settings: Settings, store: ServiceStore, workers: StudyWorkers, gate: KeyGate | OpenGate, metrics: Metrics
    ) -> None:
        self.settings, self.store, self.workers, self.gate, self.metrics = settings, store, workers, gate, metrics
        self.evaluations, self.requests = OpenEvaluations(settings), Requests(store)
        self._catalogue = Catalogue(settings.storage)
        self._entries = FreshReads(self._catalogue.entries)  # each in a thread of its own, and whoever calls meanwhile
        self._answers = FreshReads(self._ask_store)  # shares one: nobody without a key keeps all threads busy

        self.audits, self.refresh = settings.audits, _REFRESH
        self.openapi: Callable[[], dict[str, Any]] = dict  # the document of the application, once there is one

    @property
    def logins(self) -> KeyStore | None:
        """Keys, and cookies that stand for one; None where there are no keys."""
        return self.gate.ring

    def refused(self, request: Request) -> None:
        """Take note of a request without a good key; raise a problem if there are too many from its address."""
        self.gate.refused(request)

    def counted(self, request: Request, key: Key) -> None:
        """Take note of a request of a key; raise a problem if it calls too often."""
        self.gate.counted(request, key)

    @property
    def dev(self) -> bool:
        """Whether there are no keys."""
        return self.settings.dev

    async def look(self, name: str, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of a study; it runs in a thread.

        Parameters
        ----------
        name
            Of the study.
        function
            Is handed the study.
        """
        worker = await self.workers.worker(name)
        return await worker.look(function)

    async def entries(self) -> tuple[StudyEntry, ...]:
        """Return public facts of all studies, without opening any."""
        return await self._entries()

    async def reach(self) -> None:
        """Reach both storages, or raise what is in the way."""
        await self._entries()
        await self._answers()

    def _ask_store(self) -> None:
        self.store.read("SELECT 1")

    async def close(self) -> None:
        """Carry out what is queued, and close everything."""
        await self.workers.close()
        await self.evaluations.close()
        for reads in (self._entries, self._answers):
            await asyncio.to_thread(reads.close)
        self._catalogue.close()
        self.gate.close()
        self.store.close()
