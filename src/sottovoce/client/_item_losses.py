"""Losses of items on their way: a number for each item of a decision, whichever of them were told.

A name that is sent is a click that is seen, and an item that is left out makes a message shorter. So losses by name are
written out here, in the order in which the service has named the items of the action; it is remembered for a while.

Tests: tests/client/test_item_losses.py.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sottovoce._losses import as_rows
from sottovoce.domains.naming import as_name
from sottovoce.errors import InvalidLoss
from sottovoce.learning.item_losses import in_items

_MOST = 100_000


def are_by_item(losses: Any) -> bool:
    """Say whether there are several losses for an id.

    Parameters
    ----------
    losses
        What was told for each id.

    Examples
    --------
    >>> are_by_item([0.5, 0.25]), are_by_item([{"tea": 0.5}]), are_by_item(np.zeros((3, 2)))
    (False, True, True)
    """
    if isinstance(losses, np.ndarray):
        return losses.ndim > 1
    kinds = (Mapping, list, tuple)
    found = isinstance(losses, list | tuple) and any(isinstance(one, kinds) or np.ndim(one) for one in losses)
    return bool(found)


class ItemsShown:
    """The items of actions that were asked for here, by their ids; the oldest are let go of.

    Parameters
    ----------
    most
        How many are remembered.

    Examples
    --------
    >>> shown = ItemsShown()
    >>> shown.remember([{"id": "1.0", "items": ["tea", "cocoa"]}])
    >>> shown.in_order(["1.0"], [{"cocoa": -1.0}])
    ((None, -1.0),)
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._items: OrderedDict[str, tuple[Any, ...]] = OrderedDict()
        self._same: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # decisions repeat: each is held once

    def remember(self, answers: Sequence[Any]) -> None:
        """Keep what a service has answered.

        Parameters
        ----------
        answers
            Actions, as plain data.
        """
        for one in answers:
            if one.get("items") is not None:
                items = tuple(map(as_name, one["items"]))
                if len(self._same) > self._most:
                    self._same = {}
                self._items[one["id"]] = self._same.setdefault(items, items)
        while len(self._items) > self._most:
            with suppress(KeyError):  # another thread has done it
                self._items.popitem(last=False)

    def in_order(self, ids: Sequence[str], losses: Any) -> tuple[tuple[float | None, ...], ...]:
        """Return a loss, or None, for every item of every action.

        Parameters
        ----------
        ids
            Of the actions.
        losses
            What was told of each: by name, or numbers in order.
        """
        rows = as_rows(losses, len(ids))
        return tuple(self._row(*one) for one in zip(ids, rows, strict=True))

    def _row(self, one: str, told: Any) -> tuple[float | None, ...]:
        items = self._items.get(one)
        if items is not None:
            found = in_items(told, len(items), lambda: items)
        elif isinstance(told, Mapping):
            raise InvalidLoss(
                "which items an action has is known where it was asked for: elsewhere tell a list, in the order of its "
                "items, with None for those that are not told. Nothing was sent"
            )
        else:
            found = in_items(told, np.size(told), list)
        return tuple(None if np.isnan(loss) else loss for loss in found.tolist())
