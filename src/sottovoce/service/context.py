"""What endpoints and pages work with: the settings, what is open, and who may do what."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sottovoce.evaluations import PrivateEvaluations
from sottovoce.service.gate import Gate
from sottovoce.service.keys import KeyStore
from sottovoce.service.metrics import Metrics
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore, twice
from sottovoce.service.study_workers.open_books import OpenBook, OpenBooks, is_name, open_evaluations, open_study
from sottovoce.service.study_workers.requests import Requests
from sottovoce.service.study_workers.worker import StudyWorker
from sottovoce.service.together import Together
from sottovoce.studies import Catalogue, Study, StudyEntry

Found = TypeVar("Found")


class Context:
    """Everything that an endpoint needs.

    Parameters
    ----------
    settings
        How the service runs.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self._store, self.metrics = settings, ServiceStore(settings.storage), Metrics()
        self.requests = Requests(self._store)
        self.gate = Gate(None if settings.dev else KeyStore(self._store), settings.rate, settings.origins)
        self._numbers = Together[str](self._number, "names")
        self.studies = OpenBooks(self._open_study, self._numbers, settings.open_studies)
        # Evaluations need no thread of their own: what threads tell at the same moment shares one transaction anyway.
        self.evaluations = OpenBooks(self._open_evaluations, self._numbers, settings.open_studies)
        self._catalogue = Catalogue(settings.storage)
        self._looks = Together[bool](self._look_around, "looks")

    def _look_around(self, wanted: list[bool], deliver: Callable[[list[object]], None]) -> None:
        if any(wanted):
            self._store.read("SELECT 1")
        deliver([self._catalogue.entries()] * len(wanted))

    def _number(self, names: list[str], deliver: Callable[[list[object]], None]) -> None:
        def found() -> dict[str, object]:
            return {one: self._catalogue.number(one) if is_name(one) else None for one in set(names)}

        numbers = twice(found)
        deliver([numbers[one] for one in names])

    async def entries(self, *, ready: bool = False) -> tuple[StudyEntry, ...]:
        """Return what studies there are; where it matters whether all is `ready`, the other storage is read, too."""
        found: tuple[StudyEntry, ...] = await self._looks(ready)
        return found

    async def _open_study(self, name: str) -> StudyWorker:
        return StudyWorker(*await asyncio.to_thread(open_study, self.settings, name))

    async def _open_evaluations(self, name: str) -> OpenBook[PrivateEvaluations]:
        return OpenBook(await asyncio.to_thread(open_evaluations, self.settings, name))

    async def look(self, name: str, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of the study of a name; it runs in a thread."""
        return await (await self.studies(name)).look(function)

    async def look_at_evaluations(self, name: str, function: Callable[[PrivateEvaluations], Found]) -> Found:
        """Return what a function says of the evaluations of a name; it runs in a thread."""
        return await (await self.evaluations(name)).look(function)

    async def close(self) -> None:
        """Carry out what has arrived, and close everything."""
        await self.studies.close()
        await self.evaluations.close()
        for one in (self._looks, self._numbers, self.requests, self._catalogue, self.gate, self._store):
            await asyncio.to_thread(one.close)
