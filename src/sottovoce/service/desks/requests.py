"""Requests that may be repeated: what an ask was answered under its idempotency key, on record before it is sent."""

import hashlib
import time
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from sottovoce.service.store import ServiceStore

__all__ = ["KEPT_SECONDS", "Known", "Request", "Requests"]

KEPT_SECONDS = 24 * 3600.0
_PRUNE_SECONDS = 600.0


class Request(NamedTuple):
    """An ask that may be repeated: of whom, by which key; and what it asks for, which has to be the same again."""

    study: str
    client: str
    digest: bytes
    asks: str

    @classmethod
    def of(cls, study: str, client: str, key: str, asks: str) -> "Request":
        """Return the request of a client with an idempotency key; the key itself is not kept."""
        return cls(study, client, hashlib.sha256(key.encode()).digest(), asks)


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
        statement = self._store.sql(
            "SELECT asks, answer FROM sottovoce_service_requests WHERE study = ? AND client = ? AND request = ?"
        )

        def find(raw: Any) -> dict[Request, Known]:
            found: dict[Request, Known] = {}
            for one in requests:
                row = raw.execute(statement, (one.study, one.client, one.digest)).fetchone()
                if row is not None:
                    found[one] = Known(str(row[0]), zlib.decompress(bytes(row[1])))
            return found

        return self._store.transaction(find)

    def keep(self, answers: Sequence[tuple[Request, bytes]]) -> dict[Request, Known]:
        """Put answers on record; return those that another process has answered first, and how."""
        statement = self._store.sql(
            "INSERT INTO sottovoce_service_requests (study, client, request, asks, answer, at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (study, client, request) DO NOTHING"
        )
        now = time.time()

        def keep(raw: Any) -> list[Request]:
            beaten: list[Request] = []
            # In one order for all: workers that answer the same requests would else wait for each other in a circle.
            for one, body in sorted(answers):
                made = raw.execute(
                    statement, (one.study, one.client, one.digest, one.asks, zlib.compress(body, 1), now)
                )
                if not made.rowcount:
                    beaten.append(one)
            if now - self._pruned > _PRUNE_SECONDS:
                old = self._store.sql("DELETE FROM sottovoce_service_requests WHERE at < ?")
                raw.execute(old, (now - KEPT_SECONDS,))
                self._pruned = now
            return beaten

        beaten = self._store.transaction(keep)
        return self.find(beaten) if beaten else {}
