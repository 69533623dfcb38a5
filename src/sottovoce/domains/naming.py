"""What `Domain.chosen` answers, in print and as plain data."""

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from sottovoce._arrays import Floats
from sottovoce.domains._labels import HasLabels, Labels
from sottovoce.domains._labels import read_labels as read_labels

_SHOWN = 12  # names, in print


def label_text(label: Hashable) -> str:
    """Return a name as text; one of several parts, as edges and pairs have, with arrows between them.

    Examples
    --------
    >>> label_text("tea"), label_text(("a", "b")), label_text(3)
    ('tea', 'a → b', '3')
    """
    if isinstance(label, tuple):
        return " → ".join(map(label_text, label))
    return "".join(one if one.isprintable() else " " for one in str(label))  # a line stays a line


def in_words(chosen: Any, most: int | None = _SHOWN) -> str:
    """Return what was chosen in one line, with `most` names at most, and how many more there are.

    Examples
    --------
    >>> in_words(["tea", "coffee"]), in_words({"tea": 2.5, "coffee": 3.25})
    ('tea, coffee', 'tea: 2.5, coffee: 3.25')
    >>> in_words({"ann": "early", "bob": "late"}), in_words({"drink": ["tea"], "price": {"cup": 2.5}})
    ('ann: early, bob: late', 'drink (tea), price (cup: 2.5)')
    >>> in_words(list("abcdef"), most=3), in_words([])
    ('a, b, c and 3 more', 'nothing')
    """
    if len(chosen) == 0:
        return "nothing"
    if isinstance(chosen, Mapping):
        words = [_entry(name, value, most) for name, value in _first(chosen.items(), most)]
    else:
        words = [f"({in_words(one, most)})" if _is_said(one) else label_text(one) for one in _first(chosen, most)]
    more = len(chosen) - len(words)
    return ", ".join(words) + (f" and {more:,} more" if more else "")


def _entry(name: Hashable, value: Any, most: int | None) -> str:
    if _is_said(value):
        return f"{label_text(name)} ({in_words(value, most)})"
    return f"{label_text(name)}: {f'{value:.4g}' if isinstance(value, float) else label_text(value)}"


def _is_said(value: Any) -> bool:
    """Say whether this is the answer of a part, and not a name."""
    return isinstance(value, list | dict)


def _first(values: Any, most: int | None) -> list[Any]:
    return [one for one, _ in zip(values, range(len(values) if most is None else most), strict=False)]


def as_plain(chosen: Any) -> Any:
    """Return what was chosen, and more, as data that JSON can hold: tuples and arrays as lists, infinity as a text.

    A dict with names other than texts becomes a list of pairs.

    Examples
    --------
    >>> as_plain([("a", "b")]), as_plain({"tea": 0.5}), as_plain({("a", "b"): 0.5})
    ([['a', 'b']], {'tea': 0.5}, [[['a', 'b'], 0.5]])
    """
    if isinstance(chosen, Mapping):
        if all(isinstance(name, str) for name in chosen):
            return {name: as_plain(value) for name, value in chosen.items()}
        return [[as_plain(name), as_plain(value)] for name, value in chosen.items()]
    if isinstance(chosen, np.ndarray | np.generic):
        return as_plain(chosen.tolist())
    if isinstance(chosen, list | tuple):
        return [as_plain(one) for one in chosen]
    if isinstance(chosen, float) and not math.isfinite(chosen):
        return str(chosen)
    return chosen if chosen is None or isinstance(chosen, str | int | float) else str(chosen)


def as_name(name: Any) -> Any:
    """Return a name, or a segment, as it was before `as_plain`: of several parts, a tuple, which JSON does not know."""
    if isinstance(name, list):
        return tuple(map(as_name, name))
    return name.item() if isinstance(name, np.generic) else name


def by_numbers(x: Floats) -> Any:
    """Return what a decision is, by the numbers of its coordinates: of a set that nothing else is known of.

    Examples
    --------
    >>> import numpy as np
    >>> by_numbers(np.array([0.0, 1.0, 1.0])), by_numbers(np.array([0.0, 0.5, 2.0]))
    ([1, 2], {1: 0.5, 2: 2.0})
    """
    return _Unlabelled(len(x)).chosen(x)


class _Unlabelled(HasLabels):
    def __init__(self, dimension: int) -> None:
        self.dimension = dimension


def own_copy(chosen: Any) -> Any:
    """Return an answer that nobody else holds: events that play one decision share nothing that can be changed."""
    if isinstance(chosen, list):
        return [own_copy(one) for one in chosen] if chosen and _is_said(chosen[0]) else list(chosen)
    if isinstance(chosen, dict):
        return {name: own_copy(value) for name, value in chosen.items()}
    return chosen


def other_names(stored: Labels | None, passed: Labels | None) -> str:
    """Say where two sets that are otherwise the same have other names; nothing if they agree, or one has none.

    Examples
    --------
    >>> other_names(("tea", "coffee"), ("tea", "cocoa"))
    "coordinate 1 is 'coffee', not 'cocoa'"
    >>> other_names(("tea", "coffee"), None)
    ''
    """
    if stored is None or passed is None or stored == passed:
        return ""
    at = next(i for i, (one, other) in enumerate(zip(stored, passed, strict=True)) if one != other)
    order = "; they are the same names in another order" if set(stored) == set(passed) else ""
    return f"coordinate {at} is {stored[at]!r}, not {passed[at]!r}{order}"
