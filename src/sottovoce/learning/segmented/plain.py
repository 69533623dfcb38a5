"""Segments as JSON can hold them."""

from typing import Any

from sottovoce.models import Segment

__all__ = ["plain_segment", "segment_of"]


def plain_segment(segment: Segment) -> Any:
    """Return a segment as JSON can hold it."""
    return list(segment) if isinstance(segment, tuple) else segment


def segment_of(plain: Any) -> Segment:
    """Return the segment that `plain_segment` wrote down."""
    return tuple(plain) if isinstance(plain, list) else plain
