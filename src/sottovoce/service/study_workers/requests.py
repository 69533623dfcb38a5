"""Requests that may be repeated: what an ask was answered under its idempotency key, on record before it is sent."""

import hashlib
import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from sottovoce.service.store import Run, ServiceStore

KEPT_SECONDS = 24 * 3600.0
_PRUNE_SECONDS = 600.0
_FIND = "SELECT asks, answer FROM sottovoce_service_requests WHERE study = ? AND client = ? AND request = ?"
_KEEP = (
    "INSERT INTO sottovoce_service_requests (study, client, request, asks, answer, at)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (study, client, request) DO NOTHING RETURNING at"
)


class Request(NamedTuple):
    """An ask that may be repeated: of whom, by which key; and what it asks for, which has to be the same again.

    `salt` follows from the key, and is not kept: whoever does not have the key cannot tell whom it was for.
    """

    study: str
    client: str
    digest: bytes
    asks: str
    salt: bytes

    @classmethod
    def of(cls, study: str, client: str, key: str, asks: str) -> "Request":
        """Return the request of a client with an idempotency key; the key itself is not kept."""
        digest, salt = (hashlib.sha256(one + key.encode()).digest() for one in (b"", b"people "))
        return cls(study, client, digest, asks, salt)


class Known(NamedTuple):
    """What a request was answered before."""

    asks: str
    body: bytes


class Requests:
    """The record of them.

    Parameters
    ----------
    store
        Where it is kept.
    """

    def __init__(self, store: ServiceStore) -> None:
        self._store, self._pruned = store, 0.0

    def find(self, requests: Sequence[Request]) -> dict[Request, Known]:
        """Return the answers of those that were made before."""

        def find(run: Run) -> dict[Request, Known]:
            found: dict[Request, Known] = {}
            for one in requests:
                for asks, answer in run(_FIND, one.study, one.client, one.digest):
                    found[one] = Known(asks, zlib.decompress(answer))
            return found

        return self._store.transaction(find)

    def keep(self, answers: Sequence[tuple[Request, bytes]]) -> dict[Request, Known]:
        """Put answers on record; return those that another process has answered first, and how."""
        now = time.time()

        def keep(run: Run) -> list[Request]:
            beaten: list[Request] = []
            # In one order for all: workers that answer the same requests would else wait for each other in a circle.
            for one, body in sorted(answers):
                if not run(_KEEP, one.study, one.client, one.digest, one.asks, zlib.compress(body, 1), now):
                    beaten.append(one)
            if now - self._pruned > _PRUNE_SECONDS:
                run("DELETE FROM sottovoce_service_requests WHERE at < ?", now - KEPT_SECONDS)
                self._pruned = now
            return beaten

        beaten = self._store.transaction(keep)
        return self.find(beaten) if beaten else {}
