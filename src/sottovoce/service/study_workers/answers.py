"""Actions as JSON: ids, labels, and numbers as the caller wants them."""

import json
from contextlib import suppress
from typing import Any, Literal

import numpy as np

from sottovoce._arrays import Floats, Integers
from sottovoce.domains.naming import as_plain
from sottovoce.learning.actions import Action, Actions

Layout = Literal["dense", "sparse", "none"]
"""How the numbers of an action are written: all of them, those that are not 0, or not at all."""


def single_answer(action: Action, layout: Layout, by_item: bool = False) -> bytes:
    """Return one action as JSON; with feedback `by_item`, its items in the order in which their losses are told, too.

    Examples
    --------
    >>> from sottovoce.learning.actions import speaking
    >>> import sottovoce as sv
    >>> action = speaking(sv.domains.Simplex(["tea", "coffee"]))("1.0.0.ab", np.array([0.0, 1.0]), True)
    >>> single_answer(action, "sparse")
    b'{"id":"1.0.0.ab","chosen":["coffee"],"x":{"dimension":2,"index":[1],"value":[1.0]},"wants_loss":true}'
    """
    items = {"items": as_plain(action._items())} if by_item else {}
    return _written(_plain(action.id, action.chosen, _numbers(action.x, layout), action.wants_loss) | items)


def block_answer(actions: Actions, layout: Layout, by_item: bool = False) -> bytes:
    """Return a block of actions as JSON; nothing of the size of all numbers is made unless they are wanted."""
    ids, wants = actions.ids.tolist(), actions.wants_loss.tolist()
    numbers = zip(ids, actions.chosen, _all_numbers(actions, layout), wants, strict=True)
    found = [_plain(*one) for one in numbers]
    if by_item:
        for one, items in zip(found, actions._items(), strict=True):
            one["items"] = as_plain(items)
    return _written({"actions": found})


def _plain(one: Any, chosen: Any, numbers: Any, wants_loss: bool) -> dict[str, Any]:
    return {"id": one, "chosen": as_plain(chosen), "x": numbers, "wants_loss": bool(wants_loss)}


def _numbers(x: Floats, layout: Layout) -> Any:
    if layout == "none":
        return None
    if layout == "dense":
        return x.tolist()
    places = np.flatnonzero(x)
    return _sparse(len(x), places, x[places].tolist())


def _all_numbers(actions: Actions, layout: Layout) -> list[Any]:
    if layout == "none":
        return [None] * len(actions)
    if layout == "sparse":
        with suppress(ValueError):  # not all are 0 or 1, or the set has changed
            return [_sparse(actions.dimension, one, [1.0] * len(one)) for one in actions.indices]
    return [_numbers(one.x, layout) for one in actions]


def _sparse(dimension: int, places: Integers, values: list[float]) -> dict[str, Any]:
    return {"dimension": dimension, "index": places.tolist(), "value": values}


def _written(plain: Any) -> bytes:
    return json.dumps(plain, allow_nan=False, separators=(",", ":")).encode()
