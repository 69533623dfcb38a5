"""Ids that carry where they belong: generation, round, slot, and a tag that only this study's key can make."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sottovoce.errors import UNRECORDED, UnknownAction
from sottovoce.learning.bandit.open_rounds import refuse_actions

__all__ = ["Place", "places_of", "sign"]

_TAG = 6  # bytes: a guess succeeds once in 2^48
_LOOKS = re.compile(r"([0-9a-f]{1,16}\.){3}[0-9a-f]{12}")
_NOT_AN_ID = "the id is not one of this study's"


class Place(NamedTuple):
    """Where an id belongs."""

    generation: int
    round: int
    slot: int


def sign(key: bytes, generation: int, round_number: int, slots: Iterable[int]) -> list[str]:
    """Return the ids of slots of a round.

    Examples
    --------
    >>> sign(b"key", 1, 7, [0, 255])
    ['1.7.0.33904cad1ff4', '1.7.ff.a2bb4d582338']
    """
    start = f"{generation:x}.{round_number:x}."
    bodies = [f"{start}{slot:x}" for slot in slots]
    return [f"{body}.{_tag(key, body)}" for body in bodies]


def places_of(key: bytes, ids: Any) -> list[Place]:
    """Return where ids belong; refuse any that this study did not sign."""
    refuse_actions(ids)
    given = [str(ids)] if isinstance(ids, str) else np.asarray(ids).ravel().tolist()
    return [_place(key, one) for one in given]


def _place(key: bytes, one: Any) -> Place:
    if type(one) is str:
        body, _, tag = one.rpartition(".")
        parts = body.split(".")
        if len(parts) == 3 and tag == _tag(key, body):  # signed, so the parts are numbers
            return Place(int(parts[0], 16), int(parts[1], 16), int(parts[2], 16))
    raise UnknownAction(_refusal(one), UNRECORDED)


def _tag(key: bytes, body: str) -> str:
    return hashlib.blake2b(body.encode(errors="surrogatepass"), key=key, digest_size=_TAG).hexdigest()


def _refusal(one: Any) -> str:
    """Show what looks like an id; whatever else was passed by mistake (a loss?) is not shown."""
    if not isinstance(one, str):
        return f"id of type {type(one).__name__} was not handed out by this study"
    return f"id {one!r} was not handed out by this study" if _LOOKS.fullmatch(one) else _NOT_AN_ID
