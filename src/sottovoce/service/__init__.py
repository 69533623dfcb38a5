"""Studies over HTTP: private decisions for whatever speaks it, keys for who may do what, a dashboard."""

from typing import TYPE_CHECKING

from sottovoce._lazy import lazily

if TYPE_CHECKING:  # what is written here for readers and type checkers happens below, when it is first used
    from sottovoce.service.app import create_app
    from sottovoce.service.keys import Key, KeyStore
    from sottovoce.service.serving import serve
    from sottovoce.service.settings import Settings
    from sottovoce.service.store import ServiceStore

__all__ = ["Key", "KeyStore", "ServiceStore", "Settings", "create_app", "serve"]

_HOMES = {
    "Key": "keys",
    "KeyStore": "keys",
    "ServiceStore": "store",
    "Settings": "settings",
    "create_app": "app",
    "serve": "serving",
}

__getattr__, __dir__ = lazily(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()}, ())
