"""The gate: who may do what. Interim: without keys."""

from typing import Any, NamedTuple

from starlette.requests import Request

from sottovoce.service.context import Gate
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore

__all__ = ["gate_for"]


class _Anybody(NamedTuple):
    id: str = "dev"
    study: str | None = None


class _Open:
    async def __call__(self, request: Request, role: str, study: str | None = None) -> Any:
        return _Anybody()


def gate_for(settings: Settings, store: ServiceStore) -> Gate:
    """Return the gate of a service."""
    return _Open()
