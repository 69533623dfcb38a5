"""The gate: who may do what, and how often."""

import math
import secrets
import time
from array import array
from collections.abc import Callable
from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import Any

from starlette.requests import Request
from starlette.types import Scope

from sottovoce.service.keys import ROLES, Key, KeyStore
from sottovoce.service.problem_documents import Problem
from sottovoce.service.settings import Settings
from sottovoce.service.store import ServiceStore

# ----------------------------------------------------------------------
# How often: a bucket of tokens for each key, and one for the wrong keys of each address, in each worker.
#
# A bucket is one number: the moment at which it will be full again. Taking a token moves that moment on by the time a
# token needs to come back; if it would be further away than a whole bucket needs, there is no token left. (Telephone
# networks know it as the generic cell rate algorithm.)


_SECONDS_AT_ONCE = 2.0  # of its rate, that a key may use in one go
_LEAST_AT_ONCE = 10.0
_MANY = 10_000  # keys of which something is remembered
_ROUNDING = 1e-6  # seconds, which a clock that runs for months may be off by


class KeyRates:
    """Requests of keys: so many a second for long, two seconds' worth in one go.

    Parameters
    ----------
    rate
        Requests a second, of a key that has no rate of its own.
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> rates = KeyRates(4.0, clock=lambda: 0.0)
    >>> [rates.wait("k") for _ in range(12)]
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.25]
    """

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._full: dict[str, float] = {}

    def wait(self, key: str, rate: float | None = None) -> float:
        """Take a token of a key; return 0, or the seconds after which there will be one.

        Parameters
        ----------
        key
            The id of a key that exists: so there are no more buckets than keys.
        rate
            Of that key, if it has one of its own.
        """
        now = self._clock()
        granted = self._rate if rate is None else rate
        full = max(self._full.get(key, now), now) + 1.0 / granted
        missing = full - now - max(_SECONDS_AT_ONCE, _LEAST_AT_ONCE / granted)
        if missing > _ROUNDING:
            return missing
        self._full[key] = full
        if len(self._full) > _MANY:  # those that are full are as good as new
            self._full = {one: when for one, when in self._full.items() if when > now}
        return 0.0


class WrongKeys:
    """Wrong keys that came from an address: a few a minute, and some in one go.

    Nobody guesses 32 random bytes, at whatever rate. This tells a client that is set up wrongly to slow down. So it
    never stands in the way of a good key, which may come from the same address: behind a proxy or a company's gateway
    all do.

    Whatever number of addresses take part, the memory is the same: addresses share buckets by chance (by a secret coin,
    so that nobody can choose whom to share with).

    Parameters
    ----------
    rate
        Wrong keys a second, for long.
    at_once
        Wrong keys in one go.
    buckets
        How many there are.
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> wrong = WrongKeys(rate=0.5, at_once=3, clock=lambda: 0.0)
    >>> [wrong.wait("192.0.2.1") for _ in range(4)], wrong.wait("192.0.2.2")
    ([0.0, 0.0, 0.0, 2.0], 0.0)
    """

    def __init__(
        self,
        *,
        rate: float = 0.2,
        at_once: int = 20,
        buckets: int = 1 << 14,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token, self._deep, self._clock = 1.0 / rate, at_once / rate, clock
        self._full = array("d", [-math.inf]) * buckets
        self._coin = secrets.randbits(64)

    def wait(self, address: str | None) -> float:
        """Take a token of an address; return 0, or the seconds after which there will be one.

        Parameters
        ----------
        address
            Whence a wrong key came; None if nobody knows.
        """
        now = self._clock()
        place = hash((self._coin, _network(address))) % len(self._full)
        full = max(self._full[place], now) + self._token
        missing = full - now - self._deep
        if missing > _ROUNDING:
            return missing
        self._full[place] = full
        return 0.0


def _network(address: str | None) -> str | int:
    """Return whose address it is: of IPv6 a household has 2^64."""
    try:
        found = ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if not isinstance(found, IPv6Address):
        return int(found)
    return int(found.ipv4_mapped) if found.ipv4_mapped else -(int(found) >> 64) - 1


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
