"""Studies over HTTP: private decisions for whatever speaks it, keys for who may do what, a dashboard."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below, when it is first used
    from sottovoce.service.app import create_app
    from sottovoce.service.keys import Key, KeyRing
    from sottovoce.service.serving import serve
    from sottovoce.service.settings import Settings
    from sottovoce.service.store import ServiceStore

__all__ = ["Key", "KeyRing", "ServiceStore", "Settings", "create_app", "serve"]

_HOMES = {
    "Key": "keys",
    "KeyRing": "keys",
    "ServiceStore": "store",
    "Settings": "settings",
    "create_app": "app",
    "serve": "serving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sottovoce.service' has no attribute {name!r}")
    try:
        found = getattr(importlib.import_module(f"sottovoce.service.{_HOMES[name]}"), name)
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"{missing.name} is not installed; the service needs packages of its own: pip install 'sottovoce[service]'"
        ) from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
