"""What a service answers, as the objects that a study would return."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import groupby
from operator import index
from typing import Any, TypeVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import unpack
from sottovoce.client import _types
from sottovoce.domains.naming import as_name, in_words
from sottovoce.errors import ServiceError
from sottovoce.learning.actions import Action, Actions, Piece
from sottovoce.learning.outstanding import Outstanding, waiting_round
from sottovoce.learning.recommendation import Recommendation, SegmentGain
from sottovoce.models import FitCheck, Posterior
from sottovoce.plans.decisions import Decisions, by_entries

Found = TypeVar("Found")


def read(what: str, reader: Callable[[Any], Found], plain: Any) -> Found:
    """Return what a reader makes of an answer; what it cannot read is no answer of a service of this version."""
    try:
        return reader(plain)
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        pass
    raise ServiceError(f"the service's answer is not {what}: is it a sottovoce service of this version?")


def action(plain: _types.Action) -> Action:
    """Return the action that an answer is."""
    return next(iter(actions({"actions": [plain]}, 1)))


def actions(plain: _types.Actions, size: int | None = None) -> Actions:
    """Return the block of actions that an answer is, so many if a size is given."""
    given: list[Any] = list(plain["actions"])
    if size not in (None, len(given)) or not all(isinstance(one["id"], str) for one in given):
        raise ValueError("there are not as many, or an id is no text")
    # Of a block within which the set has changed, decisions have as many coordinates as their own set.
    parts = [list(some) for _, some in groupby(given, lambda one: one["x"]["dimension"])]
    pieces = [Piece(_decisions([one["x"] for one in some]), [one["chosen"] for one in some]) for some in parts]
    ids, wants = (np.array([one[name] for one in given]) for name in ("id", "wants_loss"))
    return Actions(ids, pieces, wants.astype(bool))


def _decisions(numbers: Sequence[Any]) -> Decisions:
    """Return decisions that came by their numbers that are not 0; nothing of the size of all numbers is made."""
    dimension = index(numbers[0]["dimension"])
    columns = tuple(np.array(one["index"], dtype=np.int64) for one in numbers)
    entries = tuple(np.array(one["value"], dtype=np.float64) for one in numbers)
    for places, values in zip(columns, entries, strict=True):
        if places.ndim != 1 or places.shape != values.shape or not ((places >= 0) & (places < dimension)).all():
            raise ValueError("there are no such coordinates")
    return Decisions(by_entries(columns, entries, dimension), np.arange(len(numbers)))


def outstanding(plain: _types.Outstanding) -> Outstanding:
    """Return what is asked and not told, as an answer has it."""
    ids = np.array([str(one) for one in plain["ids"]], dtype=np.str_)
    rounds, ages = (np.array(one, dtype=np.int64) for one in (plain["rounds"], plain["ages"]))
    if not len(ids) == len(rounds) == len(ages):
        raise ValueError("they do not belong together")
    return Outstanding(ids, rounds, ages, tuple(map(waiting_round, plain["waiting"])))


def recommendation(plain: Any) -> Recommendation:
    """Return the recommendation that an answer is: of a study with segments, that of each is beside it."""
    found = {one.name: plain[one.name] for one in fields(Recommendation) if one.name in plain}
    shortfall, gain, segments, items = (plain.get(name) for name in ("shortfall", "gain", "segments", "items"))
    found |= {
        "x": _vector(plain["x"]),
        "fit_check": fit_check(plain),
        "items": items and {as_name(name): (float(loss), float(deviation)) for name, loss, deviation in items},
        "shortfall": shortfall and (float(shortfall[0]), float(shortfall[1])),
        "words": "" if plain.get("chosen") is None else in_words(plain["chosen"]),
        "gain": gain and SegmentGain(**gain),
    }
    if segments is not None:
        found["segments"] = {as_name(one["segment"]): recommendation(one) for one in segments}
    return Recommendation(**found)


def fit_check(plain: _types.FitCheck) -> FitCheck | None:
    """Return how well a model fits, as a member of an answer has it."""
    found = plain["fit_check"]
    return None if found is None else FitCheck(**found)


def posterior(plain: _types.Posterior) -> Posterior:
    """Return what is believed, as an answer has it packed."""
    return Posterior.from_record(unpack(base64.b64decode(plain["record"])))


def page(plain: _types.Page) -> bytes:
    """Return the page that an answer holds."""
    return plain["page"].encode()


def _vector(x: Any) -> Floats:
    """Return a decision that is written out."""
    found: Floats = np.array(x, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError("it is no decision")
    return found
