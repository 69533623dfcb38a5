"""The gate: who may do what, and how often."""

import math
import time
from collections.abc import Callable
from enum import Enum

from starlette.requests import Request
from starlette.types import Scope

from sottovoce.service.keys import ROLES, Key, KeyStore
from sottovoce.service.problem_documents import Problem

_SECONDS_AT_ONCE, _LEAST_AT_ONCE = 2.0, 10.0  # of its rate, and requests, that a key may use in one go
_MANY = 10_000  # buckets of which something is remembered
_ROUNDING = 1e-6  # seconds, which a clock that runs for months may be off by
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="sottovoce"'}
_NO_KEY = "Send Authorization: Bearer KEY, with a key that is neither expired nor revoked."
_EVERYBODY = Key("dev", frozenset(ROLES), note="development: there are no keys")


class Buckets:
    """Buckets of tokens, by name, in this process.

    A bucket is one number: the moment at which it will be full again. Taking a token moves that moment on by the time a
    token needs to come back; if it would be further away than a whole bucket needs, there is no token left. (Telephone
    networks know it as the generic cell rate algorithm.)

    Parameters
    ----------
    clock
        Tells the time in seconds.

    Examples
    --------
    >>> buckets = Buckets(clock=lambda: 0.0)
    >>> [buckets.wait("k", rate=4.0, at_once=3) for _ in range(4)]
    [0.0, 0.0, 0.0, 0.25]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full: dict[str, float] = {}

    def wait(self, name: str, rate: float, at_once: float) -> float:
        """Take a token; return 0, or the seconds after which there will be one.

        Parameters
        ----------
        name
            Of the bucket.
        rate, at_once
            Tokens a second that come back, and tokens that a bucket holds.
        """
        now = self._clock()
        full = max(self._full.get(name, now), now) + 1.0 / rate
        missing = full - now - at_once / rate
        if missing > _ROUNDING:
            return missing
        self._full[name] = full
        if len(self._full) > _MANY:  # those that are full are as good as new
            self._full = {one: when for one, when in self._full.items() if when > now}
        return 0.0


class Whichever(Enum):
    """In place of the name of a study."""

    ANY = "whichever the key is for"


ANY = Whichever.ANY


class Gate:
    """Lets in who has a key; without keys, in development, everybody to everything.

    Wrong keys are not slowed down: nobody guesses 32 random bytes, at whatever rate.

    Parameters
    ----------
    ring
        The keys; None in development.
    rate
        Requests a second, of a key that has no rate of its own: for long, two seconds' worth in one go.
    clock
        Tells the time in seconds.
    """

    def __init__(self, ring: KeyStore | None, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.ring, self._rate = ring, rate
        self._buckets = Buckets(clock)

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

    def at_sight(
        self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None
    ) -> tuple[Key, int] | None:
        """Let in by keys as they were last read: return the key, and their number; None if it needs a fresh look.

        It is the study's thread that sees, with all calls that it has gathered, whether that is still their number:
        so those who ask and tell wait for one thread less.

        Parameters
        ----------
        request, role, study
            As before.
        """
        if self.ring is None:
            return None
        key, revision = self.ring.known(_bearer(request.scope))
        if key is None:
            return None
        self.counted(request, key)
        return self._entitled(request, key, role, study), revision

    async def again(self, request: Request, role: str | tuple[str, ...], study: str | Whichever | None = None) -> Key:
        """Return the key of a request that was let in some time ago, if it still may; that does not count as a call.

        Parameters
        ----------
        request, role, study
            As before.
        """
        return self._entitled(request, await self._key(request), role, study)

    async def _key(self, request: Request) -> Key:
        if self.ring is None:
            return _EVERYBODY
        key = await self.ring.check(_bearer(request.scope))
        if key is None:
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
        if self.ring is None:
            return
        rate = self._rate if key.rate is None else key.rate
        if wait := self._buckets.wait(key.id, rate, max(_SECONDS_AT_ONCE * rate, _LEAST_AT_ONCE)):
            raise _too_many(wait, "This key has called too often.")


def _bearer(scope: Scope) -> str | None:
    """Return the key that a request came with; None if there is none, or there are two."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(found) != 1 or found[0][:7].lower() != b"bearer ":
        return None
    return str(found[0][7:].strip(b" "), "latin-1")


def _too_many(wait: float, words: str) -> Problem:
    return Problem("too-many", words, {"Retry-After": str(max(1, math.ceil(wait)))})
