"""The keys of a service: made, listed, revoked, and checked against what is stored at that moment."""

import hmac
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sottovoce._checks import number
from sottovoce.errors import StorageError
from sottovoce.rounds.stored import book_name
from sottovoce.rounds.stores.sql.database import Row
from sottovoce.service.fresh_reads import FreshReads
from sottovoce.service.keys.key import ROLES, Key, id_and_secret, new_text, secret_hash
from sottovoce.service.store import Run, ServiceStore

_COLUMNS = "id, hash, roles, study, created, expires, revoked, note, rate"
_ALL = f"SELECT {_COLUMNS} FROM sottovoce_service_keys ORDER BY created, id"
_LIVING = f"SELECT {_COLUMNS} FROM sottovoce_service_keys WHERE revoked IS NULL"
_ONE = f"SELECT {_COLUMNS} FROM sottovoce_service_keys WHERE id = ?"
_INSERT = f"INSERT INTO sottovoce_service_keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_REVOKE = "UPDATE sottovoce_service_keys SET revoked = ? WHERE id = ? AND revoked IS NULL"
_REVISION = "SELECT number FROM sottovoce_service_revision"
_RAISE = "UPDATE sottovoce_service_revision SET number = number + ?"
_LONGEST_NOTE = 200


class _Kept(NamedTuple):
    """What is stored of a key."""

    key: Key
    hash: bytes


class _Held(NamedTuple):
    """Keys that are neither revoked nor forgotten, by their public parts, and the number of what was read."""

    keys: Mapping[str, _Kept]
    revision: int


_NOBODY = _Kept(Key("", frozenset(), revoked=0.0), bytes(32))  # what a key is compared with that nobody has


class KeyStore:
    """Keys and who holds them; safe for threads.

    A key that was revoked is refused from the moment on at which `revoke` returns, by every worker on every machine:
    each check rests on a read of the storage that began after the check was asked for. Checks that are asked for
    together share a read.

    Parameters
    ----------
    store
        Where they are.
    clock
        Tells the time, in seconds since 1970.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ring = KeyStore(ServiceStore(f"sqlite:///{folder}/spring.db"))
    ...     key, text = ring.create(["ask", "tell"], "spring")
    ...     found = asyncio.run(ring.check(text))
    ...     _ = ring.revoke(key.id)
    ...     found == key, asyncio.run(ring.check(text))
    ...     ring.close()
    (True, None)
    """

    def __init__(self, store: ServiceStore, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._held = _Held({}, -1)
        self._fresh = FreshReads(self._read)

    # -- making and revoking -------------------------------------------------------------------------------------

    def create(
        self,
        roles: Iterable[str],
        study: str | None = None,
        expires: float | None = None,
        note: str = "",
        rate: float | None = None,
    ) -> tuple[Key, str]:
        """Make a key; return it with its text, which is stored nowhere and cannot be had again.

        Parameters
        ----------
        roles
            Of "ask", "tell", "read", "admin".
        study
            The one that it is for; None for all.
        expires
            Seconds from now; None for never.
        note
            What it is for.
        rate
            Requests a second that it may make; None for the service's own limit.
        """
        wanted = _checked_roles(roles)
        if study is not None:
            book_name(study)
        now = self._clock()
        end = None if expires is None else now + number("expires", expires, above=0)
        rate = None if rate is None else number("rate", rate, above=0)
        text = new_text()
        public, secret = id_and_secret(text)
        key = Key(public, wanted, study, now, end, None, _checked_note(note), rate)
        row = (key.id, secret_hash(secret), ",".join(sorted(wanted)), study, now, end, None, key.note, rate)

        def insert(run: Run) -> None:
            run(_INSERT, *row)
            _raise_revision(run)

        self._store.transaction(insert)
        return key, text

    def list(self) -> list[Key]:
        """Return all keys, oldest first, those that are expired or revoked as well."""
        return [_kept(row).key for row in self._store.read(_ALL)]

    def revoke(self, id: str) -> Key:
        """Refuse a key from now on; return it as it is then.

        Parameters
        ----------
        id
            The public part of the key, as `list` shows it.
        """

        def revoke(run: Run) -> list[Row]:
            run(_REVOKE, self._clock(), id)
            found = run(_ONE, id)
            if found:
                _raise_revision(run)
            return found

        found = self._store.transaction(revoke)
        if not found:
            raise ValueError(
                "id is not that of a key: `sottovoce serve key list` shows them (the whole key is not an id)"
            )
        return _kept(found[0]).key

    # -- checking ------------------------------------------------------------------------------------------------

    async def check(self, text: str | None) -> Key | None:
        """Return the key that a text is; None if it is wrong, missing, malformed, expired or revoked: all are alike.

        Parameters
        ----------
        text
            As whoever calls has sent it.
        """
        return self._found(await self._fresh(), text)

    def known(self, text: str | None) -> tuple[Key | None, int]:
        """Return what `check` would, if no key has changed since keys were last read; and their revision then.

        Whoever relies on it sees to it that `revision` still is the same afterwards.

        Parameters
        ----------
        text
            As whoever calls has sent it.
        """
        held = self._held
        return self._found(held, text), held.revision

    def revision(self) -> int:
        """Return the number of the keys as they are stored now: another one, if any of them has changed."""
        found = self._twice(lambda: self._store.read(_REVISION))
        if not found:
            raise StorageError(f"{self._store.name} has lost the revision of its keys: restore a backup")
        number: int = found[0][0]
        return number

    def _found(self, held: _Held, text: str | None) -> Key | None:
        public, secret = id_and_secret(text or "")
        kept = held.keys.get(public, _NOBODY)
        same = hmac.compare_digest(secret_hash(secret), kept.hash)
        return kept.key if kept.key.lives(self._clock()) and same else None

    def _read(self) -> _Held:
        """Return the keys as they are stored now."""
        revision = self.revision()
        if revision != self._held.revision:
            # Read after the number: what changed in between is read again, since the number is another one then.
            living = self._twice(lambda: self._store.read(_LIVING))
            self._held = _Held({kept.key.id: kept for kept in map(_kept, living)}, revision)
        return self._held

    @staticmethod
    def _twice(read: Callable[[], Sequence[Row]]) -> Sequence[Row]:
        """Read once more if the connection was lost: the next one is fresh."""
        try:
            return read()
        except StorageError:
            return read()

    def close(self) -> None:
        """Let the thread that reads end, and close the store."""
        self._fresh.close()
        self._store.close()


def _raise_revision(run: Run) -> None:
    """Say that keys have changed: by a random step, so that a backup that goes on otherwise is not taken for it."""
    run(_RAISE, 1 + secrets.randbelow(1 << 20))


def _kept(row: Row) -> _Kept:
    public, hashed, roles, study, created, expires, revoked, note, rate = row
    key = Key(public, frozenset(roles.split(",")), study, created, expires, revoked, note, rate)
    return _Kept(key, bytes(hashed))


def _checked_roles(roles: Iterable[str]) -> frozenset[str]:
    wanted = frozenset([roles] if isinstance(roles, str) else roles)
    if not wanted or not wanted <= set(ROLES):
        unknown = ", ".join(sorted(map(repr, wanted - set(ROLES)))) or "none"
        raise ValueError(f"roles must be some of {', '.join(ROLES)}, got {unknown}")
    return wanted


def _checked_note(note: str) -> str:
    if len(note) > _LONGEST_NOTE or any(unicodedata.category(letter)[0] == "C" for letter in note):
        raise ValueError(f"note must be at most {_LONGEST_NOTE} letters without control characters or line breaks")
    return note
