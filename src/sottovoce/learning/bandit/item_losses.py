"""What a person tells of the items of a decision, as numbers in their order.

Which items are named is as private as what they lost: a click is a name. So nothing here says which it was.

Tests: tests/learning/test_item_feedback.py.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce._losses import as_float, as_floats
from sottovoce.domains import Domain
from sottovoce.errors import InvalidLoss

__all__ = ["in_items"]


def in_items(told: Any, items: Integers, domain: Domain, some_are_enough: bool) -> Floats:
    """Return the losses of a decision's items, in the order of `items`; refuse what does not fit, without showing it.

    Parameters
    ----------
    told
        By name, or numbers in order.
    items
        The coordinates that the decision has chosen.
    domain
        Whose names they are.
    some_are_enough
        Whether items that are not named have lost nothing.

    Examples
    --------
    >>> import sottovoce as sv
    >>> in_items({"tea": -1.0}, np.array([0, 2]), sv.domains.Hypersimplex(["tea", "coffee", "cocoa"], k=2), True)
    array([-1.,  0.])
    """
    if not isinstance(told, Mapping):
        values = as_floats(told)
        if values.shape != items.shape:
            raise InvalidLoss(
                f"a decision of {len(items)} items needs {len(items)} losses, in the order of `chosen`; or tell them "
                "by name. Nothing was recorded"
            )
        return values
    names = domain.coordinate_names
    place = {names[item]: at for at, item in enumerate(items.tolist())}
    found = np.full(len(items), np.nan)
    for name, loss in _by_name(told).items():
        at = place.get(name)
        if at is None:
            raise InvalidLoss("a loss was told of an item that its decision did not choose; nothing was recorded")
        found[at] = as_float(loss)
        if not np.isfinite(found[at]):
            raise InvalidLoss("a loss is not a finite number; nothing was recorded. Fix it, and tell again")
    missing = np.isnan(found)
    if missing.any() and not some_are_enough:
        raise InvalidLoss(
            f"each of the {len(items)} items of a decision needs its loss, and not all have one; nothing was recorded. "
            "With most=, items that are not told have lost nothing"
        )
    return np.where(missing, 0.0, found)


def _by_name(told: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return what was told by the names that a set has; an owner's own mapping may raise anything."""
    try:
        return {_as_name(name): loss for name, loss in told.items()}
    except Exception:
        pass
    raise InvalidLoss("losses by item must be told as a dict of names and numbers; nothing was recorded")


def _as_name(name: Any) -> Any:
    """Return a name as a set has it: of two parts, a tuple, which JSON does not know."""
    if isinstance(name, list):
        return tuple(map(_as_name, name))
    return name.item() if isinstance(name, np.generic) else name
