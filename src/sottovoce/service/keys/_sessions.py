"""Logins of the dashboard: a cookie stands for a key, and is stored as a hash."""

import secrets

from sottovoce.service.keys.key import Key, secret_hash
from sottovoce.service.store import Run, ServiceStore

__all__ = ["close_session", "end_sessions", "open_session", "session_owner"]

SECONDS = 12 * 3600.0
_OPEN_AT_ONCE = 100  # of one key: who has it could fill the storage otherwise

_INSERT = "INSERT INTO sottovoce_service_sessions (hash, key, expires) VALUES (?, ?, ?)"
_OVER = "DELETE FROM sottovoce_service_sessions WHERE expires <= ?"
_TOO_MANY = (
    "DELETE FROM sottovoce_service_sessions WHERE hash IN "
    "(SELECT hash FROM sottovoce_service_sessions WHERE key = ? ORDER BY expires DESC, hash LIMIT 1000 OFFSET ?)"
)
_FIND = "SELECT key, expires FROM sottovoce_service_sessions WHERE hash = ?"
_CLOSE = "DELETE FROM sottovoce_service_sessions WHERE hash = ?"
_OF_KEY = "DELETE FROM sottovoce_service_sessions WHERE key = ?"


def open_session(store: ServiceStore, key: Key, now: float) -> str:
    """Return a new cookie for a key; those that are over go, and the oldest of too many."""
    cookie = secrets.token_urlsafe(32)
    end = now + SECONDS if key.expires is None else min(now + SECONDS, key.expires)

    def insert(run: Run) -> None:
        run(_OVER, now)
        run(_INSERT, secret_hash(cookie), key.id, end)
        run(_TOO_MANY, key.id, _OPEN_AT_ONCE)

    store.transaction(insert)
    return cookie


def session_owner(store: ServiceStore, cookie: str, now: float) -> str | None:
    """Return the id of the key that a cookie stands for."""
    found = store.read(_FIND, secret_hash(cookie))
    return str(found[0][0]) if found and now < found[0][1] else None


def close_session(store: ServiceStore, cookie: str) -> None:
    """Forget a cookie."""
    store.transaction(lambda run: run(_CLOSE, secret_hash(cookie)))


def end_sessions(run: Run, key: str) -> None:
    """Forget all cookies of a key, within a transaction."""
    run(_OF_KEY, key)
