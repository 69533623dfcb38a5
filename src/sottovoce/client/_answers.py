"""What a service answers, as the objects that a study would return."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce._arrays import Floats
from sottovoce.domains.naming import in_words
from sottovoce.errors import ServiceError
from sottovoce.exploration.decisions import Decisions, Menu
from sottovoce.exploration.posterior import Misfit
from sottovoce.learning.bandit.actions import Action, Actions, named_action, named_actions
from sottovoce.learning.bandit.outstanding import Outstanding, WaitingRound
from sottovoce.learning.bandit.recommendation import Recommendation
from sottovoce.learning.segmented.recommendation import SegmentedRecommendation, SegmentGain

__all__ = ["Facts", "action_of", "actions_of", "outstanding_of", "recommendation_of"]

_FIELDS = ("why", "rounds", "loss", "deviation", "share", "caution", "chosen")


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


def action_of(plain: Any) -> Action:
    """Return the action that an answer is."""
    _refuse_what_is_no_action(plain)
    x, wanted, chosen = plain.get("x"), bool(plain.get("wants_loss", True)), plain.get("chosen")
    numbers = _menu([x]).written()[0] if isinstance(x, dict) else _vector(x)
    return (
        Action(plain["id"], numbers, wanted) if chosen is None else named_action(plain["id"], numbers, wanted, chosen)
    )


def actions_of(plain: Any, size: int) -> Actions:
    """Return the block of actions that an answer is."""
    found = plain.get("actions") if isinstance(plain, dict) else None
    if not isinstance(found, list) or len(found) != size:
        raise _no_answer(f"{size} actions")
    for one in found:
        _refuse_what_is_no_action(one)
    ids = np.array([one["id"] for one in found], dtype=np.str_)
    wanted = np.array([bool(one.get("wants_loss", True)) for one in found], dtype=bool)
    numbers, said = [one.get("x") for one in found], [one.get("chosen") for one in found]
    thin = all(isinstance(x, dict) for x in numbers)
    x = Decisions(_menu(numbers), np.arange(size)) if thin else _rows([_vector(one) for one in numbers])
    return Actions(ids, x, wanted) if None in said else named_actions(ids, x, wanted, said)


def _refuse_what_is_no_action(plain: Any) -> None:
    if not isinstance(plain, dict) or not isinstance(plain.get("id"), str):
        raise _no_answer("an action")


def outstanding_of(plain: Any) -> Outstanding:
    """Return what is asked and not told, as an answer has it."""
    try:
        ids = np.array([str(one) for one in plain["ids"]], dtype=np.str_)
        rounds, ages = (np.array(plain[name], dtype=np.int64) for name in ("rounds", "ages"))
        waiting = tuple(
            WaitingRound(**{**one, "segment": _segment(one.get("segment"))}) for one in plain.get("waiting") or ()
        )
        if len(ids) == len(rounds) == len(ages):
            return Outstanding(ids, rounds, ages, waiting)
    except (TypeError, ValueError, KeyError):
        pass
    raise _no_answer("what is outstanding")


def recommendation_of(plain: Any) -> Recommendation:
    """Return the recommendation that an answer is: of a study with segments, that of each is beside it."""
    found = _recommendation(plain)
    if not isinstance(plain.get("segments"), list):
        return found
    try:
        rows = {_segment(one["segment"]): one for one in plain["segments"]}
        gains = {name: _gain(one["gain"], bool(one["differs"])) for name, one in rows.items()}
        differs = any(one.differs for one in gains.values())
        return SegmentedRecommendation(
            **{name: getattr(found, name) for name in Recommendation.__dataclass_fields__},
            segments={name: _recommendation(one["recommendation"]) for name, one in rows.items()},
            gains=gains,
            sizes={name: int(one["events"]) for name, one in rows.items()},
            gain=_gain(plain["gain"], differs),
            likeness=dict(plain["likeness"]),
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        pass
    raise _no_answer("a recommendation for segments")


def _gain(plain: Any, differs: bool) -> SegmentGain:
    mean, low, high = plain
    return SegmentGain(float(mean), float(low), float(high), differs)


def _segment(plain: Any) -> Any:
    return tuple(plain) if isinstance(plain, list) else plain


def _recommendation(plain: Any) -> Recommendation:
    try:
        misfit, shortfall = plain.get("misfit"), plain.get("shortfall")
        fields = {name: plain[name] for name in _FIELDS if name in plain}
        return Recommendation(
            _vector(plain["x"]),
            misfit=None if misfit is None else _misfit(misfit),
            shortfall=None if shortfall is None else (float(shortfall[0]), float(shortfall[1])),
            words="" if plain.get("chosen") is None else in_words(plain["chosen"]),
            **fields,
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        pass
    raise _no_answer("a recommendation")


def _misfit(plain: Any) -> Misfit:
    return Misfit(**{name: plain[name] for name in Misfit.__dataclass_fields__ if name in plain})


def _vector(x: Any) -> Floats:
    """Return a decision that is written out."""
    try:
        found: NDArray[np.float64] = np.array(x, dtype=np.float64)
        if found.ndim == 1:
            return found
    except (TypeError, ValueError):
        pass
    raise _no_answer("a decision")


def _menu(found: list[Any]) -> Menu:
    """Return decisions that came by their numbers that are not 0; nothing of the size of all numbers is made."""
    try:
        (dimension,) = {one["dimension"] for one in found}
        columns = tuple(np.array(one["index"], dtype=np.int64) for one in found)
        entries = tuple(np.array(one["value"], dtype=np.float64) for one in found)
        pairs = zip(columns, entries, strict=True)
        if type(dimension) is int and all(_fits(dimension, *pair) for pair in pairs):
            return Menu(None, columns, entries, dimension)
    except (TypeError, ValueError, KeyError, OverflowError):
        pass
    raise _no_answer("decisions of one set")


def _fits(dimension: int, columns: NDArray[np.int64], entries: Floats) -> bool:
    return columns.ndim == 1 and columns.shape == entries.shape and bool(((columns >= 0) & (columns < dimension)).all())


def _rows(found: list[Floats]) -> Floats:
    if len({len(one) for one in found}) != 1:
        raise _no_answer("decisions of one set")
    return np.array(found)


def _no_answer(what: str) -> ServiceError:
    return ServiceError(f"the service's answer is not {what}: is it a sottovoce service of this version?")
