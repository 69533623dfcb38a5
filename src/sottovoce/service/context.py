"""What endpoints work with: the settings, the desks, and who may do what."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from starlette.requests import Request

from sottovoce.service.desks import Desks
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore
from sottovoce.studies import Catalogue, Study, StudyEntry

__all__ = ["Context", "Gate"]

Found = TypeVar("Found")


class Gate(Protocol):
    """Says who may do what."""

    async def __call__(self, request: Request, role: str, study: str | None = None) -> Any:
        """Return the key of a request; raise a problem if there is none, or it does not have the role."""


class Context:
    """Everything that an endpoint needs.

    Parameters
    ----------
    settings, store, desks
        Of this worker.
    gate
        Says who may do what.
    """

    def __init__(self, settings: Settings, store: ServiceStore, desks: Desks, gate: Gate) -> None:
        self.settings, self.store, self.desks, self.gate = settings, store, desks, gate
        self._catalogue, self._one_at_a_time = Catalogue(settings.storage), threading.Lock()

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
        return await asyncio.to_thread(self._entries)

    def _entries(self) -> tuple[StudyEntry, ...]:
        with self._one_at_a_time:
            return self._catalogue.entries()

    def reach(self) -> None:
        """Reach both storages, or raise what is in the way."""
        self._entries()
        with self.store.reading() as raw:
            raw.execute("SELECT 1").fetchone()

    async def close(self) -> None:
        """Carry out what is queued, and close everything."""
        await self.desks.close()
        self._catalogue.close()
        self.store.close()
