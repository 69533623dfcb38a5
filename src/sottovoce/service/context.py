"""What endpoints work with: the settings, the desks, and who may do what."""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeVar

from starlette.requests import Request

from sottovoce.service.desks import Desks, OpenEvaluations, Requests
from sottovoce.service.fresh_reads import FreshReads
from sottovoce.service.keys import Key
from sottovoce.service.metrics import Metrics
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.studies import Catalogue, Study, StudyEntry

__all__ = ["ANY", "Context", "Gate", "Whichever"]

Found = TypeVar("Found")


class Whichever(Enum):
    """In place of the name of a study."""

    ANY = "whichever the key is for"


ANY = Whichever.ANY


class Gate(Protocol):
    """Says who may do what."""

    async def __call__(
        self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None
    ) -> Key:
        """Return the key of a request; raise a problem if there is none, or it does not have the role for a study.

        Without a study it must have it for all that there are and will be.
        """

    async def again(self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None) -> Key:
        """Return the key of a request that was let in some time ago, if it still may; that does not count as a call."""

    def refused(self, request: Request) -> None:
        """Take note of a request without a good key; raise a problem if there are too many from its address."""

    def close(self) -> None:
        """Let go of what it holds."""


class Context:
    """Everything that an endpoint needs.

    Parameters
    ----------
    settings, store, desks
        Of this worker.
    gate
        Says who may do what.
    metrics
        Where events are counted.
    """

    def __init__(self, settings: Settings, store: ServiceStore, desks: Desks, gate: Gate, metrics: Metrics) -> None:
        self.settings, self.store, self.desks, self.gate, self.metrics = settings, store, desks, gate, metrics
        self.evaluations, self.requests = OpenEvaluations(settings), Requests(store)
        self._catalogue = Catalogue(settings.storage)
        self._entries = FreshReads(self._catalogue.entries)  # each in a thread of its own, and whoever calls meanwhile
        self._answers = FreshReads(self._ask_store)  # shares one: nobody without a key keeps all threads busy

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
        desk = await self.desks.desk(name)
        return await desk.look(function)

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
        await self.desks.close()
        await self.evaluations.close()
        for reads in (self._entries, self._answers):
            await asyncio.to_thread(reads.close)
        self._catalogue.close()
        self.gate.close()
        self.store.close()
