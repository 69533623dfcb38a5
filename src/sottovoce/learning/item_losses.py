"""What a person tells of the items of a decision, as numbers in their order.

Which items are named is as private as what they lost: a click is a name. So nothing here says which it was.

Tests: tests/learning/test_item_feedback.py.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce._losses import as_float, as_floats
from sottovoce.domains.naming import as_name
from sottovoce.errors import InvalidLoss

_NOT_FINITE = "a loss is not a finite number; nothing was recorded. Fix it, and tell again"


def in_items(told: Any, count: int, names: Callable[[], Sequence[Hashable]]) -> Floats:
    """Return the losses of a decision's items, in their order, NaN for None or no name; refuse others, unseen.

    Parameters
    ----------
    told
        By name, or numbers in order.
    count
        Items that the decision has.
    names
        Of these, in order; called where losses are told by name.

    Examples
    --------
    >>> in_items({"tea": -1.0}, 2, lambda: ["tea", "cocoa"]), in_items([None, -1], 2, list)
    (array([-1., nan]), array([nan, -1.]))
    >>> in_items({"7": -1.0}, 2, lambda: [4, 7])  # as JSON has the names of items that are numbers
    array([nan, -1.])
    """
    if isinstance(told, Mapping):
        place = {name: at for at, name in enumerate(names())}
        place = {str(name): at for name, at in place.items() if isinstance(name, int)} | place  # as JSON has numbers
        found = np.full(count, np.nan)
        for name, loss in _by_name(told).items():
            at = place.get(name)
            if at is None:
                raise InvalidLoss("a loss was told of an item that its decision did not choose; nothing was recorded")
            found[at] = as_float(loss)
            if not np.isfinite(found[at]):
                raise InvalidLoss(_NOT_FINITE)
        return found
    values = as_floats(told)
    if values.shape != (count,):
        raise InvalidLoss(
            f"a decision of {count} items needs {count} losses, in the order of `chosen`; or tell them by name. "
            "Nothing was recorded"
        )
    odd = ~np.isfinite(values)
    if any(one is not None for one in np.asarray(told, dtype=object)[odd].tolist()):
        raise InvalidLoss(_NOT_FINITE)
    return values


def with_zeros(losses: Floats, some_are_enough: bool) -> Floats:
    """Return losses of items with 0 for those that were not told, if that is what it means.

    Parameters
    ----------
    losses
        As `in_items` returns them.
    some_are_enough
        Whether items that are not named have lost nothing.
    """
    missing = np.isnan(losses)
    if missing.any() and not some_are_enough:
        raise InvalidLoss(
            f"each of the {len(losses)} items of a decision needs its loss, and not all have one; nothing was "
            "recorded. With most=, items that are not told have lost nothing"
        )
    return np.where(missing, 0.0, losses)


def _by_name(told: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return what was told by the names that a set has; an owner's own mapping may raise anything."""
    try:
        return {as_name(name): loss for name, loss in told.items()}
    except Exception:
        pass
    raise InvalidLoss("losses by item must be told as a dict of names and numbers; nothing was recorded")
