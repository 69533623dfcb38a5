"""The gate: who may do what, and how often."""

import math
import time
from collections.abc import Callable, Collection, Sequence
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Scope

from sottovoce._loopback import is_loopback
from sottovoce.service.keys import ROLES, Key, KeyStore
from sottovoce.service.problem_documents import Problem

_SECONDS_AT_ONCE, _LEAST_AT_ONCE = 2.0, 10.0  # of its rate, and requests, that a key may use in one go
_MANY = 10_000  # keys of which something is remembered
_ROUNDING = 1e-6  # seconds, which a clock that runs for months may be off by
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sottovoce"'}
_NO_KEY = "Send Authorization: Bearer KEY, with a key that is neither expired nor revoked."
_EVERYBODY = Key("dev", frozenset(ROLES), note="development: there are no keys")
_OTHER_NAME = "A service that runs with --dev is called as 127.0.0.1, ::1 or localhost, and by no other name."
_OTHER_PAGE = "Pages of other origins may call if those are named when the service is started: --cors ORIGIN."


class Gate:
    """Lets in who has a key; without keys, in development, everybody on this machine to everything.

    Without keys, and on the loopback alone, every page that a browser on this machine opens can reach the service all
    the same: a page of any site may send a POST to 127.0.0.1, though it cannot read the answer; and if the name of its
    own site is made to lead there (DNS rebinding), it can read as well. Both give themselves away: by Origin, and by
    Host.

    Wrong keys are not slowed down: nobody guesses 32 random bytes, at whatever rate. How often a key may call is one
    number for each: the moment at which its bucket of tokens will be full again. A call moves that moment on by the
    time a token needs to come back; if it would be further away than a whole bucket needs, there is no token left.
    (Telephone networks know it as the generic cell rate algorithm.)

    Parameters
    ----------
    ring
        The keys; None in development.
    rate
        Requests a second of a key: for long, two seconds' worth in one go.
    origins
        Of pages that may call in development.
    clock
        Tells the time in seconds.
    """

    def __init__(
        self,
        ring: KeyStore | None,
        rate: float,
        origins: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ring, self._rate, self._origins, self._clock = ring, rate, origins, clock
        self._at_once = max(_SECONDS_AT_ONCE * rate, _LEAST_AT_ONCE)
        self._full: dict[str, float] = {}

    async def __call__(
        self,
        request: Request,
        roles: Sequence[str],
        study: str | None = None,
        *,
        anywhere: bool = False,
        again: bool = False,
    ) -> Key:
        """Return the key of a request; raise a problem if there is none, or it may not do this, or not so often.

        What it says never depends on whether there is such a study.

        Parameters
        ----------
        request
            With the header Authorization.
        roles
            What it is about to do: one of them will do.
        study
            The name of the study; None for all of them.
        anywhere
            Whether a key for whichever study will do.
        again
            Whether the request was let in some time ago: that does not count as a call.
        """
        key = await self.key(bearer(request.scope))
        if key is None:
            raise Problem("unauthorised", _NO_KEY, _CHALLENGE)
        if not again:
            self.counted(request, key)
        if not any(key.has(role) if anywhere else key.may(role, study) for role in roles):
            raise Problem("forbidden", f"It takes a key with the role {' or '.join(roles)}, for what it is used for.")
        return key

    async def key(self, text: str | None) -> Key | None:
        """Return the key that a text is, if it is one that lives; without keys, whatever it is, everybody's."""
        return _EVERYBODY if self.ring is None else await self.ring.check(text)

    def close(self) -> None:
        """Close the keys."""
        if self.ring is not None:
            self.ring.close()

    def counted(self, request: Request, key: Key) -> None:
        """Take note of a request of a key; raise a problem if it calls too often, or without keys from elsewhere.

        Parameters
        ----------
        request
            Which.
        key
            Whose.
        """
        if (facts := request.scope.get("sottovoce.facts")) is not None:
            facts.key = key.id
        if self.ring is None:
            self._refuse_strangers(request)
        elif wait := self.wait(key.id):
            headers = {"Retry-After": str(max(1, math.ceil(wait)))}
            raise Problem("too-many", "This key has called too often.", headers)

    def _refuse_strangers(self, request: Request) -> None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not _is_here(host):
            raise Problem("forbidden", _OTHER_NAME)
        if origin not in (None, *self._origins, f"{request.url.scheme}://{host}"):
            raise Problem("forbidden", _OTHER_PAGE)

    def wait(self, name: str) -> float:
        """Take a token of a key; return 0, or the seconds after which there will be one.

        Parameters
        ----------
        name
            Of the key.

        Examples
        --------
        >>> gate = Gate(None, 4.0, clock=lambda: 0.0)
        >>> [gate.wait("k") for _ in range(11)][-2:]
        [0.0, 0.25]
        """
        now = self._clock()
        full = max(self._full.get(name, now), now) + 1.0 / self._rate
        missing = full - now - self._at_once / self._rate
        if missing > _ROUNDING:
            return missing
        self._full[name] = full
        if len(self._full) > _MANY:  # those that are full are as good as new
            self._full = {one: when for one, when in self._full.items() if when > now}
        return 0.0


def bearer(scope: Scope) -> str | None:
    """Return the key that a request came with; None if there is none, or there are two."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(found) != 1 or found[0][:7].lower() != b"bearer ":
        return None
    return str(found[0][7:].strip(b" "), "latin-1")


def _is_here(host: str) -> bool:
    """Say whether a Host header names this machine.

    Examples
    --------
    >>> [_is_here(host) for host in ("127.0.0.1:8420", "[::1]:80", "localhost", "localhost.evil.example")]
    [True, True, True, False]
    """
    try:
        return is_loopback(urlsplit(f"//{host}").hostname)
    except ValueError:
        return False
