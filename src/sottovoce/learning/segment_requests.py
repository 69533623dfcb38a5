"""Whom a call is for: one segment, or one for each event of a block; and how JSON and people write it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.models import Segment, Segments


def are_several(segment: Any) -> bool:
    """Whether segments are given one by one: as a list or an array.

    Examples
    --------
    >>> are_several("phone"), are_several(("phone", "it")), are_several(["phone", "desktop"])
    (False, False, True)
    """
    return isinstance(segment, list) or (hasattr(segment, "__array__") and np.ndim(segment) > 0)


def several(segment: Any) -> Sequence[Any]:
    """Return segments that were given as a list or an array."""
    return segment.tolist() if hasattr(segment, "tolist") else list(segment)


def segments_of_block(key: Callable[[Any], Segment], size: int, segment: Any) -> tuple[list[Segment], Integers]:
    """Return the segments of a block, in the order of their first events, and which one each event has."""
    given = several(segment)
    if len(given) != size:
        raise ValueError(f"segment must be one, or one for each of the size={size} actions, got {len(given)}")
    if not given:
        raise ValueError("segment must name at least one: it is an empty list")
    places: dict[Segment, int] = {}
    index = np.array([places.setdefault(key(one), len(places)) for one in given], dtype=np.int64)
    return list(places), index


def plain_request(segment: Any) -> dict[str, Any]:
    """Return whom a call is for as JSON can hold it: one `segment`, or `segments`, one for each event.

    Examples
    --------
    >>> plain_request(("phone", "it")), plain_request(["phone", "desktop"]), plain_request(None)
    ({'segment': ['phone', 'it']}, {'segments': ['phone', 'desktop']}, {})
    """
    if segment is None:
        return {}
    if are_several(segment):
        return {"segments": [_plain(one) for one in several(segment)]}
    return {"segment": _plain(segment)}


def _plain(segment: Any) -> Any:
    if isinstance(segment, Mapping):
        return {str(name): _plain(level) for name, level in segment.items()}
    if isinstance(segment, tuple | list):
        return [_plain(level) for level in segment]
    return segment.item() if isinstance(segment, np.generic) else segment


def segment_in_words(segments: Segments, words: str, known: Iterable[Segment] = ()) -> Segment:
    """Return the segment that somebody has typed: its name, or levels of its factors; refuse one that is none.

    Parameters
    ----------
    segments
        Those that there are.
    words
        Such as "phone", "phone,it" or "device=phone,country=it".
    known
        Those that were opened on first use.

    Examples
    --------
    >>> both = Segments(factors={"device": ["phone", "desktop"], "hour": [8, 20]})
    >>> segment_in_words(both, "hour=20,device=phone"), segment_in_words(both, "phone,20")
    (('phone', 20), ('phone', 20))
    >>> segment_in_words(Segments([1, 2, 3]), "2")
    2
    """
    if not segments.factors:
        return segments.key(next((one for one in (*segments.names, *known) if str(one) == words), words))
    pieces = [piece.strip() for piece in words.split(",")]
    if all("=" in piece for piece in pieces):
        given = dict(piece.split("=", 1) for piece in pieces)
        levels = {name: _level(segments.factors.get(name, ()), text) for name, text in given.items()}
        return segments.key(levels)
    if len(pieces) != len(segments.factors):
        return segments.key(words)
    return segments.key(tuple(map(_level, segments.factors.values(), pieces)))


def words_of(segment: Any) -> str:
    """Return what `segment_in_words` takes for a segment.

    Examples
    --------
    >>> words_of(7), words_of(("phone", 20)), words_of({"hour": 20, "device": "phone"})
    ('7', 'phone,20', 'hour=20,device=phone')
    """
    if isinstance(segment, Mapping):
        return ",".join(f"{name}={level}" for name, level in segment.items())
    return ",".join(map(str, segment)) if isinstance(segment, tuple | list) else str(segment)


def _level(levels: Iterable[str | int], text: str) -> str | int:
    return next((one for one in levels if str(one) == text), text)
