"""Tests of A against B, C, ...: differences of released means, how many events they need, and looking early."""

from sottovoce.comparisons.comparing import compare_arms
from sottovoce.comparisons.comparison import ArmMean, Comparison, Difference, Look
from sottovoce.comparisons.planning import EventsNeeded, events_needed

__all__ = ["ArmMean", "Comparison", "Difference", "EventsNeeded", "Look", "compare_arms", "events_needed"]
