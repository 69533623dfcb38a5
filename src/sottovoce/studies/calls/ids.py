"""Ids that carry where they belong: generation, round, slot, and a tag that only this study's key can make."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sottovoce.errors import UNRECORDED, UnknownAction
from sottovoce.learning.bandit.open_rounds import refuse_actions

__all__ = ["Place", "places_in_lanes", "places_of", "sign"]

_TAG = 6  # bytes: a guess succeeds once in 2^48
_LOOKS = re.compile(r"([0-9a-f]{1,16}\.){3,4}[0-9a-f]{12}")
_NOT_AN_ID = "the id is not one of this study's"


class Place(NamedTuple):
    """Where an id belongs."""

    generation: int
    round: int
    slot: int


def sign(key: bytes, generation: int, round_number: int, slots: Iterable[int], lane: int | None = None) -> list[str]:
    """Return the ids of slots of a round; of a study with segments they begin with the number of the segment.

    Examples
    --------
    >>> sign(b"key", 1, 7, [0, 255])
    ['1.7.0.33904cad1ff4', '1.7.ff.a2bb4d582338']
    """
    start = f"{'' if lane is None else f'{lane:x}.'}{generation:x}.{round_number:x}."
    bodies = [f"{start}{slot:x}" for slot in slots]
    return [f"{body}.{_tag(key, body)}" for body in bodies]


def places_of(key: bytes, ids: Any) -> list[Place]:
    """Return where ids belong; refuse any that this study did not sign."""
    return [Place(*_numbers(key, one, 3)) for one in _given(ids)]


def places_in_lanes(key: bytes, ids: Any) -> list[tuple[int, Place]]:
    """Return which segment ids are of, and where they belong; refuse any that this study did not sign.

    Examples
    --------
    >>> places_in_lanes(b"key", sign(b"key", 1, 7, [255], lane=2))
    [(2, Place(generation=1, round=7, slot=255))]
    """
    found = (_numbers(key, one, 4) for one in _given(ids))
    return [(lane, Place(*where)) for lane, *where in found]


def _given(ids: Any) -> list[Any]:
    refuse_actions(ids)
    return [str(ids)] if isinstance(ids, str) else list(np.asarray(ids).ravel().tolist())


def _numbers(key: bytes, one: Any, count: int) -> list[int]:
    if type(one) is str:
        body, _, tag = one.rpartition(".")
        parts = body.split(".")
        if len(parts) == count and tag == _tag(key, body):  # signed, so the parts are numbers
            return [int(part, 16) for part in parts]
    raise UnknownAction(_refusal(one), UNRECORDED)


def _tag(key: bytes, body: str) -> str:
    return hashlib.blake2b(body.encode(errors="surrogatepass"), key=key, digest_size=_TAG).hexdigest()


def _refusal(one: Any) -> str:
    """Show what looks like an id; whatever else was passed by mistake (a loss?) is not shown."""
    if not isinstance(one, str):
        return f"id of type {type(one).__name__} was not handed out by this study"
    return f"id {one!r} was not handed out by this study" if _LOOKS.fullmatch(one) else _NOT_AN_ID
