"""Rehearsals: plans are played in generic worlds, and say what to expect of them before anything is run."""

from sottovoce.rehearsal.budgets import Prices, prices_of
from sottovoce.rehearsal.planning import hints_of, plan
from sottovoce.rehearsal.rehearsing import Hints, NotRehearsed, Rehearsal, rehearse, rehearsed
from sottovoce.rehearsal.running import forecast_under_way

__all__ = [
    "Hints",
    "NotRehearsed",
    "Prices",
    "Rehearsal",
    "forecast_under_way",
    "hints_of",
    "plan",
    "prices_of",
    "rehearse",
    "rehearsed",
]
