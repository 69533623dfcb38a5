"""Rehearsals: plans are played in generic worlds, and say what to expect of them before anything is run."""

from sottovoce.rehearsal.planning import forecast_under_way, plan
from sottovoce.rehearsal.rehearsing import NotRehearsed, Rehearsal, rehearsed

__all__ = ["NotRehearsed", "Rehearsal", "forecast_under_way", "plan", "rehearsed"]
