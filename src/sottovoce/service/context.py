"""What endpoints and pages work with: the settings, what is open, and who may do what."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sottovoce.evaluations import PrivateEvaluations
from sottovoce.service.fresh_reads import FreshReads
from sottovoce.service.gate import Gate
from sottovoce.service.keys import KeyStore
from sottovoce.service.metrics import Metrics
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.service.study_workers import (
    OpenBook,
    OpenBooks,
    Requests,
    StudyWorker,
    open_evaluations,
    open_study,
)
from sottovoce.studies import Catalogue, Study

Found = TypeVar("Found")


class Context:
    """Everything that an endpoint needs.

    Parameters
    ----------
    settings
        How the service runs.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.store, self.metrics = settings, ServiceStore(settings.storage), Metrics()
        self.requests = Requests(self.store)
        self.gate = Gate(None if settings.dev else KeyStore(self.store), settings.rate)
        self.studies = OpenBooks(self._open_study, settings.open_studies)
        # Evaluations need no thread of their own: what threads tell at the same moment shares one transaction anyway.
        self._evaluations = OpenBooks(self._open_evaluations, settings.open_studies)
        self._catalogue = Catalogue(settings.storage)
        self.entries = FreshReads(lambda _: self._catalogue.entries())  # each in a thread of its own, and whoever calls
        self._answers = FreshReads(lambda _: self.store.read("SELECT 1"))  # meanwhile shares one: nobody keeps all busy

    async def _open_study(self, name: str) -> StudyWorker:
        study, refusal = await asyncio.to_thread(open_study, self.settings, name)
        return StudyWorker(study, self.requests, refusal)

    async def _open_evaluations(self, name: str) -> OpenBook[PrivateEvaluations]:
        return OpenBook(await asyncio.to_thread(open_evaluations, self.settings, name))

    async def look(self, name: str, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of the study of a name; it runs in a thread."""
        return await (await self.studies(name)).look(function)

    async def look_at_evaluations(self, name: str, function: Callable[[PrivateEvaluations], Found]) -> Found:
        """Return what a function says of the evaluations of a name; it runs in a thread."""
        return await (await self._evaluations(name)).look(function)

    async def reach(self) -> None:
        """Reach both storages, or raise what is in the way."""
        await self.entries()
        await self._answers()

    async def close(self) -> None:
        """Carry out what has arrived, and close everything."""
        await self.studies.close()
        await self._evaluations.close()
        for reads in (self.entries, self._answers):
            await asyncio.to_thread(reads.close)
        self._catalogue.close()
        if self.gate.ring is not None:
            self.gate.ring.close()
        self.store.close()
