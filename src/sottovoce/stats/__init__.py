"""Means, intervals and tests of A against B, C, ...: all that follows from what evaluations have released."""

from sottovoce.stats.ab_result import ABTestResult, ArmMean, Difference
from sottovoce.stats.ab_testing import ab_test
from sottovoce.stats.planning import EventsNeeded, events_needed
from sottovoce.stats.released_mean import ReleasedMean

__all__ = ["ABTestResult", "ArmMean", "Difference", "EventsNeeded", "ReleasedMean", "ab_test", "events_needed"]
