"""What the dashboard needs to know of the service that it is part of."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from starlette.requests import Request

from sottovoce.service.keys import Key
from sottovoce.studies import Study, StudyEntry

__all__ = ["DashboardContext", "Logins"]

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
    def logins(self) -> Logins:
        """Who may see what."""

    @property
    def audits(self) -> str | None:
        """A folder with records of audits."""

    async def look(self, name: str, function: Callable[[Study], Found]) -> Found:
        """Return what a function says of a study, in a thread."""

    async def entries(self) -> tuple[StudyEntry, ...]:
        """Return public facts of all studies, without opening any."""

    async def admit(self, request: Request) -> None:
        """Refuse an address that has tried too many keys that are none (a problem, 429); called before one is checked."""

    async def refused(self, request: Request) -> None:
        """Take note of a key that was none."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document of the service."""
