"""Decisions for several segments that learn from each other."""

from sottovoce.learning.segmented.recommendation import SegmentedRecommendation, SegmentGain

__all__ = ["SegmentGain", "SegmentedRecommendation"]
