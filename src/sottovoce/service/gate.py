"""The gate: who may do what, and how often."""

import math
from enum import Enum
from typing import Any

from starlette.requests import Request
from starlette.types import Scope

from sottovoce.service.keys import ROLES, Key, KeyStore
from sottovoce.service.problem_documents import Problem
from sottovoce.service.rates import KeyRates, WrongKeys
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore

__all__ = ["ANY", "KeyGate", "OpenGate", "Whichever", "gate_for"]

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sottovoce"'}
_NO_KEY = "Send Authorization: Bearer KEY, with a key that is neither expired nor revoked."
_WRONG_OFTEN = "Too many requests without a good key came from this address. Check the key, and wait."


class Whichever(Enum):
    """In place of the name of a study."""

    ANY = "whichever the key is for"


ANY = Whichever.ANY


class KeyGate:
    """Lets in who has a key.

    Parameters
    ----------
    ring
        The keys.
    rates
        How often each may call.
    wrong
        How often an address may call with none that is good.
    """

    def __init__(self, ring: KeyStore, rates: KeyRates, wrong: WrongKeys) -> None:
        self.ring = ring
        self._rates, self._wrong = rates, wrong

    async def __call__(
        self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None
    ) -> Key:
        """Return the key of a request; raise a problem if there is none, or it may not do this, or not so often.

        What it says never depends on whether there is such a study.

        Parameters
        ----------
        request
            With the header Authorization.
        role
            What it is about to do; of several, one will do.
        study
            The name of the study; None for all of them; `ANY` for whichever the key is for.
        """
        key = await self._key(request)
        self.counted(request, key)
        return self._entitled(request, key, role, study)

    async def again(self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None) -> Key:
        """Return the key of a request that was let in some time ago, if it still may; that does not count as a call.

        Parameters
        ----------
        request, role, study
            As before.
        """
        return self._entitled(request, await self._key(request), role, study)

    async def _key(self, request: Request) -> Key:
        key = await self.ring.check(_bearer(request.scope))
        if key is None:
            self.refused(request)
            raise Problem("unauthorised", _NO_KEY, _CHALLENGE)
        return key

    def _entitled(self, request: Request, key: Key, role: str | tuple[str, ...], study: str | Whichever | None) -> Key:
        roles = (role,) if isinstance(role, str) else role
        where = key.study if isinstance(study, Whichever) else study
        if not any(key.may(one, where) for one in roles):
            raise Problem("forbidden", f"It takes a key with the role {' or '.join(roles)}, for what it is used for.")
        facts = request.scope.get("sottovoce.facts")
        if facts is not None and key.study is not None and key.study == study:
            facts.study = key.study
        return key

    def counted(self, request: Request, key: Key) -> None:
        """Take note of a request of a key; raise a problem if it calls too often.

        Parameters
        ----------
        request
            Which.
        key
            Whose: it may have come by the cookie of a login.
        """
        if (facts := request.scope.get("sottovoce.facts")) is not None:
            facts.key = key.id
        if wait := self._rates.wait(key.id, key.rate):
            raise _too_many(wait, "This key has called too often.")

    def refused(self, request: Request) -> None:
        """Take note of a request without a good key; raise a problem if there are too many from its address.

        Parameters
        ----------
        request
            Says whence it came.
        """
        client = request.scope.get("client")
        if wait := self._wrong.wait(client[0] if client else None):
            raise _too_many(wait, _WRONG_OFTEN)

    def close(self) -> None:
        """Let go of the keys."""
        self.ring.close()


class OpenGate:
    """Lets everybody in, to everything: for development."""

    async def __call__(
        self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None
    ) -> Key:
        """Return a key that may do everything.

        Parameters
        ----------
        request, role, study
            Whatever they are.
        """
        if (facts := request.scope.get("sottovoce.facts")) is not None:
            facts.key = _EVERYBODY.id
        return _EVERYBODY

    again = __call__

    ring = None

    def counted(self, request: Request, key: Key) -> None:
        """Take note of nothing.

        Parameters
        ----------
        request, key
            Whatever they are.
        """

    def refused(self, request: Request) -> None:
        """Take note of nothing.

        Parameters
        ----------
        request
            Whatever it is.
        """

    def close(self) -> None:
        """Let go of nothing."""


_EVERYBODY = Key("dev", frozenset(ROLES), note="development: there are no keys")


def gate_for(settings: Settings, store: ServiceStore) -> KeyGate | OpenGate:
    """Return the gate of a worker.

    Parameters
    ----------
    settings
        How the service runs.
    store
        Where keys are.
    """
    if settings.dev:
        return OpenGate()
    return KeyGate(KeyStore(store), KeyRates(settings.rate), WrongKeys())


def _bearer(scope: Scope) -> str | None:
    """Return the key that a request came with; None if there is none, or there are two."""
    found: Any = None
    for name, value in scope["headers"]:
        if name == b"authorization":
            if found is not None:
                return None
            found = value
    if found is None or found[:7].lower() != b"bearer ":
        return None
    return str(found[7:].strip(b" "), "latin-1")


def _too_many(wait: float, words: str) -> Problem:
    return Problem("too-many", words, {"Retry-After": str(max(1, math.ceil(wait)))})
