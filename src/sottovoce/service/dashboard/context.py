"""What the dashboard needs to know of the service that it is part of."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from starlette.requests import Request

from sottovoce.service.context import Context
from sottovoce.service.gate import KeyGate
from sottovoce.service.keys import Key
from sottovoce.studies import Study, StudyEntry

__all__ = ["DashboardContext", "Logins", "ServicePages"]

Found = TypeVar("Found")


class Logins(Protocol):
    """Keys, and cookies that stand for one: a `KeyRing` is one."""

    async def check(self, text: str | None) -> Key | None:
        """Return the key that a text is; None if it is none that lives."""

    async def open_session(self, key: Key) -> str:
        """Return a cookie for a key."""

    async def session_key(self, cookie: str | None) -> Key | None:
        """Return the key that a cookie stands for."""

    async def close_session(self, cookie: str | None) -> None:
        """Forget a cookie."""

    def list(self) -> list[Key]:
        """Return all keys."""

    def revoke(self, id: str) -> Key:
        """Refuse a key from now on."""


class DashboardContext(Protocol):
    """What pages are made from."""

    @property
    def dev(self) -> bool:
        """Whether there are no keys, and every request may do everything."""

    @property
    def logins(self) -> Logins | None:
        """Who may see what; None where there are no keys."""

    @property
    def audits(self) -> str | None:
        """A folder with records of audits."""

    @property
    def refresh(self) -> float:
        """Seconds between two looks of a page that keeps itself up to date."""

    async def look(self, name: str, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of a study, in a thread."""

    async def entries(self) -> tuple[StudyEntry, ...]:
        """Return public facts of all studies, without opening any."""

    def refused(self, request: Request) -> None:
        """Take note of a request without a good key; raise a problem if there are too many from its address."""

    def counted(self, request: Request, key: Key) -> None:
        """Take note of a request of a key; raise a problem if it calls too often."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document of the service."""


_REFRESH = 3.0


class ServicePages:
    """What pages are made from, in a service.

    Parameters
    ----------
    context
        Of the service.
    openapi
        Returns its OpenAPI document.
    """

    def __init__(self, context: Context, openapi: Callable[[], dict[str, Any]]) -> None:
        self._context, self.openapi = context, openapi
        self._gate = context.gate if isinstance(context.gate, KeyGate) else None

    @property
    def dev(self) -> bool:
        """Whether there are no keys."""
        return self._context.dev

    @property
    def logins(self) -> Logins | None:
        """Who may see what."""
        return None if self._gate is None else self._gate.ring

    @property
    def audits(self) -> str | None:
        """A folder with records of audits."""
        return self._context.settings.audits

    @property
    def refresh(self) -> float:
        """Seconds between two looks of a page."""
        return _REFRESH

    async def look(self, name: str, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of a study, in a thread.

        Parameters
        ----------
        name, function
            Of the study; is handed it.
        """
        return await self._context.look(name, function)

    async def entries(self) -> tuple[StudyEntry, ...]:
        """Return public facts of all studies, without opening any."""
        return await self._context.entries()

    def refused(self, request: Request) -> None:
        """Take note of a request without a good key.

        Parameters
        ----------
        request
            Says whence it came.
        """
        self._context.gate.refused(request)

    def counted(self, request: Request, key: Key) -> None:
        """Take note of a request of a key; raise a problem if it calls too often.

        Parameters
        ----------
        request, key
            Which, and whose.
        """
        if self._gate is not None:
            self._gate.counted(request, key)
