"""Whom a call is for: one segment, or one for each event of a block."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Integers
from sottovoce.exploration.posterior import Segment, Segments

__all__ = ["are_several", "missing_segment", "segments_of_block", "several"]


def missing_segment() -> TypeError:
    """Return what is wrong with a call that says nobody."""
    return TypeError("segment is missing: say whom the action is for, as in ask(segment=...)")


def are_several(segment: Any) -> bool:
    """Whether segments are given one by one: as a list, an array, or lists of levels by factor.

    Examples
    --------
    >>> are_several("phone"), are_several(("phone", "it")), are_several(["phone", "desktop"])
    (False, False, True)
    """
    if isinstance(segment, Mapping):
        return any(are_several(one) for one in segment.values())
    return isinstance(segment, list | np.ndarray) or (hasattr(segment, "__array__") and np.ndim(segment) > 0)


def several(segment: Any) -> Sequence[Any]:
    """Return segments that were given as a list, an array, or lists of levels by factor.

    Examples
    --------
    >>> several({"device": ["phone", "desktop"], "country": ["it", "de"]})
    [{'device': 'phone', 'country': 'it'}, {'device': 'desktop', 'country': 'de'}]
    """
    if not isinstance(segment, Mapping):
        return segment.tolist() if hasattr(segment, "tolist") else list(segment)
    columns = {name: list(one) for name, one in segment.items()}
    lengths = {len(one) for one in columns.values()}
    if len(lengths) > 1:
        raise ValueError(f"segment must have as many levels of each factor, got {sorted(lengths)}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def segments_of_block(segments: Segments, size: int | None, segment: Any) -> tuple[list[Segment], Integers]:
    """Return the segments of a block, in the order of their first events, and which one each event has."""
    if not are_several(segment):
        if segment is None:
            raise missing_segment()
        return [segments.key(segment)], np.zeros(1 if size is None else size, dtype=np.int64)
    given = several(segment)
    if size is not None and len(given) != size:
        raise ValueError(f"segment must be one, or one for each of the size={size} actions, got {len(given)}")
    if not given:
        raise ValueError("segment must name at least one: it is an empty list")
    places: dict[Segment, int] = {}
    index = np.array([places.setdefault(segments.key(one), len(places)) for one in given], dtype=np.int64)
    return list(places), index
