"""How often: a bucket of tokens for each key, and one for the wrong keys of each address, in each worker.

A bucket is one number: the moment at which it will be full again. Taking a token moves that moment on by the time a
token needs to come back; if it would be further away than a whole bucket needs, there is no token left. (Telephone
networks know it as the generic cell rate algorithm.)
"""

import math
import secrets
import time
from array import array
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

__all__ = ["KeyRates", "WrongKeys"]

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
