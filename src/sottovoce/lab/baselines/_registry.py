"""Which algorithms there are, and what each owes whoever compares them."""

import inspect
from collections.abc import Mapping
from typing import Any

from sottovoce.lab._catalogue import by_name
from sottovoce.lab.baselines.plans import BaselinePlan

_SAID = ("name", "private", "linear_only")
_COMMON = ("domain", "horizon", "loss_range", "lipschitz", "seed")
_PRIVATE = ("privacy", "noise")
_HINDSIGHT = ("point",)  # the best fixed point, for who asks for it


def catalogue(members: Mapping[str, Any]) -> dict[str, type[Any]]:
    """Return the algorithms among what a module holds, by name; one that could not be compared is refused.

    Examples
    --------
    >>> class Silent:
    ...     pass
    >>> catalogue({"Silent": Silent})
    Traceback (most recent call last):
    TypeError: Silent is no baseline: it does not say name, private, linear_only
    """
    return by_name(members, BaselinePlan, "baselines", _check)


def _check(kind: Any) -> None:
    who = kind.__name__
    unsaid = [one for one in _SAID if not hasattr(kind, one)]
    if unsaid:
        raise TypeError(f"{who} is no baseline: it does not say {', '.join(unsaid)}")
    lacking = {one for one in ("ask_round", "tell", "point", "privacy", "examples") if not hasattr(kind, one)}
    lacking |= getattr(kind, "__abstractmethods__", frozenset())
    if lacking:
        raise TypeError(f"{who} is no baseline yet: it lacks {', '.join(sorted(lacking))}")
    _check_arguments(kind)


def _check_arguments(kind: Any) -> None:
    """Refuse an algorithm that could not be built: arguments that are not given, or that are given and not taken."""
    parameters = inspect.signature(kind).parameters
    wanted = (*_COMMON, *(_PRIVATE if kind.private else ()))
    missing = [name for name in wanted if name not in parameters]
    unknown = [
        name for name, one in parameters.items() if name not in (*wanted, *_HINDSIGHT) and one.default is one.empty
    ]
    if missing or unknown:
        words = [f"does not take {', '.join(missing)}"] if missing else []
        words += [f"needs {', '.join(unknown)}, which nobody gives"] if unknown else []
        raise TypeError(f"{kind.__name__} cannot be built like the others: it {' and '.join(words)}")
