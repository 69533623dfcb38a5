"""Keys: who may do what, and for how long; made, listed, revoked, and checked against what is stored at that moment."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce._checks import number
from sottovoce.rounds.stored import book_name
from sottovoce.rounds.stores.sql.database import Row
from sottovoce.service.store import Run, ServiceStore, twice
from sottovoce.service.together import Together

ROLES = ("ask", "tell", "read", "admin")
"""What a key may be for; `admin` includes the others."""

_MARK = "sv_"  # by which scanners of repositories know a key that was committed by mistake
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_LETTERS = frozenset(_ALPHABET)
_ID = 12
_SECRET = 43  # of 32 bytes in letters that need no escape
_BEGIN = len(_MARK) + _ID + 1
_LENGTH = _BEGIN + _SECRET
_LONGEST_NOTE = 200
_COLUMNS = "id, hash, roles, study, created, expires, revoked, note"
_ALL = f"SELECT {_COLUMNS} FROM sottovoce_service_keys"
_ONE = f"{_ALL} WHERE id = ?"
_FRESH = 0.1  # seconds for which a worker trusts what it has read of a key; revoking one takes twice as long
_AWAKE = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while a machine sleeps, where there is one
_MANY = 10_000  # keys of which something is remembered


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key; its secret is not.

    Attributes
    ----------
    id
        Public: it is in lists and logs.
    roles
        What it is for.
    study
        The one that it is for; None for all.
    created, expires, revoked
        Seconds since 1970; None for never.
    note
        What it was made for, in somebody's words.
    """

    id: str
    roles: frozenset[str]
    study: str | None = None
    created: float = 0.0
    expires: float | None = None
    revoked: float | None = None
    note: str = ""

    def has(self, role: str) -> bool:
        """Say whether it has a `role`, for whichever study."""
        return role in self.roles or "admin" in self.roles

    def may(self, role: str, study: str | None = None) -> bool:
        """Say whether it has a role for a study; without one, for all that there are and will be.

        Parameters
        ----------
        role
            Of `ROLES`.
        study
            The name of a study.

        Examples
        --------
        >>> key = Key("k", frozenset({"ask"}), "spring")
        >>> key.may("ask", "spring"), key.may("tell", "spring"), key.may("ask", "autumn"), key.may("ask")
        (True, False, False, False)
        """
        return self.has(role) and self.study in (None, study)

    def lives(self, now: float) -> bool:
        """Say whether it is neither expired nor revoked; `now` is in seconds since 1970."""
        return self.revoked is None and (self.expires is None or now < self.expires)


_NOBODY = Key("", frozenset(), revoked=0.0), bytes(32)  # what a key is compared with that nobody has


def new_text() -> str:
    """Return the text of a new key, which nobody can guess.

    Examples
    --------
    >>> len(new_text())
    59
    """
    public = "".join(secrets.choice(_ALPHABET) for _ in range(_ID))
    return f"{_MARK}{public}_{secrets.token_urlsafe(32)}"


def id_and_secret(text: str) -> tuple[str, str]:
    """Return the two parts of a key; what is not written like one has an id that no key has."""
    public = text[len(_MARK) : _BEGIN - 1]
    if len(text) == _LENGTH and text.startswith(_MARK) and text[_BEGIN - 1] == "_" and _LETTERS.issuperset(public):
        return public, text[_BEGIN:]
    return "", text[:_SECRET]


