"""Local privacy: a loss is randomised by its owner, and only the report leaves the owner's hands."""

from sottovoce.privacy.local.one_bit import OneBitChannel
from sottovoce.privacy.local.reports import privatise, simulate_reports

__all__ = ["OneBitChannel", "privatise", "simulate_reports"]
