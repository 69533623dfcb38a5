"""Keys: what they are made of, what they may do, and for how long."""

import hashlib
import secrets
from dataclasses import dataclass

ROLES = ("ask", "tell", "read", "admin")
"""What a key may be for; `admin` includes the others."""

_MARK = "sv_"  # by which scanners of repositories know a key that was committed by mistake
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_ID = 12
_SECRET = 43  # of 32 bytes in letters that need no escape
_BEGIN = len(_MARK) + _ID + 1
_LENGTH = _BEGIN + _SECRET


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
    rate
        Requests a second; None for the service's own limit.
    """

    id: str
    roles: frozenset[str]
    study: str | None = None
    created: float = 0.0
    expires: float | None = None
    revoked: float | None = None
    note: str = ""
    rate: float | None = None

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
        return (role in self.roles or "admin" in self.roles) and (self.study is None or self.study == study)

    def lives(self, now: float) -> bool:
        """Say whether it is neither expired nor revoked; `now` is in seconds since 1970."""
        return self.revoked is None and (self.expires is None or now < self.expires)


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
    if len(text) == _LENGTH and text.startswith(_MARK) and text[_BEGIN - 1] == "_":
        return text[len(_MARK) : _BEGIN - 1], text[_BEGIN:]
    return "", text[:_SECRET]


def secret_hash(secret: str) -> bytes:
    """Return what is stored of a secret.

    Slow hashes are for what people think up. A secret here is 32 random bytes: whoever has stolen the hash would need
    2^255 attempts, at whatever speed.
    """
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
