"""The public names, and where they live: what type checkers read, and what is loaded when it is first used."""

from sottovoce.service.app import create_app as create_app
from sottovoce.service.keys import (
    Key as Key,
    KeyStore as KeyStore,
)
from sottovoce.service.serving import serve as serve
from sottovoce.service.settings import Settings as Settings
from sottovoce.service.store import ServiceStore as ServiceStore
