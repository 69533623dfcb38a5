"""What a service answers, as the objects that a study would return."""

import base64
from collections.abc import Callable
from itertools import pairwise
from operator import index
from typing import Any, TypeVar

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._records import unpack
from sottovoce.client import _types
from sottovoce.domains.naming import in_words
from sottovoce.errors import ServiceError
from sottovoce.learning.actions import Action, Actions, named_action, named_actions
from sottovoce.learning.outstanding import Outstanding, WaitingRound
from sottovoce.learning.recommendation import Recommendation
from sottovoce.learning.segment_requests import segment_of
from sottovoce.learning.segmented_recommendation import SegmentedRecommendation, SegmentGain
from sottovoce.models import FitCheck, Posterior
from sottovoce.plans.decisions import Decisions, Menu, OfSeveralSets

Found = TypeVar("Found")
_AS_THEY_ARE = ("why", "rounds", "loss", "deviation", "share", "caution", "chosen", "direction")


class Facts(dict[str, Any]):
    """Plain data from a service; what is in it can be read as an attribute, too.

    Examples
    --------
    >>> Facts(told=3).told
    3
    """

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"the service has said nothing of {name!r}; it has of {', '.join(self)}")

    def __str__(self) -> str:
        return "\n".join(f"{name:<15} {value}" for name, value in self.items())


def read(what: str, reader: Callable[[Any], Found], plain: Any) -> Found:
    """Return what a reader makes of an answer; what it cannot read is no answer of a service of this version."""
    try:
        return reader(plain)
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
        pass
    raise ServiceError(f"the service's answer is not {what}: is it a sottovoce service of this version?")


def action(plain: _types.Action) -> Action:
    """Return the action that an answer is."""
    one, numbers, wanted, chosen = _action(plain)
    x = _menu([numbers]).written()[0] if isinstance(numbers, dict) else _vector(numbers)
    return Action(one, x, wanted) if chosen is None else named_action(one, x, wanted, chosen)


def actions(plain: _types.Actions, size: int | None = None) -> Actions:
    """Return the block of actions that an answer is, so many if a size is given."""
    named, numbers, wanted, said = zip(*map(_action, plain["actions"]), strict=True)
    if size not in (None, len(named)):
        raise ValueError("there are not as many")
    thin = all(isinstance(x, dict) for x in numbers)
    x: Any = Decisions(_menu(numbers), np.arange(len(named))) if thin else _rows(numbers)
    ids, wants = np.array(named, dtype=np.str_), np.array(wanted, dtype=bool)
    return Actions(ids, x, wants) if None in said else named_actions(ids, x, wants, list(said))


def _rows(numbers: Any) -> Any:
    """Return decisions as rows; of a block within which the set has changed, those of each set."""
    rows = [_vector(one) for one in numbers]
    sizes = [len(one) for one in rows]
    places = [place for place in range(1, len(rows)) if sizes[place] != sizes[place - 1]]
    if not places:
        return np.array(rows)
    return OfSeveralSets([np.array(rows[start:end]) for start, end in pairwise([0, *places, len(rows)])])


def _action(plain: _types.Action) -> tuple[str, Any, bool, Any]:
    if not isinstance(plain["id"], str):
        raise TypeError("an id is a text")
    return plain["id"], plain["x"], bool(plain["wants_loss"]), plain["chosen"]


def outstanding(plain: _types.Outstanding) -> Outstanding:
    """Return what is asked and not told, as an answer has it."""
    ids = np.array([str(one) for one in plain["ids"]], dtype=np.str_)
    rounds, ages = (np.array(one, dtype=np.int64) for one in (plain["rounds"], plain["ages"]))
    if not len(ids) == len(rounds) == len(ages):
        raise ValueError("they do not belong together")
    waiting = [WaitingRound(**{**one, "segment": segment_of(one.get("segment"))}) for one in plain["waiting"]]
    return Outstanding(ids, rounds, ages, tuple(waiting))


def _items(rows: Any) -> dict[Any, tuple[float, float]] | None:
    if rows is None:
        return None
    return {segment_of(name): (float(loss), float(deviation)) for name, loss, deviation in rows}


def recommendation(plain: Any) -> Recommendation:
    """Return the recommendation that an answer is: of a study with segments, that of each is beside it."""
    shortfall = plain.get("shortfall")
    found = {
        "x": _vector(plain["x"]),
        "fit_check": fit_check(plain),
        "items": _items(plain.get("items")),
        "shortfall": None if shortfall is None else (float(shortfall[0]), float(shortfall[1])),
        "words": "" if plain.get("chosen") is None else in_words(plain["chosen"]),
        **{name: plain[name] for name in _AS_THEY_ARE if name in plain},
    }
    if "segments" not in plain:
        return Recommendation(**found)
    rows = {segment_of(one["segment"]): one for one in plain["segments"]}
    gains = {name: _gain(one["gain"], one["differs"]) for name, one in rows.items()}
    return SegmentedRecommendation(
        **found,
        segments={name: recommendation(one["recommendation"]) for name, one in rows.items()},
        gains=gains,
        sizes={name: int(one["events"]) for name, one in rows.items()},
        gain=_gain(plain["gain"], any(one.differs for one in gains.values())),
        variance_shares=dict(plain["variance_shares"]),
    )


def _gain(plain: Any, differs: Any) -> SegmentGain:
    mean, low, high = plain
    return SegmentGain(float(mean), float(low), float(high), bool(differs))


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


def _menu(found: Any) -> Menu:
    """Return decisions that came by their numbers that are not 0; nothing of the size of all numbers is made."""
    (dimension,) = {one["dimension"] for one in found}
    columns = tuple(np.array(one["index"], dtype=np.int64) for one in found)
    entries = tuple(np.array(one["value"], dtype=np.float64) for one in found)
    for places, values in zip(columns, entries, strict=True):
        if places.ndim != 1 or places.shape != values.shape or not ((places >= 0) & (places < dimension)).all():
            raise ValueError("there are no such coordinates")
    return Menu(None, columns, entries, index(dimension))
