"""How often: a bucket of tokens for each key, and one for the wrong keys of each address.

A bucket is one number: the moment at which it will be full again. Taking a token moves that moment on by the time a
token needs to come back; if it would be further away than a whole bucket needs, there is no token left. (Telephone
networks know it as the generic cell rate algorithm.)
"""

import hashlib
import math
import mmap
import os
import secrets
import time
from array import array
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

__all__ = ["KeyRates", "WrongKeys"]

_SECONDS_AT_ONCE = 2.0  # of its rate, that a key may use in one go
_LEAST_AT_ONCE = 10.0
_MANY = 10_000  # keys of which something is remembered
_PLACES = 1 << 20
_ROUNDING = 1e-6  # seconds, which a clock that runs for months may be off by


class KeyRates:
    """Requests of keys: so many a second for long, two seconds' worth in one go.

    Parameters
    ----------
    rate
        Requests a second, of a key that has no rate of its own.
    folder
        Which the workers of a machine share: then they grant the rate together, whichever of them is called.
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> rates = KeyRates(4.0, clock=lambda: 0.0)
    >>> [rates.wait("k") for _ in range(12)]
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.25]
    """

    def __init__(self, rate: float, *, folder: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._full = _Buckets() if folder is None else SharedBuckets(folder)

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
        full = max(self._full[key], now) + 1.0 / granted
        missing = full - now - max(_SECONDS_AT_ONCE, _LEAST_AT_ONCE / granted)
        if missing > _ROUNDING:
            return missing
        self._full[key] = full
        self._full.tidy(now)
        return 0.0


class _Buckets(dict[str, float]):
    """When the bucket of each key is full, in one process."""

    def __missing__(self, key: str) -> float:
        return -math.inf

    def tidy(self, now: float) -> None:
        """Forget buckets that are full, once there are many: they are as good as new."""
        if len(self) > _MANY:
            for key in [key for key, full in self.items() if full <= now]:
                del self[key]


class SharedBuckets:
    """The same, in a file that all workers of a machine have in their memory.

    Each key has a place by its hash; the file is mostly holes, so that hardly two keys share one. Two workers that take
    a token in the same microsecond may take one for two: a rate is kept to a fraction, not to the last request.

    Parameters
    ----------
    folder
        Where the file is.
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "key-rates")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, 8 * _PLACES)  # of the size that it has, if another worker was first
            self._full = memoryview(mmap.mmap(descriptor, 8 * _PLACES)).cast("d")
        finally:
            os.close(descriptor)
        self._places: dict[str, int] = {}

    def _place(self, key: str) -> int:
        found = self._places.get(key)
        if found is None:
            if len(self._places) > _MANY:
                self._places.clear()
            digest = hashlib.sha256(key.encode()).digest()
            found = self._places[key] = int.from_bytes(digest[:8]) % _PLACES
        return found

    def __getitem__(self, key: str) -> float:
        return self._full[self._place(key)]

    def __setitem__(self, key: str, full: float) -> None:
        self._full[self._place(key)] = full

    def tidy(self, now: float) -> None:
        """Forget nothing: there is a place for all."""


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
