"""Decisions for several segments that learn from each other."""

from sottovoce.learning.segmented.bandit import SegmentedBandit

__all__ = ["SegmentedBandit"]