def secret_hash(secret: str) -> bytes:
    """Return what is stored of a secret.

    Slow hashes are for what people think up. A secret here is 32 random bytes: whoever has stolen the hash would need
    2^255 attempts, at whatever speed.
    """
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class KeyStore:
    """Keys and who holds them; safe for threads.

    A key that was revoked is refused from the moment on at which `revoke` returns, by every worker on every machine: a
    key that is good is read again once `_FRESH` seconds have passed since its last read began, and `revoke` waits for
    longer than that. Whatever is refused rests on a read that began after it was asked for, so a new key is good at
    once. Checks that are asked for together share a read.

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
        self._reads = Together[str](self._read, "keys")
        self._good: dict[tuple[str, bytes], tuple[float, Key]] = {}  # when they were read, by id and hash

    def create(
        self, roles: Iterable[str], study: str | None = None, expires: float | None = None, note: str = ""
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
        """
        wanted = _checked_roles(roles)
        if study is not None:
            book_name(study)
        now = self._clock()
        end = None if expires is None else now + number("expires", expires, above=0)
        text = new_text()
        public, secret = id_and_secret(text)
        key = Key(public, wanted, study, now, end, None, _checked_note(note))
        row = (key.id, secret_hash(secret), ",".join(sorted(wanted)), study, now, end, None, key.note)
        insert = f"INSERT INTO sottovoce_service_keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._store.transaction(lambda run: run(insert, *row))
        return key, text

    def list(self) -> list[Key]:
        """Return all keys, oldest first, those that are expired or revoked as well."""
        return [_kept(row)[0] for row in self._store.read(f"{_ALL} ORDER BY created, id")]

    def revoke(self, id: str) -> Key:
        """Refuse a key; return it as it is then, once no worker trusts any more what it has read of it before.

        Parameters
        ----------
        id
            The public part of the key, as `list` shows it.
        """

        def revoke(run: Run) -> list[Row]:
            end = "UPDATE sottovoce_service_keys SET revoked = ? WHERE id = ? AND revoked IS NULL"
            run(end, self._clock(), id)
            return run(_ONE, id)

        found = self._store.transaction(revoke)
        if not found:
            raise ValueError(
                "id is not that of a key: `sottovoce serve key list` shows them (the whole key is not an id)"
            )
        time.sleep(2 * _FRESH)  # clocks need not go alike
        return _kept(found[0])[0]

    async def check(self, text: str | None) -> Key | None:
        """Return the key that a text is; None if it is wrong, missing, malformed, expired or revoked: all are alike.

        Parameters
        ----------
        text
            As whoever calls has sent it.
        """
        public, secret = id_and_secret(text or "")
        hashed, began = secret_hash(secret), time.clock_gettime(_AWAKE)
        read, key = self._good.get((public, hashed), (began - _FRESH, _NOBODY[0]))
        if began - read < _FRESH and key.lives(self._clock()):
            return key
        row = await self._reads(public)
        key, kept = _NOBODY if row is None else _kept(row)
        if not hmac.compare_digest(hashed, kept) or not key.lives(self._clock()):
            return None
        if len(self._good) > _MANY:
            self._good.clear()
        self._good[public, hashed] = began, key
        return key

    def _read(self, ids: Sequence[str], deliver: Callable[[Any], None]) -> None:
        def rows() -> dict[str, Row | None]:
            return {one: next(iter(self._store.read(_ONE, one)), None) for one in set(ids)}

        found = twice(rows)
        deliver([found[one] for one in ids])

    def close(self) -> None:
        """Let the thread that reads end, and close the store."""
        self._reads.close()
        self._store.close()


def _kept(row: Row) -> tuple[Key, bytes]:
    """Return a key, and the hash of its secret."""
    public, hashed, roles, study, created, expires, revoked, note = row
    return Key(public, frozenset(roles.split(",")), study, created, expires, revoked, note), bytes(hashed)


def _checked_roles(roles: Iterable[str]) -> frozenset[str]:
    wanted = frozenset([roles] if isinstance(roles, str) else roles)
    if not wanted or not wanted <= set(ROLES):
        unknown = ", ".join(sorted(map(repr, wanted - set(ROLES)))) or "none"
        raise ValueError(f"roles must be some of {', '.join(ROLES)}, got {unknown}")
    return wanted


def _checked_note(note: str) -> str:
    if len(note) > _LONGEST_NOTE or not note.isprintable():
        raise ValueError(f"note must be at most {_LONGEST_NOTE} letters without control characters or line breaks")
    return note
