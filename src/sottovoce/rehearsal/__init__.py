"""Rehearsals: plans are played in generic worlds, and say what to expect of them before anything is run."""

from sottovoce.rehearsal.budgets import Prices, prices_of
from sottovoce.rehearsal.planning import hints_of, plan
from sottovoce.rehearsal.rehearsing import Hints, NotRehearsed, Rehearsal, rehearse

__all__ = ["Hints", "NotRehearsed", "Prices", "Rehearsal", "hints_of", "plan", "prices_of", "rehearse"]
