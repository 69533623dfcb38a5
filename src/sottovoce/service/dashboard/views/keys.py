"""Keys, for whoever may see them: what they may do and until when, never a secret."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from sottovoce.service.keys import Key

__all__ = ["KeyRow", "key_rows"]


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key in the list; `living` ones can be revoked."""

    id: str
    roles: str
    study: str
    expires: str
    note: str
    state: str
    living: bool


def key_rows(keys: Iterable[Key], now: float, study: str | None = None) -> tuple[KeyRow, ...]:
    """Return the keys, those that live first; of a study, those that reach it."""
    rows = [_row(one, now) for one in keys if study is None or one.study in (None, study)]
    return tuple(sorted(rows, key=lambda one: not one.living))


def _row(key: Key, now: float) -> KeyRow:
    living = key.lives(now)
    ended = "expired" if key.revoked is None else f"revoked {_day(key.revoked)}"
    return KeyRow(
        id=key.id,
        roles=", ".join(sorted(key.roles)),
        study="all studies" if key.study is None else key.study,
        expires="never" if key.expires is None else _day(key.expires),
        note=key.note,
        state="living" if living else ended,
        living=living,
    )


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"
