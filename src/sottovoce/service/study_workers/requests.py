"""Requests that may be repeated: what one was answered under its idempotency key, on record before it is sent."""

import hashlib
import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from sottovoce.service.store import Run, ServiceStore
from sottovoce.service.together import Together

KEPT_SECONDS = 24 * 3600.0
_PRUNE_SECONDS = 600.0
_FIND = "SELECT asks, answer FROM sottovoce_service_requests WHERE study = ? AND client = ? AND request = ?"
_KEEP = (
    "INSERT INTO sottovoce_service_requests (study, client, request, asks, answer, at)"
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (study, client, request) DO NOTHING RETURNING at"
)


class Request(NamedTuple):
    """A request that may be repeated: of whom, by the hash of which key; what it asks for has to be the same again."""

    study: str
    client: str
    digest: bytes
    asks: str

    @classmethod
    def of(cls, study: str, client: str, key: str, asks: str, people: str | None = None) -> "Request":
        """Return the request of a client with an idempotency key; the key itself is not kept.

        Its answer holds ids. `people`, whom they are for, are hashed together with the key: whoever does not have it
        cannot tell who they were.
        """
        digest, salt = (hashlib.sha256(one + key.encode()).digest() for one in (b"", b"people "))
        if people is not None:
            asks = f"{asks} of {hashlib.sha256(salt + people.encode()).hexdigest()}"
        return cls(study, client, digest, asks)


class Known(NamedTuple):
    """What a request was answered before."""

    asks: str
    body: bytes


class Requests:
    """The record of them; `find` and `keep` are for whoever has one of many, and is to wait for it.

    Parameters
    ----------
    store
        Where it is kept.
    """

    def __init__(self, store: ServiceStore) -> None:
        self._store, self._pruned = store, 0.0
        self.find = Together[Request](lambda asked, deliver: deliver(self.find_each(asked)), "requests")
        self.keep = Together[tuple[Request, bytes]](
            lambda made, deliver: deliver(self.keep_each(made)), "their answers"
        )

    def find_each(self, requests: Sequence[Request]) -> list[Known | None]:
        """Return how each was answered before; None for one that was not."""

        def find(run: Run) -> list[Known | None]:
            rows = [run(_FIND, one.study, one.client, one.digest) for one in requests]
            return [Known(found[0][0], zlib.decompress(found[0][1])) if found else None for found in rows]

        return self._store.transaction(find)

    def keep_each(self, answers: Sequence[tuple[Request, bytes]]) -> list[Known | None]:
        """Put answers on record; return how a request was answered before, in place of None, if somebody was faster."""
        now = time.time()
        # In one order for all: workers that answer the same requests would else wait for each other in a circle.
        order = sorted(range(len(answers)), key=answers.__getitem__)

        def keep(run: Run) -> list[int]:
            beaten = []
            for place in order:
                one, body = answers[place]
                if not run(_KEEP, one.study, one.client, one.digest, one.asks, zlib.compress(body, 1), now):
                    beaten.append(place)
            if now - self._pruned > _PRUNE_SECONDS:
                run("DELETE FROM sottovoce_service_requests WHERE at < ?", now - KEPT_SECONDS)
                self._pruned = now
            return beaten

        beaten = self._store.transaction(keep)
        earlier = dict(zip(beaten, self.find_each([answers[place][0] for place in beaten]), strict=True))
        return [earlier.get(place) for place in range(len(answers))]

    def close(self) -> None:
        """Let the threads end."""
        self.find.close()
        self.keep.close()
